"""JSON's types kept apart: what documents call a number or a boolean is one, and is not made of something else."""

from typing import Any  # Any: pydantic names the source of a schema so

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema

_STRICT = ("int", "float", "bool")


def _keep_apart(schema: object) -> None:
    """Make every number and boolean of a validation schema strict, in place."""
    if isinstance(schema, dict):
        if schema.get("type") in _STRICT:
            schema["strict"] = True
        for part in schema.values():
            _keep_apart(part)
    elif isinstance(schema, list | tuple):
        for part in schema:
            _keep_apart(part)


class ToTheLetter(BaseModel):
    """A model whose numbers and booleans, however deep, are taken to the letter; lists, enums and texts are as ever.

    `true` and `"1"` are no numbers, 1 and `"yes"` are neither true nor false, 1.0 is no whole number; 1 is a number.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make them strict in the schema: one rule for every field of every model, those of plugins too."""
        schema = handler(source)
        _keep_apart(schema)
        return schema
