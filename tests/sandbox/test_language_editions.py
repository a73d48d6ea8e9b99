"""Sources of older editions of a language: what the newest refuses, an older one may take."""

from collections.abc import Iterator, Mapping
from typing import Any  # Any: tasks are JSON

import pytest
from confinements import HOST_AND_CONTAINER, confined
from language_programs import offered

from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.languages.task import StdioTask
from assay.verifiers.languages.verifier import StdioVerifier


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Jails of this machine."""
    with confined(HOST_AND_CONTAINER[0]) as made:
        yield made


def judged(pool: Pool, task: Mapping[str, Any], source: str) -> Verdict:
    """The verdict on a program; skipped where its language is absent, unless ASSAY_REQUIRE names `languages`."""
    verifier = StdioVerifier()
    offered(pool, verifier.builder, task["language"])
    with pool.slot() as slot:
        return verifier.judge(StdioTask.model_validate(task), source, slot)


EDITIONS = {
    "cpp": [
        '#include <concepts>\n#include <cstdio>\nint main() { puts(std::integral<int> ? "7" : ""); }',
        '#include <cstdio>\nint main() { const char *text = u8"7"; auto [a, b] = "7"; puts(text); (void)a; (void)b; }',
        "#include <cstdio>\nint main() { char line[9]; gets(line); bool is_read = 0; is_read++; puts(line); }",
    ],
    "rust": [
        'fn main() { for n in [7].into_iter() { let n: i32 = n; println!("{}", n); } }',
        'fn main() { let x: Box<ToString> = Box::new(7); println!("{}", x.to_string()); }',
        'fn main() { let async = 7; println!("{}", async); }',
    ],
}


@pytest.mark.parametrize(("language", "source"), [(name, text) for name, texts in EDITIONS.items() for text in texts])
def test_a_program_of_any_edition_passes(pool: Pool, language: str, source: str) -> None:
    """Each is refused by compilers of another edition; what none takes has the newest one's words."""
    task = {"id": "t", "verifier": "stdio", "language": language, "cases": [{"stdin": "7", "stdout": "7"}]}

    verdict = judged(pool, task, source)

    assert verdict.outcome is Outcome.PASSED, verdict.message


def test_what_no_edition_takes_is_told_by_the_newest(pool: Pool) -> None:
    """That it needs a newer standard, as older ones would say, is no help."""
    task = {"id": "t", "verifier": "stdio", "language": "cpp", "cases": [{"stdin": "", "stdout": "7"}]}
    source = "template<typename T> concept C = true;\nint main() { return missing; }"

    verdict = judged(pool, task, source)

    assert verdict.outcome is Outcome.COMPILE_ERROR
    assert "missing" in verdict.message
    assert "concept" not in verdict.message
