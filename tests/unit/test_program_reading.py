"""Which block of a completion is its program, by the tags that models write."""

import pytest

from assay.verifiers.languages.reading import read_program
from assay.verifiers.languages.table import LANGUAGES


@pytest.mark.parametrize(
    ("language", "tag"),
    [
        ("javascript", "mjs"),
        ("javascript", "cjs"),
        ("javascript", "jsx"),
        ("typescript", "mts"),
        ("typescript", "tsx"),
        ("c", "c99"),
        ("cpp", "cpp14"),
        ("cpp", "C++11"),
        ("cpp", "c++23"),
        ("java", "java11"),
    ],
)
def test_a_tag_of_a_dialect_or_an_edition_is_the_languages(language: str, tag: str) -> None:
    """Right programs under these got `no_answer`, or lost to a block without a tag, such as an example's output."""
    completion = f"So:\n\n```{tag}\nthe program\n```\n\nIt prints:\n```\n6\n```\n"

    assert read_program(completion, LANGUAGES[language], fence_required=True) == "the program\n"


@pytest.mark.parametrize("language", ["cpp", "javascript", "bash"])
def test_a_program_in_a_fence_of_tildes_is_read(language: str) -> None:
    """The fence was taken for the program's first line."""
    completion = f"So:\n\n~~~{language}\nthe program\n~~~\nDone.\n"

    assert read_program(completion, LANGUAGES[language], fence_required=False) == "the program\n"
