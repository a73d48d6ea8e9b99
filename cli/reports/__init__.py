"""Reports of results: what they say, and the forms in which they say it."""
