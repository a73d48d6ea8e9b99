"""Text of tasks, completions and other programs on its way to a terminal or a log: it is read there, and no more."""

import logging

_CONTINUED = "    "


def harmless(text: str) -> str:
    """Return a message that cannot steer a terminal, or pass for several.

    What is not printable is escaped, as in source, and further lines are indented.
    """
    kept = "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)
    return kept.replace("\n", f"\n{_CONTINUED}")


class LogFormatter(logging.Formatter):
    """Formats records that no text in them can steer a terminal with, or forge others."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record, a traceback's too."""
        return harmless(super().format(record))


def log_to_stderr(level: str, line: str, *, force: bool = False) -> None:
    """Send log lines of `level` and above to standard error, in the form `line`; `force`: in place of all others."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(line))
    logging.basicConfig(level=level, handlers=[handler], force=force)
