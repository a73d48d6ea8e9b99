"""What runs in the jail for the verifier `reasoning_gym`: the library's own scorer, and a guard around it.

Scorers of the library pass answers to `eval` and to sympy's parser, which evaluates too. The jail keeps that from
the worker; the guard keeps it from the verdict, which is reported by this very process: once an entry is prepared,
code made from a string may name nothing but what formulas name.
"""

import importlib
import json
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any  # Any: entries and scorers are the library's own

MODULE = "reasoning_gym"

_FORMULAS = frozenset({
    "Abs", "Add", "E", "Eq", "Float", "Function", "I", "Integer", "Mul", "Pow", "Rational", "Symbol", "acos", "acosh",
    "asin", "asinh", "atan", "atanh", "cbrt", "ceiling", "cos", "cosh", "cot", "csc", "erf", "exp", "factorial",
    "factorial2", "floor", "ln", "log", "oo", "pi", "root", "sec", "sign", "sin", "sinh", "sqrt", "tan", "tanh",
})  # fmt: skip
_NAMESPACE = ("sympy",)


class Scorer:
    """Scores answers to one entry of a data set. Raises what the library raises if the entry cannot be scored."""

    def __init__(self, dataset: str, entry: str) -> None:
        """`entry` is JSON. Its own answer is scored here, so that all is imported before the guard is up."""
        library = importlib.import_module(MODULE)  # optional, and only ever in a jail
        self._score: Callable[..., Any] = library.get_score_answer_fn(dataset)
        self._entry = settle_entry(json.loads(entry), self._score)
        sys.addaudithook(refuse_code)

    def check(self, _: str, given: str, answer: str) -> tuple[float, str]:
        """Return the score of an answer, and what it was; without `given` there is none."""
        score = float(self._score(answer if given else None, self._entry))
        return score, f"scored {score:g}"


def settle_entry(entry: dict[str, Any], score: Callable[..., Any]) -> dict[str, Any]:
    """Return the entry in the form in which its own answer is right; one whose answer is null stays as it is.

    JSON has no tuples, and some scorers compare with them: where lists do not do, tuples stand in for those of the
    metadata. Raises ValueError if the answer is right neither way, for then no answer ever is.
    """
    own = entry["answer"]
    found = float(score(own, entry))
    if own is None or found >= 1.0:
        return entry
    frozen = {**entry, "metadata": _freeze(entry.get("metadata"))}
    if float(score(own, frozen)) >= 1.0:
        return frozen
    raise ValueError(f"the entry's own answer scores {found:g}: give the entry as its data set made it")


def _freeze(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_freeze, value))
    return {key: _freeze(item) for key, item in value.items()} if isinstance(value, dict) else value


def refuse_code(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise RuntimeError where code from a string is about to run that is more than a formula; an audit hook."""
    if event == "exec" and not is_formula(arguments[0]):
        raise RuntimeError("the answer is code, not a formula")


def is_formula(code: CodeType) -> bool:
    """Whether code was not made from a string, or names only what formulas do and defines nothing."""
    if not code.co_filename.startswith("<") or code.co_filename.startswith("<frozen "):
        return True  # a module that is being imported
    if code.co_names == _NAMESPACE:
        return True  # how sympy's parser makes the namespace of a formula: `from sympy import *`
    known = all(name in _FORMULAS or len(name) == 1 for name in code.co_names)
    return known and not any(isinstance(constant, CodeType) for constant in code.co_consts)
