"""Log lines: whatever stands in a record, it is one record, and steers no terminal."""

import logging
import sys

import pytest

from assay.service.logs import configure_logging
from assay.terminals import LogFormatter

FORGED = "numpy\n2026-01-01 00:00:00,000 ERROR assay forged\r\x1b[2J\x9b1m\u202e\udc80"


def test_a_record_is_one_whatever_stands_in_it() -> None:
    """Lines of what it tells, and of a traceback, are indented; what is not printable is escaped."""
    try:
        raise ValueError(FORGED)
    except ValueError:
        fault = sys.exc_info()
    record = logging.LogRecord("assay", logging.ERROR, "", 0, "unserved reason=%s", (FORGED,), fault)

    first, *rest = LogFormatter("%(levelname)s %(message)s").format(record).split("\n")

    assert first == "ERROR unserved reason=numpy"
    assert rest
    assert all(line.startswith("    ") and line.isprintable() for line in rest)
    assert sum("forged\\r\\x1b[2J\\x9b1m\\u202e\\udc80" in line for line in rest) == 2


def test_services_log_so(capsys: pytest.CaptureFixture[str]) -> None:
    """What tasks require, such as modules, is text of whoever sends them."""
    before = logging.root.level, logging.root.handlers[:]
    try:
        logging.root.handlers.clear()
        configure_logging("info")
        logging.getLogger("assay.service").warning("chunks_unserved reason=%s", FORGED)
    finally:
        logging.root.setLevel(before[0])
        logging.root.handlers[:] = before[1]

    assert [line.startswith("    ") for line in capsys.readouterr().err.splitlines()] == [False, True]
