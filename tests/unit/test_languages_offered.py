"""Which languages a worker says it has, and what a service makes of what its workers say."""

from collections.abc import Mapping

import pytest

from assay.service.fleet import WorkerInfo, languages_of
from assay.verifiers.languages.offering import Offer, expect_languages, missing_tools
from assay.verifiers.languages.table import LANGUAGES


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which attempts find no tool but node and rustc."""
    monkeypatch.setattr("shutil.which", lambda tool, **_: tool if tool in ("node", "rustc") else None)


@pytest.mark.usefixtures("bare_machine")
def test_tools_tell_what_is_expected_on_this_machine() -> None:
    """All of them: TypeScript has its runtime and not its compiler. Plain Python needs none."""
    assert expect_languages({}, here=True) == {"python": "", "javascript": "", "rust": ""}
    assert missing_tools(LANGUAGES["typescript"]) == ["tsc"]


@pytest.mark.usefixtures("bare_machine")
def test_elsewhere_all_is_expected_until_it_was_looked_at() -> None:
    """A container's tools cannot be seen from here."""
    known = {"java": Offer(refusal="absent"), "go": Offer("go1.19"), "python": Offer(refusal="absent")}

    versions = expect_languages(known, here=False)

    assert versions == {name: "" for name in LANGUAGES if name != "java"} | {"go": "go1.19"}


@pytest.mark.usefixtures("bare_machine")
def test_a_look_counts_for_more_than_tools() -> None:
    """A self-test that failed, and one that passed."""
    known = {"rust": Offer(refusal="its self-test gave 'x'"), "go": Offer("go1.19")}

    assert expect_languages(known, here=True) == {"python": "", "javascript": "", "go": "go1.19"}


def _worker(languages: Mapping[str, str] | None) -> WorkerInfo:
    return WorkerInfo("w", "h", 1, 2, ("python",), languages=languages)


@pytest.mark.parametrize(
    ("told", "languages"),
    [
        ([], None),
        ([{"c": ""}, None], None),
        ([{}], {}),
        ([{"c": "", "go": "1"}, {"c": "gcc 12", "rust": ""}], {"c": "gcc 12", "go": "1", "rust": ""}),
    ],
    ids=["no worker", "one does not tell", "none", "several"],
)
def test_a_language_is_had_if_one_worker_has_it(
    told: list[Mapping[str, str] | None], languages: Mapping[str, str] | None
) -> None:
    """Where nothing is certain, any may be had."""
    assert languages_of([_worker(one) for one in told]) == languages
