"""The verifier `simulator`: parameters of a controller, driven through a simulated run."""
