"""The HTTP service: API, admission, queue, workers, store and results."""
