"""Compute kernels: what they must compute, how fast they do, and what that earns."""
