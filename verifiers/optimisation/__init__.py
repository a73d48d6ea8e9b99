"""The verifiers `solver` and `optimum`: programs and answers for optimisation problems."""
