"""The module under test as tests import it: every name is asked of the candidate when it is used."""

import ast
import builtins
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any  # module attributes are of any type

from assay.verifiers.split.definitions import bound_names, flatten
from assay.verifiers.split.plan import Compiled
from assay.verifiers.split.subject import Subject

_BUILTINS = frozenset(vars(builtins))
_STATE = "__assay__"  # the one name of ours on the module: all others are the completion's


@dataclass
class _State:
    compiled: Compiled
    module: str
    entry: str
    subject: Subject | None = None


class StubModule(ModuleType):
    """What `import solution` gives the tests. It has no attribute of its own that a completion might want to define."""

    def __getattr__(self, name: str) -> Any:
        state = _state_of(self)
        if state.subject is None:
            raise AttributeError(name)
        if name == "__all__":
            return _star(state, state.subject)
        if name.startswith("__"):
            raise AttributeError(f"module {state.module!r} has no attribute {name!r}")
        return state.subject.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        state: _State | None = self.__dict__.get(_STATE)
        if state is None or state.subject is None or name.startswith("__"):
            super().__setattr__(name, value)
        else:
            state.subject.set(name, value)

    def __dir__(self) -> list[str]:
        subject = _state_of(self).subject
        return sorted(subject.names) if subject is not None else []


def register(name: str, compiled: Compiled, entry: str) -> StubModule:
    """Put a stub module where `import name` finds it, its parent packages too."""
    module = StubModule(name)
    module.__dict__[_STATE] = _State(compiled, name, entry)
    parts = name.split(".")
    for size in range(1, len(parts)):
        package = sys.modules.setdefault(".".join(parts[:size]), ModuleType(".".join(parts[:size])))
        package.__path__ = []
    sys.modules[name] = module
    if len(parts) > 1:
        setattr(sys.modules[".".join(parts[:-1])], parts[-1], module)
    return module


def unregister(module: StubModule) -> None:
    """Undo `register` for a module without parents."""
    sys.modules.pop(module.__name__, None)


def attach(module: StubModule, subject: Subject) -> None:
    """Name the candidate that the module stands for."""
    _state_of(module).subject = subject


def _state_of(module: StubModule) -> _State:
    state = module.__dict__[_STATE]
    assert isinstance(state, _State)
    return state


def _star(state: _State, subject: Subject) -> list[str]:
    """Return what `from module import *` brings: what the tests use and do not have from elsewhere."""
    used: set[str] = set()
    known = set(_BUILTINS)
    for tree in state.compiled.trees:
        used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        known |= {name for name in bound_names(tree.body)} | _imported(tree, state.module)
    wanted = {name for name in used - known if not name.startswith("_")} | {state.entry}
    return sorted(name for name in wanted if name in subject.names)


def _imported(tree: ast.Module, module: str) -> set[str]:
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in flatten(tree.body)
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != module)
        for alias in node.names
    }
