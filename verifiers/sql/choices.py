"""What a task of `sql` may choose about rows, their order, and statements that are no queries."""

from enum import StrEnum


class Order(StrEnum):
    """When the order of rows matters."""

    AUTO = "auto"
    """Where the gold query itself has an ORDER BY, outside all parentheses."""
    MENTIONED = "mentioned"
    """Where the gold query holds the words anywhere: Spider's rule."""
    IGNORE = "ignore"
    """Never: rows are compared as a bag or a set."""
    REQUIRED = "required"
    """Always, whatever the gold query says."""


class EmptyGold(StrEnum):
    """What a gold query that gives no rows means."""

    ALLOW = "allow"
    """An empty result is the right one."""
    TASK_ERROR = "task_error"
    """The task is broken: any query that finds nothing would be right."""


class Refused(StrEnum):
    """What a statement is that would do more than read."""

    VIOLATION = "violation"
    """The outcome `violation` with the lowest reward."""
    MISMATCH = "mismatch"
    """A query that ran and gave the wrong rows: nearest to rewards whose released code runs writes."""
