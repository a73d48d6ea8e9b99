"""Clients: the SDK and group advantages. Imports nothing but `assay` core."""
