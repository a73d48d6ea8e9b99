"""The names that tests see: the prompt's, their own, the builtins, and stubs for what only the completion defines."""

import ast
import builtins
import sys
from types import ModuleType
from typing import Any  # namespaces hold anything

from assay.verifiers.split.assembly import parse_prompt
from assay.verifiers.split.definitions import drop_definition
from assay.verifiers.split.loading import TYPING_NAMES
from assay.verifiers.split.plan import Compiled
from assay.verifiers.split.subject import Subject


class Namespace(dict[str, Any]):
    """The globals of function tests.

    The prompt's definitions are run here, so a completion cannot replace them. Names that neither tests nor prompt
    define, and the entry point even where it shadows a builtin, come from the candidate; builtins never do.
    """

    def __init__(self, entry: str, name: str) -> None:
        super().__init__()
        self["__name__"] = name
        self["__builtins__"] = {**vars(builtins), **TYPING_NAMES}
        self.entry = entry
        self.subject: Subject | None = None
        self.touched = False
        self._stubs: set[str] = set()

    def __missing__(self, name: str) -> Any:
        if self.subject is None or (name in _BUILTINS and name != self.entry):
            raise KeyError(name)
        self.touched = True
        try:
            value = self.subject.get(name)
        except AttributeError:
            if name == self.entry:
                raise NameError(f"name {name!r} is not defined", name=name) from None
            raise KeyError(name) from None
        if callable(value):  # anything else may be bound anew by the candidate, and is asked for each time
            self._stubs.add(name)
            self[name] = value
        return value

    def candidate(self) -> Any:
        """Return the entry point itself, even where the tests define something of that name (`check` calls itself so).

        Raises NameError if the completion lacks it.
        """
        assert self.subject is not None
        self.touched = True
        try:
            return self.subject.get(self.entry)
        except AttributeError:
            raise NameError(f"name {self.entry!r} is not defined", name=self.entry) from None

    def renew(self) -> None:
        """Forget the stubs of a candidate that is gone."""
        for name in self._stubs:
            self.pop(name, None)
        self._stubs.clear()

    def run_prompt(self, prompt: str) -> dict[str, type]:
        """Run the prompt, if it is code, without its stub of the entry point; return the classes it defines.

        Raises whatever the prompt raises.
        """
        tree = parse_prompt(prompt)
        if tree is None:
            return {}
        rest = drop_definition(tree, self.entry)
        exec(compile(rest, "<prompt>", "exec", dont_inherit=True, optimize=0), self)
        names = [node.name for node in rest.body if isinstance(node, ast.ClassDef)]
        return {name: self[name] for name in names if isinstance(self.get(name), type)}


class StubModule(ModuleType):
    """The module under test as tests import it."""

    def __init__(self, name: str, compiled: Compiled, entry: str) -> None:
        super().__init__(name)
        self.__dict__["_subject"] = None
        self.__dict__["_compiled"] = compiled
        self.__dict__["_entry"] = entry
        self.__dict__["touched"] = False

    def attach(self, subject: Subject) -> None:
        """Name the candidate that the module stands for."""
        self.__dict__["_subject"] = subject

    def __getattr__(self, name: str) -> Any:
        subject: Subject | None = self.__dict__["_subject"]
        if subject is None:
            raise AttributeError(name)
        self.__dict__["touched"] = True
        if name == "__all__":
            return self._star(subject)
        if name.startswith("__") or not subject.has(name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return subject.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        subject: Subject | None = self.__dict__["_subject"]
        if subject is None or name.startswith("__"):
            super().__setattr__(name, value)
        else:
            subject.set(name, value)

    def __dir__(self) -> list[str]:
        subject: Subject | None = self.__dict__["_subject"]
        return sorted(subject.names) if subject is not None else []

    def _star(self, subject: Subject) -> list[str]:
        """Return what `from module import *` brings: names that the tests use, builtins left alone."""
        trees = self.__dict__["_compiled"].trees
        used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
        own = {part for part in used if not part.startswith("_") and part not in _BUILTINS}
        return sorted(part for part in own | {self.__dict__["_entry"]} if part and subject.has(part))


def register(name: str, compiled: Compiled, entry: str) -> StubModule:
    """Put a stub module where `import name` finds it, its parent packages too."""
    module = StubModule(name, compiled, entry)
    parts = name.split(".")
    for size in range(1, len(parts)):
        package = sys.modules.setdefault(".".join(parts[:size]), ModuleType(".".join(parts[:size])))
        package.__path__ = []
    sys.modules[name] = module
    if len(parts) > 1:
        setattr(sys.modules[".".join(parts[:-1])], parts[-1], module)
    return module


_BUILTINS = frozenset(vars(builtins))
