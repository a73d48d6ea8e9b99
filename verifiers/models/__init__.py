"""Verifiers that ask language models: `chain` and `judge`, and the endpoints they ask."""
