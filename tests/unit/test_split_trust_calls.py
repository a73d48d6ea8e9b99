"""What a candidate that is lent objects of the tests can do with them."""

import math
import unittest
from typing import Any  # liars are of every type

import pytest
from split_pair import Load, load

__all__ = ["load"]


CALLS = """
def read(obj, name): return getattr(obj, name)
def write(obj, name, value): setattr(obj, name, value)
def forge():
    import sys
    server = sys._getframe().f_back
    while "self" not in server.f_locals or not hasattr(server.f_locals["self"], "call_back"):
        server = server.f_back
    return server.f_locals["self"].call_back
FORGED = []
def ask(operation, handle, *args):
    return forge()(operation, handle, *args)
def attempt(f, *args):
    try: return ["returned", f(*args)]
    except BaseException as error: return ["raised", type(error).__name__]
def keep(obj): FORGED.append(obj)
def handle_of(obj):
    link = object.__getattribute__(obj, "_assay_link")
    return link[1]
"""


class Secret:
    def __init__(self) -> None:
        self.public = 1
        self._private = 2

    def method(self) -> int:
        return 3

    def __repr__(self) -> str:
        return "secret"


@pytest.mark.parametrize(
    "name",
    ["_private", "__dict__", "__class__", "__init__", "__globals__", "__reduce__", "__getattribute__", "f_back",
     "gi_frame", "tb_frame", "co_consts", "func_globals", "missing"],
)  # fmt: skip
def test_a_candidate_gets_only_public_attributes(load: Load, name: str) -> None:
    """Underscored and interpreter attributes of the tests' objects are AttributeErrors, however they are asked for."""
    module = load(CALLS)
    secret = Secret()

    module.keep(secret)

    assert module.attempt(module.ask, "getattr", 0, name)[0] == "raised"
    assert module.read(secret, "public") == 1
    assert module.read(secret, "method")() == 3


def test_a_candidate_cannot_replace_methods_of_the_tests(load: Load) -> None:
    """Public attributes can be set, methods and underscored names cannot."""
    module = load(CALLS)
    secret = Secret()

    module.write(secret, "public", 9)
    with pytest.raises(AttributeError):
        module.write(secret, "method", 0)
    with pytest.raises(AttributeError):
        module.write(secret, "_private", 0)

    assert (secret.public, secret.method()) == (9, 3)


def test_functions_of_the_tests_can_only_be_called(load: Load) -> None:
    """No attribute of a function, and no operation but the call, is available."""
    module = load(CALLS)

    def check() -> None:
        pass

    module.keep(check)

    assert module.attempt(module.ask, "call", 0) == ["returned", None]
    for name in ("__globals__", "__code__", "__closure__", "__self__", "__name__"):
        assert module.attempt(module.ask, "getattr", 0, name) == ["raised", "AttributeError"]
    for operation in ("vars", "dir", "len", "iter", "hash", "deepcopy", "getitem"):
        assert module.attempt(module.ask, operation, 0) == ["raised", "TypeError"]


@pytest.mark.parametrize("value", [math, unittest.TestCase(), (lambda: 0).__code__], ids=["module", "case", "code"])
def test_interpreter_objects_do_not_cross(load: Load, value: Any) -> None:
    """Modules, test cases and code objects cannot be passed at all."""
    module = load(CALLS)

    with pytest.raises(TypeError):
        module.keep(value)


def test_other_objects_are_opaque(load: Load) -> None:
    """An object of a library class crosses as an identity and nothing else."""
    module = load(CALLS + "\ndef same(x): return x\n")
    case = unittest.TestSuite()

    assert module.same(case) is case
    assert module.attempt(module.read, case, "addTest") == ["raised", "AttributeError"]
