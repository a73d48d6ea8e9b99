"""Published data sets as tasks: pure functions from a record, in the form in which it is published, to a task."""

from assay.clients.formats.table import Format, formats_of, task_of_record

__all__ = ["Format", "formats_of", "task_of_record"]
