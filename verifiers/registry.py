"""The table of verifiers, and the one place where a task document becomes a typed task."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar  # Any: documents from callers are unparsed JSON

from pydantic import BaseModel, ValidationError

from assay.errors import InvalidRequest, NotFound, plain
from assay.schema import TaskBase
from assay.verifiers.interface import Verifier

Model = TypeVar("Model", bound=BaseModel)


class Registry:
    """An immutable table of verifiers by name."""

    def __init__(self, verifiers: Iterable[Verifier]) -> None:
        self._by_name = {verifier.name: verifier for verifier in verifiers}

    @property
    def names(self) -> tuple[str, ...]:
        """Names in alphabetical order."""
        return tuple(sorted(self._by_name))

    def get(self, name: str) -> Verifier:
        """Return the verifier called `name`. Raises NotFound listing the known names."""
        try:
            return self._by_name[name]
        except KeyError:
            raise NotFound(f"unknown verifier {name!r}", fix=f"use one of {', '.join(self.names)}") from None

    def parse_task(self, document: object, *, path: str = "task") -> TaskBase:
        """Parse a task of any verifier. Raises InvalidRequest naming the path of the fault."""
        if not isinstance(document, Mapping):
            raise InvalidRequest("a task is a JSON object", path=path, fix="send {...} with an id and tests")
        name = document.get("verifier", "python")
        if not isinstance(name, str) or name not in self._by_name:
            raise InvalidRequest(
                f"unknown verifier {name!r}", path=f"{path}.verifier", fix=f"use one of {', '.join(self.names)}"
            )
        return parse(self._by_name[name].task_model, document, path=path)


def parse(model: type[Model], document: Mapping[str, Any], *, path: str) -> Model:
    """Validate `document` as `model`. Raises InvalidRequest with the JSON path of the first fault."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = json_path(path, first["loc"])
        raise InvalidRequest(plain(first["msg"]), path=where, fix=_fix(first["type"])) from error


def json_path(root: str, location: Iterable[str | int]) -> str:
    """Join a pydantic location to a JSON path: `("cases", 0, "stdin")` gives `root.cases[0].stdin`."""
    path = root
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _fix(kind: str) -> str:
    known = {
        "extra_forbidden": "remove the field, or check its spelling",
        "missing": "add the field",
    }
    return known.get(kind, "correct the value")
