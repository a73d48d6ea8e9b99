"""The verifier `json_schema`: is the text a JSON document that keeps to a schema?"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self  # Any: schemas and documents are JSON values

from pydantic import ConfigDict, Field, model_validator

from assay.verifiers.extraction import without_reasoning
from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.literal import read_json
from assay.verifiers.rules.optional import require
from assay.verifiers.rules.rule import RuleTask, Scored, Term
from assay.verifiers.rules.sameness import same_json

_VALID = Term("valid", 0, 1, "1 if the document can be read and keeps to the schema")
_EQUAL = Term("equal", 0, 1, "1 if it is the expected document")


class JsonSchemaTask(RuleTask):
    """A JSON document to be written: reward = valid (0 or 1), plus equal (0 or 1) where a document is expected.

    JSON Schema drafts 4 to 2020-12; `format` is checked; patterns are matched in linear time, without look-around and
    back references; nothing is fetched, so that references lead to the schema itself or to published meta-schemas.
    NaN, infinities and numbers beyond the range of floats are no JSON; of a repeated key the last value counts.
    Needs the package extra `text`; tasks are refused without. Source: json-schema.org, the drafts named.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "age",
                    "verifier": "json_schema",
                    "json_schema": {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}},
                }
            ]
        }
    )

    verifier: Literal["json_schema"] = "json_schema"
    json_schema: dict[str, Any] | bool
    """The schema."""
    extract: Literal["whole", "fence", "tag"] = "whole"
    """Where the document stands: the `whole` text, the last ``` `fence`, or the last block of `tag`; these two
    outside of <think> and <thinking>."""
    tag: str = Field("answer", pattern=r"^[^<>/\s]+$", max_length=100)
    """For `tag`: its name."""
    expected: Any = None
    """The document that is wanted, where only one is right: compared by value, keys in any order, 1 equals 1.0 and not
    true. Null means none; where null itself is wanted, let the schema say so."""

    @model_validator(mode="after")
    def _refuse_what_cannot_be_judged(self) -> Self:
        compiled = self.compiled
        try:
            kept = self.expected is None or compiled.is_valid(self.expected)
            if not (kept and same_json(self.expected, self.expected)):
                raise misplaced(("expected",), "the expected document does not keep to json_schema")
        except RecursionError as error:
            raise misplaced(("expected",), "the expected document is nested too deeply") from error
        return self

    @cached_property
    def compiled(self) -> Any:
        """The compiled schema. Raises ValueError."""
        library = require("jsonschema_rs", "jsonschema-rs")
        try:
            return library.validator_for(
                self.json_schema,
                pattern_options=library.RegexOptions(size_limit=2**20),
                validate_formats=True,
                offline=True,
            )
        except (library.ValidationError, library.ReferencingError, ValueError) as error:
            raise misplaced(("json_schema",), f"the schema is refused: {str(error)[:300]}") from error


class JsonSchema:
    """Checks the document."""

    name = "json_schema"
    version = "1"
    task_model = JsonSchemaTask

    def terms(self, task: JsonSchemaTask) -> Sequence[Term]:
        """Return valid, and equal where a document is expected."""
        return (_VALID, _EQUAL) if task.expected is not None else (_VALID,)

    def score(self, task: JsonSchemaTask, text: str) -> Scored:
        """Return the terms."""
        source = _source(task, text)
        terms = {term.name: 0.0 for term in self.terms(task)}
        if source is None:
            return Scored(terms, answered=False, message="no document")
        try:
            document = read_json(source)
        except ValueError as error:
            return Scored(terms, answered=bool(source.strip()), message=f"no JSON: {error}"[:200])
        valid = _is_finite(document) and _is_valid(task.compiled, document)
        terms["valid"] = float(valid)
        if task.expected is not None:
            terms["equal"] = float(valid and same_json(document, task.expected))
        message = "" if valid else "the document does not keep to the schema"
        if valid and terms.get("equal") == 0.0:
            message = "the document is not the expected one"
        return Scored(terms, message=message)


def _source(task: JsonSchemaTask, text: str) -> str | None:
    match task.extract:
        case "whole":
            return text
        case "tag":
            return last_block(without_reasoning(text), task.tag)
        case "fence":
            return _last_fence(without_reasoning(text))


def _last_fence(text: str) -> str | None:
    """Return the content of the last closed fence, without its opening line."""
    closing = text.rfind("\n```")
    opening = text.rfind("```", 0, max(closing, 0))
    if opening < 0 or (start := text.find("\n", opening)) < 0:
        return None
    return text[start:closing]


def _is_valid(compiled: Any, document: Any) -> bool:
    """Whether the document keeps to the schema; what the library cannot take does not."""
    try:
        return bool(compiled.is_valid(document))  # the only call that remembers what it knows of recursive schemas
    except (ValueError, RecursionError):  # lone surrogates, nesting
        return False


def _is_finite(document: Any) -> bool:
    """Whether all its numbers are: `1e999` is read as infinite."""
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return False
        if isinstance(value, Mapping):
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
    return True
