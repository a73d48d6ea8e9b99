"""Programs in any language of one table: compiled once in a jail, run on standard input and output in another."""
