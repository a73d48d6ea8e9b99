"""Which block counts, and what program it means beside the prompt."""

import pytest

from assay.outcomes import Outcome
from assay.verifiers.extraction import read_completion
from assay.verifiers.split.assembly import Program, Sources, choose
from assay.verifiers.split.loading import build

_ADD = "def add(a, b):\n    return a + b\n"
_STUB = 'def clamp(x, lo, hi):\n    """Limit x.\n\n    >>> clamp(9, 0, 5)\n    5\n    """\n'


def _sources(completion: str, entry: str = "add", **fields: object) -> Sources:
    return Sources(read_completion(completion), entry, **fields)  # type: ignore[arg-type]  # checked where it is made


def _namespace(sources: Sources, forbid: tuple[str, ...] = ()) -> dict[str, object]:
    program = build(sources, forbid, "solution.py")
    assert isinstance(program, Program), program
    namespace: dict[str, object] = {}
    if program.prompt is not None:
        exec(program.prompt, namespace)
    exec(program.unit, namespace)
    return namespace


def _call(sources: Sources, *args: object) -> object:
    function = _namespace(sources)[sources.entry]
    assert callable(function)
    return function(*args)


def _outcome(sources: Sources, forbid: tuple[str, ...] = ()) -> Outcome:
    program = build(sources, forbid, "solution.py")
    assert not isinstance(program, Program)
    return program[0]


def test_the_last_block_that_defines_the_entry_point_counts() -> None:
    """A draft before it and a usage example after it are passed over."""
    text = f"```python\ndef add(a, b):\n    return 0\n```\n```python\n{_ADD}```\n```python\nprint(add(1, 2))\n```\n"

    assert _call(_sources(text), 1, 2) == 3


@pytest.mark.parametrize("after", ["", "```python\nprint(add(1, 2))\n```\n"])
def test_a_definition_that_is_indented_as_a_whole_is_a_module(after: str) -> None:
    """As in a list item whose fence stands at the margin: it is no body in which the function defines itself anew."""
    text = f"Steps:\n\n```python\n    import math\n\n    def add(a, b):\n        return a + b\n```\n{after}"

    assert _call(_sources(text, prompt="def add(a, b):\n    pass\n"), 1, 2) == 3


def test_an_indented_body_may_define_a_function_of_its_own_name() -> None:
    """It returns, so it is the inside of the function that the prompt asks for."""
    text = "    def add(c):\n        return c\n    return add(a) + b\n"

    assert _call(_sources(text, prompt='def add(a, b):\n    """Add."""\n'), 1, 2) == 3


def test_a_program_that_is_indented_as_a_whole_compiles() -> None:
    """No function is asked for."""
    text = "```python\n    total = 1\n    for number in (2, 3):\n        total *= number\n```\n"

    assert _namespace(_sources(text, ""))["total"] == 6


def test_a_broken_last_definition_is_still_the_answer() -> None:
    """A corrected version that does not compile is not replaced by the draft before it."""
    text = f"```python\n{_ADD}```\nBetter:\n```python\ndef add(a, b)\n    return a + b\n```\n"

    assert _outcome(_sources(text)) is Outcome.COMPILE_ERROR


def test_a_usage_example_that_imports_the_entry_point_does_not_define_it() -> None:
    """`from solution import add` is no definition where another block has one."""
    text = f"```python\n{_ADD}```\n```python\nfrom solution import add\nprint(add(1, 2))\n```\n"

    assert choose(_sources(text)) == _ADD


def test_a_tagged_block_counts_before_an_untagged_one() -> None:
    """An untagged block is output or prose where a tagged one exists."""
    text = f"```python\n{_ADD}```\nOutput:\n```\n3\n```\n"

    assert choose(_sources(text)) == _ADD


def test_the_last_tagged_block_counts_where_no_entry_point_is_known() -> None:
    """A program for standard input is the last python block."""
    assert choose(_sources("```python\na\n```\n```python\nb\n```\n", "")) == "b\n"


def test_a_block_that_defines_all_wanted_names_is_preferred() -> None:
    """A pytest task wants every name its tests import."""
    text = "```python\ndef f(): ...\ndef g(): ...\n```\n```python\ndef f(): ...\n```\n"

    assert choose(_sources(text, "", names=("f", "g"))) == "def f(): ...\ndef g(): ...\n"


def test_fences_inside_the_docstrings_of_bare_code_are_code() -> None:
    """A completion that parses as a whole is the code, whatever its strings hold."""
    code = 'def add(a, b):\n  """\n  ```\n  add(1, 2)\n  ```\n  """\n  return a + b\n'

    assert _call(_sources(code), 1, 2) == 3


def test_deep_blocks_serve_where_there_is_no_other() -> None:
    """A block indented as a list item by four columns is found."""
    text = "1. Do this:\n\n    ```python\n    def add(a, b):\n        return a + b\n    ```\n"

    assert _call(_sources(text), 1, 2) == 3


def test_a_required_fence_leaves_bare_code_unanswered() -> None:
    """`fence: required` finds no answer outside a block."""
    assert _outcome(_sources(_ADD, fence_required=True)) is Outcome.NO_ANSWER


@pytest.mark.parametrize("completion", ["", " \n", "```python\n```\n", "```bash\nls\n```\n", "<think>\ndef add"])
def test_nothing_to_run_is_no_answer(completion: str) -> None:
    """An empty completion, an empty block and other languages hold no program."""
    assert _outcome(_sources(completion)) is Outcome.NO_ANSWER


def test_prose_is_no_answer() -> None:
    """A refusal is no program that fails to compile."""
    assert _outcome(_sources("I am sorry, I cannot help with that.")) is Outcome.NO_ANSWER


@pytest.mark.parametrize(
    "code",
    ["def add(a, b)\n    return a\n", "x = (1,\n", "return “hi”\n", "x = 1\0\n", "x = '\ud83d'\n def", "(" * 5000],
)
def test_code_that_does_not_compile_is_a_compile_error(code: str) -> None:
    """Syntax errors, NUL characters and nesting beyond the parser's are the completion's fault."""
    assert _outcome(_sources(f"```python\n{code}\n```\n")) is Outcome.COMPILE_ERROR


def test_a_bare_body_goes_under_the_given_signature() -> None:
    """Several statements at column 0 with a return are the inside of the function."""
    body = "total = 0\nfor x in xs:\n    total += x\nreturn total"

    assert _call(_sources(body, "total_of", signature="total_of(xs)"), [1, 2]) == 3


def test_a_bare_body_goes_under_the_signature_in_the_prompt() -> None:
    """A sentence that names `is_even(n)` gives the arguments."""
    prompt = "Write is_even(n): return True if n is even, otherwise False."

    assert _call(_sources("return n % 2 == 0", "is_even", prompt=prompt), 4) is True


def test_example_calls_in_the_prompt_are_no_signature() -> None:
    """`add(1, 2)` cannot be a signature, `add(a, b)` can."""
    prompt = "add(1, 2) is 3. Complete `def add(a: int, b: int) -> int:`."

    assert _call(_sources("return a + b", prompt=prompt), 1, 2) == 3


def test_a_body_may_hold_multi_line_strings() -> None:
    """The text of a string is not indented with the body."""
    assert _call(_sources('return """a\nb"""', "f", signature="f()")) == "a\nb"


@pytest.mark.parametrize("completion", ["    return max(lo, min(x, hi))\n", "return max(lo, min(x, hi))"])
def test_a_body_goes_below_a_prompt_that_is_code(completion: str) -> None:
    """At the prompt's own indentation or at column 0."""
    assert _call(_sources(completion, "clamp", prompt=_STUB), 9, 0, 5) == 5


def test_a_continuation_may_run_on() -> None:
    """Further functions and a demo after the body belong to the program."""
    completion = "    return lo if x < lo else hi if x > hi else x\n\n\ndef other():\n    return clamp(2, 0, 1)\n"
    namespace = _namespace(_sources(completion, "clamp", prompt=_STUB))

    assert namespace["other"]() == 1  # type: ignore[operator]  # what ran is not typed


def test_a_prompt_that_ends_in_its_def_line_is_continued() -> None:
    """No docstring is needed."""
    assert _call(_sources("    return x\n", "f", prompt="def f(x):\n"), 3) == 3


def test_a_full_function_runs_beside_the_helpers_of_the_prompt() -> None:
    """Imports, helpers and classes come from the prompt, its stub does not."""
    prompt = "import math\n\ndef half(x):\n    return x / 2\n\ndef f(x):\n    '''doc'''\n"

    assert _call(_sources("def f(x):\n    return math.floor(half(x))\n", "f", prompt=prompt), 5) == 2


def test_a_future_import_of_the_completion_is_honoured() -> None:
    """Its line stays the first of its own unit."""
    code = "from __future__ import annotations\n\ndef add(a: Missing, b) -> int:\n    return a + b\n"

    assert _call(_sources(code, prompt="from typing import List\n\ndef add(a, b):\n    '''doc'''\n"), 1, 2) == 3


def test_a_body_does_not_go_below_a_broken_prompt() -> None:
    """A prompt that opens a block but does not parse lends its signature to nothing."""
    prompt = 'def f(x):\n"""\nUnindented.\n"""\n'

    assert _outcome(_sources(" x = 1\n return x", "f", prompt=prompt)) is Outcome.COMPILE_ERROR


def test_a_coding_line_changes_nothing() -> None:
    """Source is text already: `utf-7` cannot turn comments into code."""
    code = "# -*- coding: utf-7 -*-\ndef add(a, b):\n    return 1\n# +AAo-raise SystemExit\n"

    assert _call(_sources(code), 1, 2) == 1


def test_a_method_of_class_solution_defines_a_bare_entry_point() -> None:
    """The starter code of contest sites is accepted."""
    text = "```python\nclass Solution:\n    def add(self, a, b):\n        return a + b\n```\n```python\nprint(1)\n```\n"

    assert choose(_sources(text)) == "class Solution:\n    def add(self, a, b):\n        return a + b\n"


def test_a_body_goes_into_the_method_of_the_prompts_class() -> None:
    """A starter class with a stub is completed in place."""
    prompt = "class Solution:\n    def twice(self, n: int) -> int:\n        '''doc'''\n"
    namespace = _namespace(_sources("return 2 * n", "Solution.twice", prompt=prompt))

    assert namespace["Solution"]().twice(4) == 8  # type: ignore[operator]  # what ran is not typed


@pytest.mark.parametrize(
    ("code", "forbid"),
    [
        ("import os\n", "os"),
        ("import os.path\n", "os"),
        ("from os import path\n", "os.path"),
        ("import numpy as np\nnp.linalg.inv(1)\n", "numpy.linalg"),
        ("from functools import reduce as r\n", "functools.reduce"),
        ("x = sorted([1])\n", "sorted"),
        ("__import__('os')\n", "os"),
        ("import importlib\nimportlib.import_module('os.path')\n", "os"),
    ],
)
def test_forbidden_names_are_found(code: str, forbid: str) -> None:
    """Imports, calls and aliases of what the task forbids are a violation."""
    assert _outcome(_sources(code, ""), (forbid,)) is Outcome.VIOLATION


@pytest.mark.parametrize("code", ["import ossify\n", "def sorted(x):\n    return x\n", "x = {}.sorted\n", "'os'\n"])
def test_what_only_resembles_a_forbidden_name_is_allowed(code: str) -> None:
    """Another module's name, a definition and a text use nothing."""
    assert isinstance(build(_sources(code, ""), ("os", "sorted"), "solution.py"), Program)
