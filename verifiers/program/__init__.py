"""The verifier `program`, a task's own, and verifiers that other packages bring."""
