"""Logging of service processes: events with names and ids, to standard error; never a completion or a key."""

import logging

from assay.settings import LogLevel
from assay.terminals import log_to_stderr


def configure_logging(level: LogLevel) -> None:
    """Send log lines of `level` and above to standard error."""
    log_to_stderr(level.upper(), "%(asctime)s %(levelname)s %(name)s %(message)s", force=True)
    for noisy in ("uvicorn.access", "rq", "rq.queue", "httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
