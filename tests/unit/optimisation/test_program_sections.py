"""Where the program of a completion stands, and whether its sections are in order."""

import time

import pytest

from assay.verifiers.optimisation.sections import find_first_program, find_program, find_sirl_program, is_in_order

TIDY = "<think>a</think><model>b</model><python>c</python>"


@pytest.mark.parametrize(
    ("text", "in_order"),
    [
        (TIDY, True),
        (f"Well: {TIDY} that is all.", True),
        ("", False),
        ("<model>b</model><think>a</think><python>c</python>", False),
        ("<think>a</think><python>c</python><model>b</model>", False),
        (TIDY + "<python>d</python>", False),
        (TIDY.replace("</model>", ""), False),
        (TIDY.replace("<model>", "<model >"), False),
        ("</think>a<think><model>b</model><python>c</python>", False),
        ("<think><model><python></python></model></think>", False),
    ],
)
def test_every_tag_once_and_in_order(text: str, in_order: bool) -> None:
    """Text around them does not matter."""
    assert is_in_order(text) is in_order


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<python>x = 1</python>", "x = 1"),
        ("<python>\r\nx = 1\r\ny = 2\r\n</python>", "x = 1\ny = 2"),
        ("<python>\n    x = 1\n    y = 2\n</python>", "x = 1\ny = 2"),
        ("<python>first</python><python>second</python>", "second"),
        ("<python>\n```python\na\n```\nBetter:\n```python\nb\n```\n</python>", "b"),
        ("```python\na\n```\nBetter:\n```python\nb\n```", "b"),
        ("<think><python>a</python></think><model>m</model>", None),
        ("<think>\n```python\na\n```\n</think>\n```python\nb\n```", "b"),
        ("Well: <thinking><python>b</python></thinking><python>c</python>", "c"),
        ("<python>c</python> <think><python>b</python>", "c"),
        ("<python>a</python> no</think><model>m</model>", None),
        ("<python>\n```python\nx = 1\n```\n</python>", "x = 1"),
        ("<python>\n```\nx = 1\n```\n</python>", "x = 1"),
        ("<python>\nHere:\n```py\nx = 1\n```\nDone.\n</python>", "x = 1"),
        ("<python>\nx = '```'\n</python>", "x = '```'"),
        ("```python\nx = 1\n```", "x = 1"),
        ("```text\nno\n```\n```python\nx = 1\n```", "x = 1"),
        ("```python\nx = 1", "x = 1"),
        ("```\nx = 1\n```", None),
        ("<python>x = 1", "x = 1"),
        ("<python>no\n```py\nx = 1\n```\n", "x = 1"),
        ("<python>x = 1</python> or <python>x = 2", "x = 1"),
        ("<python>\n```python title=a.py\nx = 1\n```\n</python>", "x = 1"),
        ("x = 1", None),
    ],
)
def test_the_program_is_the_last_section_or_else_the_last_fence(text: str, code: str | None) -> None:
    """Reasoning is left out; a fence within the section is taken off, and so is an indent that all lines share."""
    assert find_program(text, fences=True) == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<python>first</python><python>second</python>", "first"),
        ("```python\na\n```\n```python\nb\n```", "a"),
        ("<think><python>a</python></think><python>b</python>", "a"),
        ("x = 1", None),
    ],
)
def test_the_released_code_takes_the_first_program_anywhere(text: str, code: str | None) -> None:
    """In the reasoning too, which the paper's profile leaves out."""
    assert find_sirl_program(text, fences=True) == code
    assert find_first_program(text, fences=True) == ("b" if "<think>" in text else code)


@pytest.mark.parametrize("tag", ["python", "Python", "PY", "python3", "py3", "python3.11", "{.python}", " python"])
def test_tags_are_read_as_models_write_them(tag: str) -> None:
    """Around the program as within its section; the released code's profile stays as strict as that is."""
    fenced = f"```{tag}\nx = 1\n```"
    wide = f"````{tag}\nx = 1\n````"

    for text in (fenced, wide, f"<python>\n{fenced}\n</python>", f"<python>\n{wide}\n</python>"):
        assert find_program(text, fences=True) == find_first_program(text, fences=True) == "x = 1"
    assert find_sirl_program(fenced, fences=True) == (None if tag.strip() != "python" else "x = 1")


@pytest.mark.parametrize("tag", ["pytorch", "pycon", "pythonic", "py_", "text", "", "c"])
def test_other_tags_mark_no_program(tag: str) -> None:
    """However they begin."""
    assert find_program(f"```{tag}\nx = 1\n```", fences=True) is None


def test_fences_may_not_count() -> None:
    """Then there is no program."""
    assert find_program("```python\nx = 1\n```", fences=False) is None


@pytest.mark.parametrize("body", ["<python>", "```python\n", "```", "</python>", " ", "<python>\n```\n", "\n"])
def test_a_megabyte_is_read_in_time(body: str) -> None:
    """Whatever takes quadratic time takes far longer than this."""
    text = "<python>\n" + body * (1_000_000 // len(body)) + "</python>"
    started = time.process_time()

    find_program(text, fences=True)
    find_program(text[9:], fences=True)
    is_in_order(text)

    assert time.process_time() - started < 20


@pytest.mark.parametrize("mark", ["```", "```py", "``` python"])
def test_a_fence_with_a_megabyte_of_blanks_is_read_in_time(mark: str) -> None:
    """Blanks before and after a language that is not there can be shared out in as many ways as there are blanks."""
    started = time.process_time()
    found = find_program(f"<python>\n{mark}{' ' * 900_000}x</python>", fences=True)

    assert found is not None
    assert found.startswith("```")
    assert time.process_time() - started < 20
