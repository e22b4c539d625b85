"""From a file's bytes to text with headings, one module per kind of file."""
