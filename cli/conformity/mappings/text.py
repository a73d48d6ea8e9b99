"""Families of answers in text."""

from collections.abc import Mapping

from assay.cli.conformity.mappings.mapping import Check

FAMILIES: Mapping[str, Check] = {}
"""By the name of the family."""
