"""The Docker backend: jails inside hardened, long-lived containers; the only place that knows the engine."""
