"""Streams by their names: many programs read `/dev/stdin`, as if it were a file."""

from collections.abc import Iterator

import pytest
from confinements import CONFINEMENTS, Confinement, confined

from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.verifiers.languages.verifier import StdioVerifier

pytestmark = pytest.mark.jail

ECHO = {
    "python": "open('/dev/stdout', 'w').write(open('/dev/stdin').read())",
    "bash": "cat /dev/stdin > /dev/stdout",
}
ASKS = """import sys
print(21, flush=True)
sys.exit(0 if sys.stdin.readline() == "42\\n" else 1)
"""


@pytest.fixture(params=CONFINEMENTS, ids=lambda confinement: str(confinement.level), scope="module")
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    """Jails at every level: who owns a pipe, and which files may be opened, depends on it."""
    confinement: Confinement = request.param
    with confined(confinement) as made:
        yield made


def judge(pool: Pool, language: str, source: str, **fields: object) -> Outcome:
    """Judge a program that reads `echo` and a number of lines, and has to write the same."""
    text = "echo\n" * 50_000
    given = {"id": "t", "language": language, "cases": [{"stdin": text, "stdout": text}], **fields}
    with pool.slot() as slot:
        verifier = StdioVerifier()
        return verifier.judge(StdioVerifier.task_model.model_validate(given), source, slot).outcome


@pytest.mark.parametrize("language", ["python", "bash"])
def test_streams_can_be_opened_by_name(pool: Pool, language: str) -> None:
    """More than a pipe holds, both ways."""
    assert judge(pool, language, ECHO[language]) is Outcome.PASSED


def test_an_input_of_nothing_has_an_end(pool: Pool) -> None:
    """To open it again waits for no writer."""
    cases = [{"stdin": "", "stdout": "0\n"}]

    assert judge(pool, "bash", "wc -c < /dev/stdin", cases=cases) is Outcome.PASSED


def test_a_talk_can_be_opened_by_name(pool: Pool) -> None:
    """The pipes to and from an interactor have the same names."""
    cases = [{"stdin": "", "stdout": ""}]
    told = {"cases": cases, "interactor": {"language": "python", "source": ASKS}}

    assert judge(pool, "bash", "read n < /dev/stdin; echo $((2 * n)) > /dev/stdout", **told) is Outcome.PASSED
