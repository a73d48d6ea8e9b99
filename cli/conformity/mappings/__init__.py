"""How the cases of each family are put to our verifiers, one module per kind of family."""
