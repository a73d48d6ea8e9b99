"""Which tests may run in a process that serves other tests afterwards."""

import pytest

from assay.verifiers.split.closed import is_closed


def _is_closed(*sources: str, entry: str = "f") -> bool:
    return is_closed([compile(source, "<test>", "exec") for source in sources], entry)


@pytest.mark.parametrize(
    "source",
    [
        "assert f(1) == 1",
        "assert f([1, 2], key='x') == {'a': (1, 2)}, 'message'",
        "def check(candidate):\n    for x in range(3):\n        assert candidate(x) == sorted([x])",
        "METADATA = {'author': 'x'}\ndef check(candidate):\n    assert True",
        "import math\nassert math.isclose(f(2), math.sqrt(2))",
        "from typing import List, Optional\ndef g(xs: List[int]) -> Optional[int]:\n    return f(xs)",
        "def helper(x):\n    return x.lower().split()\nassert all(helper(y) for y in f('a'))",
        "try:\n    f(1)\nexcept ValueError as error:\n    assert 'x' in str(error)\nelse:\n    assert False",
        "assert list(map(lambda x: x + 1, f(3))) == [i for i in (1, 2)]",
        "data = {}\ndata['k'] = f(1)\ndata.setdefault('l', []).append(2)\ndel data['k']",
    ],
)
def test_tests_of_plain_values_are_closed(source: str) -> None:
    """Literals, own names, usual builtins, methods of plain values, math and typing leave nothing behind."""
    assert _is_closed(source)


@pytest.mark.parametrize(
    "source",
    [
        "import random\nassert f(random.random())",
        "import os\nos.environ['X'] = '1'",
        "import random\nrandom.seed",
        "os = 1\ndef g():\n    import os",
        "from os import path",
        "import math\nmath.pi = 3",
        "import math\nsetattr(math, 'pi', 3)",
        "import math\nmath.__dict__['pi'] = 3",
        "import typing\ntyping.sys.modules.clear()",
        "def sys(): pass\ndef modules(): pass\nimport typing\ntyping.sys.modules.clear()",
        "from typing import sys",
        "f.cache = 1",
        "print(f(1))",
        "open('x')",
        "exec('import os')",
        "eval('1')",
        "globals()['x'] = 1",
        "vars(f)['x'] = 1",
        "getattr(f, 'x')",
        "__import__('os')",
        "__builtins__['len'] = 1",
        "'{0.__class__}'.format(f)",
        "f.__globals__",
        "().__class__.__base__.__subclasses__()",
        "class A: pass",
        "def g():\n    global y\n    y = 1",
        "with f(1): pass",
        "async def g():\n    await f(1)",
        "assert unknown(1) == 1",
        "assert sys.maxsize == f(1)",
        "import math\ndel math.pi",
        "raise SystemExit",
        "input()",
        "def g():\n    def h():\n        import os\n        return os\n    return h",
        "assert (lambda: breakpoint)()",
        "type('X', (), {})",
        "@overload\ndef g(x):\n    return 1",
        "import typing\ndef g(x): pass\ntyping.get_type_hints(g)",
        "import math\nno_type_check(math)",
        "gi_frame = 0\n(x for x in ()).gi_frame.clear()",
        "register = 0\nSequence.register(int)",
        "for exec in ():\n    pass\nexec('import os')",
        "open = 1\ndel open\nopen('x')",
        "match ValueError():\n    case ValueError(__traceback__=frames):\n        frames[0] = 1",
    ],
)
def test_whatever_could_leave_something_behind_is_not_closed(source: str) -> None:
    """Modules, attributes, classes, names that nobody defines and every way to reach them are refused."""
    assert not _is_closed(source)


def test_prompt_and_tests_are_looked_at_together() -> None:
    """A helper that the prompt defines is the tests' own; one that nobody defines is the completion's."""
    helper = "def helper(x):\n    return x + 1"

    assert _is_closed("assert helper(f(1)) == 2", helper)
    assert not _is_closed("assert helper(f(1)) == 2")


def test_names_beyond_the_first_256_are_seen() -> None:
    """A long module's instructions carry their arguments in two parts."""
    many = "\n".join(f"x{number} = {number}" for number in range(400))

    assert _is_closed(f"{many}\nassert f(x399) == x300")
    assert not _is_closed(f"{many}\nassert f(x399) == x400")
