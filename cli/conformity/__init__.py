"""Conformity files: three formats, every line run through the real verifiers."""
