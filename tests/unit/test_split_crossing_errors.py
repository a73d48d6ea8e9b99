"""Exceptions that cross: from contexts, of builtin and own classes, and those that would end a test runner."""

import json
import unittest

import pytest
from hypothesis.errors import HypothesisException
from split_pair import Load, load

from assay.verifiers.split.remote import RemoteError

__all__ = ["load"]


def test_context_managers_work(load: Load) -> None:
    """Context managers of the candidate enter, leave, and may swallow what the test raises on purpose."""
    module = load("""
        import contextlib
        @contextlib.contextmanager
        def doubled(x):
            yield 2 * x
        class Ignore:
            def __enter__(self): return self
            def __exit__(self, kind, error, traceback):
                self.kind = kind
                return True
    """)

    with module.doubled(4) as value:
        assert value == 8
    ignore = module.Ignore()
    with ignore:
        raise KeyError("on purpose")

    assert ignore.kind is KeyError


def test_builtin_exceptions_are_themselves(load: Load) -> None:
    """Builtin and library exceptions arrive as their own class with arguments, attributes and cause."""
    module = load("""
        import json
        def fail(kind):
            if kind == "os": open("missing")
            if kind == "json": json.loads("{")
            if kind == "group": raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
            if kind == "cause":
                try: 1 / 0
                except ZeroDivisionError as error: raise ValueError("because") from error
            raise KeyError("k")
    """)

    with pytest.raises(FileNotFoundError) as missing:
        module.fail("os")
    with pytest.raises(json.JSONDecodeError) as broken:
        module.fail("json")
    with pytest.raises(ExceptionGroup) as group:
        module.fail("group")
    with pytest.raises(ValueError, match="because") as caused:
        module.fail("cause")
    with pytest.raises(KeyError) as key:
        module.fail("")

    assert (missing.value.filename, missing.value.errno) == ("missing", 2)
    assert broken.value.pos == 1
    assert [type(error) for error in group.value.exceptions] == [ValueError, TypeError]
    assert type(caused.value.__cause__) is ZeroDivisionError
    assert key.value.args == ("k",)


def test_own_exceptions_are_instances_of_their_class(load: Load) -> None:
    """An exception class of the candidate's can be caught by the class got by name or a builtin base."""
    module = load("""
        class InsufficientFunds(ValueError):
            def __init__(self, need, have):
                super().__init__(f"need {need}, have {have}")
                self.need = need
                self.have = have
            @property
            def gap(self): return self.need - self.have
        class Overdrawn(InsufficientFunds):
            def __str__(self): return "overdrawn"
        def pay(kind): raise kind(5, 3)
    """)

    with pytest.raises(module.InsufficientFunds, match="need 5") as poor:
        module.pay(module.InsufficientFunds)
    with pytest.raises(ValueError, match="overdrawn") as drawn:
        module.pay(module.Overdrawn)

    assert (poor.value.need, poor.value.gap, poor.value.args) == (5, 2, ("need 5, have 3",))
    assert isinstance(drawn.value, module.InsufficientFunds)
    with pytest.raises(module.InsufficientFunds):
        raise module.InsufficientFunds(1, 0)


@pytest.mark.parametrize(
    "source",
    ["raise KeyboardInterrupt", "raise GeneratorExit", "raise BaseException('x')", "import pytest; pytest.skip('x')",
     "import pytest; pytest.exit('x')", "import pytest; pytest.fail('x')",
     "import unittest; raise unittest.SkipTest('x')",
     "from hypothesis.errors import UnsatisfiedAssumption; raise UnsatisfiedAssumption"],
)  # fmt: skip
def test_signals_to_the_test_runner_become_errors(load: Load, source: str) -> None:
    """What would skip, abort or interrupt the tests arrives as an ordinary exception."""
    module = load(f"def call():\n    {source}")

    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is not the point
        module.call()

    signals = (pytest.skip.Exception, pytest.exit.Exception, unittest.SkipTest, HypothesisException)
    assert not isinstance(caught.value, signals)
    assert isinstance(caught.value, RemoteError) or type(caught.value).__module__ != "solution"


def test_sys_exit_crosses_as_system_exit(load: Load) -> None:
    """SystemExit keeps its class and code."""
    module = load("import sys\ndef leave(code): sys.exit(code)")

    with pytest.raises(SystemExit) as caught:
        module.leave(3)

    assert caught.value.code == 3
