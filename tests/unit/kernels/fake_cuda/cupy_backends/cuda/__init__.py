"""A stand-in for the part of cupy that runners use; see `fake_gpu`."""
