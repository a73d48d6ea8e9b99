"""Families of mathematics."""

from collections.abc import Mapping

from assay.cli.conformity.mappings.mapping import Check

FAMILIES: Mapping[str, Check] = {}
"""By the name of the family."""
