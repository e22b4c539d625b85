"""The knowledge tool inside other people's voice stacks: one module for each, imported only by who uses that stack."""
