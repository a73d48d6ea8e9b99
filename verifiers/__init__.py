"""Verifiers: one file each, joined in `registry`, run by `evaluate`, the only place where an exception becomes an outcome."""
