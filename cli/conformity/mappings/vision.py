"""Families of pictures and clips."""

from collections.abc import Mapping

from assay.cli.conformity.mappings.mapping import Check, FamilyMapping

FAMILIES: Mapping[str, Check] = {
    "classification": FamilyMapping(
        lambda task: {"verifier": "classification", **task},
        profiles={"videochat_r1_cls_code": {"profile": "videochat-r1/code"}},
    ),
}
"""By the name of the family."""
