"""The verifier `sql`: queries, run on a copy of a database."""
