"""Logging of service processes: events with names and ids, to standard error; never a completion or a key."""

import logging

from assay.errors import InvalidRequest


def configure_logging(level: str) -> None:
    """Send log lines of `level` and above to standard error. Raises InvalidRequest for an unknown level."""
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise InvalidRequest(f"unknown log level {level!r}", path="log_level", fix="use debug, info, warning or error")
    logging.basicConfig(level=number, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True)
    for noisy in ("uvicorn.access", "rq", "rq.queue"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
