"""Rewards that are computed from the completion's text alone: one module per rule, nothing is run."""
