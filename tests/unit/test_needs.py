"""Which tests cannot be split from the module under test."""

import pytest

from assay.verifiers.split.needs import find_need
from assay.verifiers.split.plan import Plan, compile_plan


def _need(source: str, entry: str = "", style: str = "pytest") -> str | None:
    plan = Plan(style, (source,), (), "solution", entry, "", 1.0, may_share=True)
    return find_need(compile_plan(plan), plan)


@pytest.mark.parametrize(
    "source",
    [
        "def test_a(monkeypatch):\n    monkeypatch.setattr('builtins.input', lambda: '1')\n",
        "def test_a(monkeypatch):\n    monkeypatch.setenv('HOME', '/')\n",
        "from unittest.mock import patch\n@patch('solution.fetch')\ndef test_a(fetch): ...\n",
        "from unittest import mock\ndef test_a():\n    with mock.patch.object(solution, 'x'): ...\n",
        "import unittest.mock\ndef test_a():\n    with unittest.mock.patch('time.sleep'): ...\n",
        "def test_a(mocker):\n    mocker.patch('solution.fetch')\n",
        "def test_a(tmp_path):\n    (tmp_path / 'x').write_text('1')\n",
        "import tempfile\nd = tempfile.mkdtemp()\n",
        "from tempfile import NamedTemporaryFile\nwith NamedTemporaryFile() as f: ...\n",
        "with open('x', 'w') as f: ...\n",
        "import inspect, solution\nassert 'for' not in inspect.getsource(solution.f)\n",
        "from inspect import getsource\nassert getsource(f)\n",
        "import importlib, solution\nimportlib.reload(solution)\n",
        "import sys, io\nsys.stdin = io.StringIO('1')\n",
        "import builtins\nbuiltins.input = lambda: '1'\n",
        "import time\ntime.time = lambda: 0\n",
        "from solution import Base\nclass Mine(Base): ...\n",
        "import solution as s\nclass Mine(s.Base): ...\n",
        "from solution import f\nassert f.__code__.co_argcount == 1\n",
        "import pytest\nwith pytest.warns(UserWarning): ...\n",
        "def test_a(caplog): ...\n",
        "class T:\n    def test_a(self):\n        with self.assertLogs(): ...\n",
    ],
)
def test_tests_that_reach_into_the_module_need_its_process(source: str) -> None:
    """Patching, shared files, source and subclasses cannot cross."""
    assert _need(source) is not None


@pytest.mark.parametrize(
    "source",
    [
        "from solution import add\ndef test_a():\n    assert add(1, 2) == 3\n",
        "def test_a(capsys):\n    f()\n    assert capsys.readouterr().out == ''\n",
        "import io, sys\nsys.stdout = io.StringIO()\n",
        "import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()): ...\n",
        "from unittest.mock import patch\nwith patch('sys.stdout'): ...\n",
        "def test_a(monkeypatch):\n    monkeypatch.setattr('sys.stdout', None)\n",
        "import sys\ndef test_a(monkeypatch):\n    monkeypatch.setattr(sys, 'stdout', None)\n",
        "import copy, random, math\nassert f(copy.deepcopy([1])) == 1\n",
        "class Node:\n    pass\nclass Leaf(Node): ...\n",
        "import unittest\nclass T(unittest.TestCase): ...\n",
        "s.patch = 1\nobj.patch('x')\n",
        "self.x = 1\n",
        "import pytest\n@pytest.fixture\ndef account(): ...\n",
        "from unittest.mock import Mock\ncallback = Mock()\nf(callback)\n",
    ],
)
def test_ordinary_tests_can_be_split(source: str) -> None:
    """What crosses the wall is no reason to give it up."""
    assert _need(source) is None


def test_a_subclass_of_the_entry_point_needs_its_process() -> None:
    """In function tests the entry point is known by name."""
    assert _need("class Mine(Stack): ...\n", entry="Stack", style="assert") is not None
