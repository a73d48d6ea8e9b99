"""Files and sources in tasks of `stdio`: which fields go together."""

from typing import Any

import pytest
from pydantic import ValidationError

from assay.verifiers.languages.java_source import Names
from assay.verifiers.languages.table import LANGUAGES
from assay.verifiers.languages.task import StdioTask


def _task(**fields: Any) -> StdioTask:
    return StdioTask.model_validate({"id": "t", "verifier": "stdio", "cases": [{"stdout": "1"}], **fields})


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"input_file": "in"}, "output_file"),
        ({"output_file": "out"}, "input_file"),
        ({"input_file": "../in", "output_file": "out"}, "input_file"),
        ({"language": "python", "files": {"a.py": ""}, "link": ["a.py"]}, "link"),
        ({"language": "cpp", "link": ["a.cpp"]}, "link"),
        (
            {"input_file": "i", "output_file": "o", "interactor": {"language": "python", "source": ""}},
            "input_file",
        ),
        ({"files": {"a": "", "a/b": ""}}, "files"),
        ({"files": {"a/b/c": "", "a": ""}}, "files"),
        ({"files": {"é" * 128: ""}}, "[key]"),
        ({"files": {"in": ""}, "input_file": "in/1", "output_file": "out"}, "output_file"),
        ({"input_file": "in", "output_file": "in/out"}, "output_file"),
        ({"input_file": "io", "output_file": "io"}, "output_file"),
        ({"files": {"out": "1"}, "input_file": "in", "output_file": "out"}, "output_file"),
        ({"language": "cpp", "files": {"main.cpp": ""}, "link": ["main.cpp"]}, "main.cpp"),
        ({"language": "cpp", "files": {"main/a": ""}}, "main/a"),
        ({"language": "java", "files": {"classes": ""}}, "classes"),
        ({"language": "java", "input_file": "main.jar", "output_file": "out"}, "input_file"),
        ({"language": "typescript", "files": {"main.js": ""}}, "main.js"),
        ({"language": "javascript", "files": {"package.json/a": ""}}, "package.json/a"),
        ({"language": "javascript", "input_file": "package.json", "output_file": "out"}, "input_file"),
    ],
)
def test_what_does_not_go_together_is_refused_by_its_field(fields: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as raised:
        _task(**fields)
    assert raised.value.errors()[0]["loc"][-1] == place


def test_files_beside_a_checker_go_together_too() -> None:
    with pytest.raises(ValidationError, match="both a file and the folder"):
        _task(checker={"language": "cpp", "source": "", "files": {"a": "", "a/b": ""}})


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@pytest.mark.parametrize("field", ["input_file", "output_file"])
def test_no_stream_lies_where_the_program_does(language: str, field: str) -> None:
    """An input would overwrite it, and its source would be an output that it never wrote."""
    for name in LANGUAGES[language].own_files:
        with pytest.raises(ValidationError) as raised:
            _task(**{"language": language, "input_file": "in", "output_file": "out", field: name})
        assert raised.value.errors()[0]["loc"][-1] == field


def test_files_beside_each_other_go_together() -> None:
    """Names with a common beginning, folders that several share, a module's kind, and names as long as they may be."""
    files = {"a": "", "a.b": "", "b/a": "", "b/c": "", "package.json": "{}", "é" * 127: ""}

    task = _task(language="javascript", files=files, input_file="b/in", output_file="b/out")

    assert task.files == files


def test_a_task_that_names_files_or_sources_is_another_one() -> None:
    """Verdicts are shared by content: what a program is compiled with, or reads, is a part of that."""
    files = {"language": "cpp", "files": {"g.cpp": ""}}
    tasks = [_task(**files), _task(**files, link=["g.cpp"]), _task(**files, input_file="i", output_file="o")]
    assert len({task.content_hash() for task in tasks}) == 3


def test_sources_beside_the_program_follow_it_on_the_command_line() -> None:
    line = LANGUAGES["c"].command(LANGUAGES["c"].build[0], Names("main.c"), linked=("g.c", "h.c"))
    at = line.index("main.c")
    assert line[at : at + 5] == ("main.c", "g.c", "h.c", "-o", "main")
    assert line[-1] == "-lm"


@pytest.mark.parametrize("field", ["checker", "interactor"])
@pytest.mark.parametrize("name", ["main.cpp", "main", "input.txt", "output.txt", "answer.txt/more"])
def test_no_file_of_a_task_program_lies_where_its_source_or_what_it_is_given_does(field: str, name: str) -> None:
    """It was replaced without a word."""
    program = {"language": "cpp", "source": "x", "files": {name: "text"}}

    with pytest.raises(ValidationError) as refused:
        StdioTask.model_validate({"id": "t", "cases": [{"stdout": "x"}], field: program})

    assert refused.value.errors()[0]["loc"][-3:] == (field, "files", name) or field in str(refused.value)
    assert name.split("/")[0] in str(refused.value)
