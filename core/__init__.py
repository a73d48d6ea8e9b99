"""Assay's shared vocabulary: schema, outcomes, errors, settings and canonical JSON lines.

Nothing here knows how an attempt is run; every other package imports from here and never the reverse.
"""

__version__ = "0.1.0"
