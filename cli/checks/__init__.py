"""What a task shows of itself before anyone trains on it: by its text, and by judging wrong completions."""
