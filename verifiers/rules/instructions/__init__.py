"""Instructions whose following a rule can decide: how long, with which words, in which layout a text is written."""
