"""Answers of mathematics: what was written, as data, and whether two of them have the same value."""
