"""The reference tells of every verifier what a caller must know, and is what the package says of itself."""

import math
from pathlib import Path

import pytest

from assay.cli.commands import run
from assay.outcomes import Outcome
from assay.sandboxes.nowhere import Nowhere
from assay.verifiers.builtin import default_registry
from assay.verifiers.described import attribute_docs, described_schema
from assay.verifiers.python_task import Style
from assay.verifiers.reference import example_of, examples_of, render, render_entry, terms_of
from assay.verifiers.rules.rule import ProfiledTask
from assay.verifiers.worked_examples import WORKED

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = default_registry()
NAMES = REGISTRY.names


def test_the_committed_page_is_the_generated_one() -> None:
    """`docs/verifiers.md` equals the output of `assay verifiers --docs`."""
    committed = (ROOT / "docs" / "verifiers.md").read_text(encoding="utf-8")

    assert committed == render(REGISTRY), "run: assay verifiers --docs > docs/verifiers.md"


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_tells_formula_and_source(name: str) -> None:
    """The text says what the reward is made of, and where the rule comes from; `code-stage1` is a variant of code."""
    model = REGISTRY.get(name).task_model
    profiles = model.PROFILES if issubclass(model, ProfiledTask) else ()

    assert "reward" in (model.__doc__ or "").lower()
    assert "Source" in (model.__doc__ or "") or profiles
    assert all(profile.source and profile.about for profile in profiles)
    variants = [profile.name.rpartition("/")[2].partition("-")[0] for profile in profiles]
    assert {*variants} <= {"paper", "code", "hardened"}


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_an_entry_is_explained(name: str) -> None:
    """No field of a verifier's own is left without a word."""
    schema = described_schema(REGISTRY.get(name).task_model)

    assert [field for field, known in schema["properties"].items() if not known.get("description")] in (
        [],
        ["verifier"],
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_term_has_a_finite_range(name: str) -> None:
    """Lowest and highest value of each raw term are told."""
    verifier = REGISTRY.get(name)

    terms = terms_of(verifier, REGISTRY.parse_task(example_of(verifier)))

    assert terms
    for term in terms:
        assert -math.inf < term.low < term.high < math.inf
        assert term.about


@pytest.mark.parametrize("name", NAMES)
def test_all_examples_are_good_tasks(name: str) -> None:
    """Each parses as a task of its verifier."""
    for example in examples_of(REGISTRY.get(name)):
        assert REGISTRY.parse_task(example).verifier == name


@pytest.mark.parametrize("name", NAMES)
def test_the_worked_example_passes(name: str) -> None:
    """Each verifier shows a completion that its example pays in full; what needs a jail or models is run elsewhere."""
    verifier = REGISTRY.get(name)
    task = REGISTRY.parse_task(example_of(verifier))
    if task.runs_something() or task.asks_models():
        assert WORKED[name]
        return

    verdict = verifier.judge(task, WORKED[name], Nowhere())

    assert verdict.outcome is Outcome.PASSED, verdict.message


def test_the_command_line_prints_what_the_page_holds(capsys: pytest.CaptureFixture[str]) -> None:
    """`assay verifiers NAME` is the entry, `--schema` its JSON schema, and the two do not go together."""
    assert run(["verifiers", "classification"]) == 0
    entry = capsys.readouterr().out
    assert run(["verifiers", "classification", "--schema"]) == 0
    schema = capsys.readouterr().out

    assert entry == render_entry(REGISTRY, "classification")
    assert '"The right class."' in schema
    assert run(["verifiers", "--schema"]) == 2


def test_fields_are_described_by_what_stands_behind_them() -> None:
    """Strings behind attributes are read, inherited ones too, and choices tell what each of them means."""
    schema = described_schema(REGISTRY.get("python").task_model)

    assert schema["properties"]["gold"]["description"].startswith("A completion known to be right")
    assert "`calls`: `cases` of `args`" in schema["$defs"]["Style"]["description"]
    assert attribute_docs(Style)["PYTEST"] == "`test_file` imports `module`."
