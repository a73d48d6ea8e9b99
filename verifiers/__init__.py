"""Verifiers: one file each, joined in `registry`; `evaluate` alone turns exceptions into outcomes."""
