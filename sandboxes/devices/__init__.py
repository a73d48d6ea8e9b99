"""Devices that time kernels: the protocol, and what implements it."""
