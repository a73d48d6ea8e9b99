"""The split oracle: tests in one jailed process, model-written code in another, plain data between them."""
