"""The verifier `environment`: actions or a policy, replayed in an environment."""
