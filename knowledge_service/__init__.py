"""Many sources, one search that never shows what the caller may not read."""
