"""Answers in text: how one is found in a completion, and when two are the same."""
