"""Rule 4 as far as text alone can decide it."""

import time

import pytest

from assay.verifiers.extraction import Block, read_completion, without_reasoning

_ADD = "def add(a, b):\n    return a + b\n"


def _codes(completion: str) -> list[tuple[str, bool]]:
    return [(block.code, block.tagged) for block in read_completion(completion).blocks]


def test_text_without_a_fence_is_kept_as_it_is() -> None:
    """A bare completion keeps its first line's indentation and has no block."""
    reading = read_completion("    return 1\n")

    assert (reading.text, reading.blocks, reading.fenced) == ("    return 1\n", (), False)


def test_a_tagged_block_is_found_between_prose() -> None:
    """The code between the fences comes out, prose does not."""
    assert _codes(f"Sure.\n\n```python\n{_ADD}```\nDone.\n") == [(_ADD, True)]


@pytest.mark.parametrize(
    "tag", ["python", "Python", "py", "python3", "PYTHON title=x", "{.python .numberLines}", "py3.11"]
)
def test_python_tags_are_recognised_in_any_dress(tag: str) -> None:
    """Case, version and attributes of the tag do not matter."""
    assert _codes(f"```{tag}\n{_ADD}```\n") == [(_ADD, True)]


@pytest.mark.parametrize("tag", ["bash", "text", "c++", "pycon", "json", "pythonic"])
def test_blocks_of_other_languages_are_ignored(tag: str) -> None:
    """A block tagged with another language is no answer, but the text is fenced all the same."""
    reading = read_completion(f"```{tag}\nx\n```\n")

    assert (reading.blocks, reading.fenced) == ((), True)


def test_an_untagged_block_is_kept_and_marked() -> None:
    """A block without a tag may be python."""
    assert _codes(f"```\n{_ADD}```") == [(_ADD, False)]


def test_an_unclosed_block_runs_to_the_end() -> None:
    """The closing fence may be missing."""
    assert _codes(f"x\n```python\n{_ADD}") == [(_ADD + "\n", True)]


def test_a_lone_fence_at_the_end_is_dropped() -> None:
    """Code whose opening fence stood in the prompt ends in a fence that opens nothing."""
    reading = read_completion(f"{_ADD}```\n")

    assert (reading.text.strip(), reading.blocks) == (_ADD.strip(), ())


def test_a_lone_tagged_fence_after_a_block_is_dropped() -> None:
    """A second block that was cut before its first line does not replace the first."""
    assert _codes(f"```python\n{_ADD}```\nAgain:\n```python\n") == [(_ADD, True)]


def test_a_longer_fence_holds_shorter_ones() -> None:
    """Only a fence at least as long closes a block."""
    code = 'TEXT = """\n```\n"""\n'

    assert _codes(f"````python\n{code}````\n") == [(code, True)]


def test_a_fence_inside_an_indented_docstring_does_not_close_the_block() -> None:
    """A fence indented by four columns or more is content."""
    code = 'def f():\n    """\n    ```\n    f()\n    ```\n    """\n    return 1\n'

    assert _codes(f"```python\n{code}```\n") == [(code, True)]


def test_an_indented_block_is_dedented_by_its_fence() -> None:
    """A block inside a list item loses the item's indentation."""
    assert _codes("1. So:\n   ```python\n   def f():\n       return 1\n   ```\n") == [
        ("def f():\n    return 1\n", True)
    ]


def test_deeply_indented_blocks_are_kept_apart() -> None:
    """They may stand in a docstring, so they only serve where no other block does."""
    reading = read_completion("- a\n\n    ```python\n    x = 1\n    ```\n")

    assert (reading.blocks, reading.deep, reading.fenced) == ((), (Block("x = 1\n", True),), False)


def test_byte_order_mark_and_windows_line_ends_are_normalised() -> None:
    """BOM and CRLF never reach the compiler."""
    assert _codes("\ufeff```python\r\nx = 1\r\n```\r\n") == [("x = 1\n", True)]
    assert _codes("```python\n\ufeffx = '\ufeff'\n```") == [("x = '\ufeff'\n", True)]


@pytest.mark.parametrize("tag", ["think", "thinking", "THINK"])
def test_leading_reasoning_is_dropped(tag: str) -> None:
    """Drafts inside the reasoning do not count."""
    assert _codes(f"<{tag}>\n```python\nbad\n```\n</{tag}>\n```python\n{_ADD}```\n") == [(_ADD, True)]


def test_reasoning_whose_opening_tag_is_in_the_prompt_is_dropped() -> None:
    """A closing tag alone on its line ends the reasoning."""
    assert _codes(f"Let me see.\n```python\nbad\n```\n</think>\n```python\n{_ADD}```\n") == [(_ADD, True)]


def test_unclosed_reasoning_leaves_nothing() -> None:
    """A completion cut while it thought holds no answer."""
    assert read_completion("<think>\n```python\nx = 1\n```\nNow").is_blank


def test_a_tag_inside_a_line_of_code_is_not_reasoning() -> None:
    """Only a closing tag alone on its line ends reasoning that was not opened."""
    code = 'END = "</think>"\n'

    assert read_completion(code).text == code


@pytest.mark.parametrize(
    "piece",
    [
        "```python\n",
        "```\n",
        "<think></think>",
        "<think>",
        "</think>\n",
        "````",
        " ",
        "    ```python\n",
        "```python\n```\n",
    ],
)
def test_extraction_is_linear_in_the_length(piece: str) -> None:
    """Half a megabyte of anything repeated is read in a time that only linear reading keeps."""
    text = piece * (500_000 // len(piece))
    started = time.process_time()

    read_completion(text)

    assert time.process_time() - started < 20  # quadratic reading takes minutes


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a", "a"),
        ("<think>a</think>b", "b"),
        ("a<think>b</think>c<THINKING>d</thinking>e", "ace"),
        ("a<think>b", "a"),
        ("a</think>b", "b"),
        ("<think>a<think>b</think>c", "c"),
        ("<think>a</think>b</think>c", "c"),
        ("</think><think>", ""),
        ("<think></think>" * 3 + "a", "a"),
    ],
)
def test_reasoning_is_left_out_wherever_it_stands(text: str, kept: str) -> None:
    """What is not closed takes the rest, what is not opened all before it."""
    assert without_reasoning(text) == kept


@pytest.mark.parametrize("part", ["<think>", "</think>", "<think></think>", "<thin", "a"])
def test_reasoning_is_left_out_in_time(part: str) -> None:
    """A megabyte of anything takes linear time."""
    started = time.process_time()

    without_reasoning(part * (1_000_000 // len(part)))

    assert time.process_time() - started < 10


def test_a_fence_of_tildes_with_a_tag_is_a_block() -> None:
    """Markdown has both kinds, and neither closes the other."""
    assert _codes(f"Sure.\n\n~~~python\n{_ADD}```\n~~~\nDone.\n") == [(_ADD + "```\n", True)]
    assert _codes(f"```python\n{_ADD}~~~\n```\n") == [(_ADD + "~~~\n", True)]


@pytest.mark.parametrize("line", ["~~~", "~~~~~~", "~~~ Notes ~~~"])
def test_a_line_of_tildes_in_a_bare_program_is_no_fence(line: str) -> None:
    """It underlines a heading in a docstring."""
    code = f'def add(a, b):\n    return a + b\n\n\nNOTES = """\nAdding\n{line}\nIt adds.\n"""\n'

    reading = read_completion(code)

    assert (reading.text, reading.blocks, reading.fenced) == (code, (), False)
