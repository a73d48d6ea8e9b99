"""Which fields an object may have at a place in a document."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from assay.verifiers.fields import fields_at, names_of


class _Base(BaseModel):
    inherited: int = 0


class _Inner(BaseModel):
    kind: Literal["inner"] = "inner"
    depth: int = 0


class _Other(BaseModel):
    kind: Literal["other"] = "other"
    width: int = 0


class _Outer(_Base):
    inherited: int = 1
    one: _Inner | None = None
    many: tuple[_Inner, ...] = ()
    by_name: dict[str, list[_Inner]] = Field(default_factory=dict)
    either: tuple[Annotated[_Inner | _Other, Field(discriminator="kind")], ...] = ()
    stored_as: int = Field(0, alias="written")


@pytest.mark.parametrize(
    ("location", "fields"),
    [
        ((), ("one", "many", "by_name", "either", "written", "inherited")),
        (("one",), ("kind", "depth")),
        (("many", 3), ("kind", "depth")),
        (("by_name", "any", 0), ("kind", "depth")),
        (("either", 0, "other"), ("kind", "width")),
        (("either", 0, "_Inner"), ("kind", "depth")),
        (("either", 0), ("kind", "depth", "width")),
        (("written",), ()),
        (("many", 0, "depth"), ()),
    ],
)
def test_the_fields_at_a_place(location: tuple[str | int, ...], fields: tuple[str, ...]) -> None:
    """Through lists, objects by name, and unions, of which a step may name the type; none where no object is."""
    assert fields_at(_Outer, location) == fields


def test_names_are_those_that_documents_write() -> None:
    """Aliases, and those that a model inherits last, declared again or not."""
    assert names_of(_Outer) == ("one", "many", "by_name", "either", "written", "inherited")
