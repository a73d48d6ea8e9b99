"""Tool calls in a completion: how they are laid out and read, and what they are worth beside the expected ones."""
