"""Adapters: the shapes in which trainers call a reward. A missing verdict is never turned into a number."""
