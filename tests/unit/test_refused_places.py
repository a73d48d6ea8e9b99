"""Every refusal of a task, of any verifier, leads to the field at fault and says what would do."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.verifiers.builtin import default_registry
from assay.verifiers.models.endpoints import read_endpoints

REGISTRY = default_registry()
WRONG: tuple[Any, ...] = (None, True, -1, 1e308, "", "no such thing", [], ["x", "x"], {}, {"x": 1}, [[]], [None])
ALIEN = ("Fault(", "Error:", "pydantic", "<class", "<Kind", "object at 0x", "Input should be an instance")
BARE = {
    "python": {"id": "t", "tests": ["assert f()"]},
    "python stdio": {"id": "t", "verifier": "python", "cases": [{"stdin": "1", "stdout": "1"}]},
    "python weighted": {
        "id": "t",
        "verifier": "python",
        "tests": ["assert f()"],
        "scoring": "weighted",
        "weights": [1],
    },
}
"""Tasks beside the examples of each verifier, for fields that those lack."""


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every example, and one task under each profile whose fields fit the first example."""
    for name in REGISTRY.names:
        model = REGISTRY.get(name).task_model
        extra = model.model_config["json_schema_extra"]
        assert isinstance(extra, dict)
        for number, example in enumerate(extra["examples"]):  # type: ignore[arg-type]  # a list, as the contract tests say
            yield f"{name}-{number}", dict(example)  # type: ignore[call-overload]  # an object, likewise
    yield from BARE.items()


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where anything stands in a document, but for the task itself."""
    if path:
        yield path
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*path, key))


def broken(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document with each of its values replaced, left out, or joined by a field nobody knows or reads."""
    fields = REGISTRY.get(document.get("verifier", "python")).task_model.model_fields
    for place in places(document):
        if place[0] in ("metadata", "verifier"):
            continue
        for value in WRONG:
            yield changed(document, place, value)
        yield changed(document, place, left_out=True)
    for name in (*fields, "surprise"):
        for value in WRONG:
            if name not in ("metadata", "verifier"):
                yield {**document, name: value}


def changed(
    document: dict[str, Any], place: tuple[str | int, ...], value: Any = None, *, left_out: bool = False
) -> dict[str, Any]:
    """A copy with one place changed."""
    copied = copy.deepcopy(document)
    here: Any = copied
    for key in place[:-1]:
        here = here[key]
    if left_out:
        del here[place[-1]]
    else:
        here[place[-1]] = value
    return copied


def refusal(document: dict[str, Any]) -> InvalidRequest | None:
    """How a document is refused, if it is."""
    try:
        REGISTRY.parse_task(document)
    except InvalidRequest as error:
        return error
    return None


@pytest.mark.parametrize("document", [pytest.param(one, id=name) for name, one in documents()])
def test_refusals_name_the_field_and_what_is_wrong(document: dict[str, Any]) -> None:
    """However a document is broken: never the task as a whole, and no type of this code or of a library's."""
    found = [(one, error) for one in broken(document) if (error := refusal(one)) is not None]

    assert refusal(document) is None
    assert len(found) > 20
    for one, error in found:
        told = str(error)
        assert error.path.startswith("task."), (one, told)
        assert error.detail.strip(), (one, told)
        assert error.fix.strip(), (one, told)
        assert not [alien for alien in ALIEN if alien in told], (one, told)


@pytest.mark.parametrize(
    ("line", "path", "said"),
    [
        ("colour = 1", "models.m.colour", "unknown field 'colour' (use one of base_url, model"),
        ("retries = true", "models.m.retries", "valid integer"),
        ('timeout_s = "60"', "models.m.timeout_s", "valid number"),
        ('base_url = "ftp://x/v1"', "models.m.base_url", "use http(s)://host"),
        ("parameters = { model = 1 }", "models.m.parameters.model", "may not be set here"),
        ("max_concurrency = 0", "models.m.max_concurrency", "greater than or equal to 1"),
    ],
)
def test_a_broken_table_of_endpoints_is_refused_by_its_field(line: str, path: str, said: str, tmp_path: Path) -> None:
    """With what there may be; what was given is not shown, as it may be a key."""
    file = tmp_path / "models.toml"
    base = "" if line.startswith("base_url") else 'base_url = "http://x/v1"\n'
    file.write_text(f'[m]\nmodel = "x"\n{base}{line}\n', encoding="utf-8")

    with pytest.raises(InvalidRequest) as caught:
        read_endpoints(file)

    assert caught.value.path == path
    assert said in str(caught.value)


def test_what_is_no_table_is_refused_by_its_name(tmp_path: Path) -> None:
    """As where a field stands above the first table."""
    file = tmp_path / "models.toml"
    file.write_text("retries = 3\n", encoding="utf-8")

    with pytest.raises(InvalidRequest, match=r"models\.retries: an endpoint is a table"):
        read_endpoints(file)
