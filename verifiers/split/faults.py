"""In the oracle: the candidate's exceptions. Builtin ones are themselves, its own are instances of their stand-ins.

Whatever would skip, abort or interrupt the tests instead of failing them (the own signals of pytest, unittest and
hypothesis, KeyboardInterrupt, GeneratorExit, anything else that is no Exception, but for SystemExit) arrives as
RemoteError.
"""

import builtins
import sys
from typing import Any  # arguments and attributes are of every type

from assay.verifiers.split import names, trust
from assay.verifiers.split.kinds import StandinClass, link_of
from assay.verifiers.split.proxies import METHODS, ask_attribute
from assay.verifiers.split.wire import ProtocolError

_SIGNALS = frozenset({"unittest", "_pytest", "pytest", "pluggy", "hypothesis", "doctest", "bdb", "assay"})
_TEXT = "_assay_text"


class RemoteError(Exception):
    """The candidate raised something that cannot be raised here as what it was."""


def known_class(name: str, fallback: str) -> type[BaseException]:
    """Return the class of a builtin or library exception; the nearest builtin one where that may not be raised here."""
    found: object = None
    if ":" in name:
        module, _, qualname = name.partition(":")
        if module in sys.modules and names.is_library(module) and module.partition(".")[0] not in _SIGNALS:
            try:
                found = names.resolve(sys.modules[module], qualname)
            except AttributeError:
                found = None
    else:
        found = getattr(builtins, name, None)
    if isinstance(found, type) and issubclass(found, Exception) and not isinstance(found, StandinClass):
        return found
    found = getattr(builtins, fallback, None)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise ProtocolError("an exception of an unknown class")
    return found


def own_class(found: object) -> type[BaseException]:
    """Return an exception class of the tests' own that the candidate was given. Raises ProtocolError."""
    if not isinstance(found, type) or not issubclass(found, Exception) or names.is_library(found.__module__):
        raise ProtocolError("not an exception class of the tests")
    return found


def build(cls: Any, args: Any, text: Any, state: Any, cause: Any) -> BaseException:
    """Make the exception. Raises ProtocolError for parts of the wrong types."""
    if type(args) is not list or type(text) is not str or type(state) is not dict:
        raise ProtocolError("a malformed exception")
    if not issubclass(cls, (Exception, SystemExit)):
        return RemoteError(f"{cls.__name__}: {text}")
    made = _construct(cls, args)
    attributes = vars(made)
    for name, value in state.items():
        if type(name) is not str or hasattr(BaseException, name) or callable(getattr(cls, name, None)):
            continue
        if hasattr(cls, name) and type(value) is str and not isinstance(cls, StandinClass):
            setattr(made, name, value)  # a builtin's own attribute, such as ImportError.name
        else:
            attributes[name] = value
    if isinstance(cls, StandinClass):
        attributes[_TEXT] = text
    if isinstance(cause, BaseException):
        made.__cause__ = cause
    return made


def raisable(error: Any) -> BaseException:
    """Return what may be raised in the tests for what the candidate raised."""
    if isinstance(error, (Exception, SystemExit)):
        return error
    return RemoteError(f"the completion raised a {type(error).__name__}")


def methods(special: list[str]) -> dict[str, Any]:
    """Return the namespace of a stand-in for an exception class."""
    namespace: dict[str, Any] = {"__getattr__": ask_attribute}
    for name in special:
        if name == "__str__":
            namespace[name] = lambda self: vars(self).get(_TEXT, "")
        elif name == "__repr__":
            namespace[name] = lambda self: trust.exact("__repr__", str, link_of(self)[0].special("repr", self))
        elif name in ("__len__", "__iter__", "__getitem__", "__bool__", "__int__", "__contains__"):
            namespace[name] = METHODS[name]
    return namespace


def _construct(cls: Any, args: list[Any]) -> BaseException:
    made: BaseException
    if not issubclass(type(cls), StandinClass):
        try:
            made = cls(*args)
        except Exception:  # noqa: BLE001 - constructors check what they like; args are set below
            made = cls.__new__(cls)
    else:
        made = cls.__new__(cls, *args)
    if type(made) is cls and list(made.args) != args and not isinstance(made, (OSError, ImportError)):
        made.args = tuple(args)
    return made
