"""Rewards made of several: parts judged by other verifiers, weighed, gated, clipped, and compared within a group."""
