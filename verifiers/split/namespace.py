"""The names that tests see: the prompt's, their own, the builtins, and stubs for what only the completion defines."""

import builtins
import importlib
from typing import Any  # namespaces hold anything

from assay.verifiers.split.definitions import bound_name
from assay.verifiers.split.prompt import Prompt
from assay.verifiers.split.subject import Subject

_BUILTINS = frozenset(vars(builtins))
_LIBRARIES = {
    "np": "numpy", "numpy": "numpy", "pd": "pandas", "pandas": "pandas", "scipy": "scipy", "sympy": "sympy",
    "sp": "sympy", "nx": "networkx", "networkx": "networkx", "math": "math", "cmath": "cmath", "json": "json",
    "re": "re", "itertools": "itertools", "functools": "functools", "collections": "collections",
    "operator": "operator", "random": "random", "copy": "copy", "os": "os", "sys": "sys", "time": "time",
    "asyncio": "asyncio", "unittest": "unittest", "pytest": "pytest",
}  # fmt: skip
"""What these names mean to tests that rely on the completion's imports: the library itself, from the oracle."""


class Namespace(dict[str, Any]):
    """The globals of function tests.

    The prompt's definitions are run here, so a completion cannot replace them. Names that neither tests nor prompt
    define, and the entry point even where it shadows a builtin, come from the candidate; builtins never do.
    """

    def __init__(self, entry: str, name: str) -> None:
        super().__init__()
        self["__name__"] = name
        self["__builtins__"] = builtins
        self.entry = entry
        self.subject: Subject | None = None
        self._stubs: dict[str, Any] = {}

    def __missing__(self, name: str) -> Any:
        if self.subject is None or (name in _BUILTINS and name != self.entry):
            raise KeyError(name)
        try:
            value = self.subject.get(name)
        except AttributeError:
            if name == self.entry:
                raise NameError(f"name {name!r} is not defined", name=name) from None
            raise KeyError(name) from None
        if name in _LIBRARIES and name != self.entry:
            value = self[name] = importlib.import_module(_LIBRARIES[name])
        elif callable(value):  # anything else may be bound anew by the candidate, and is asked for each time
            self._stubs[name] = self[name] = value
        return value

    def candidate(self) -> Any:
        """Return the entry point itself, even where the tests define something of that name (`check` calls itself so).

        Raises NameError if the completion lacks it.
        """
        assert self.subject is not None
        try:
            return self.subject.get(bound_name(self.entry))
        except AttributeError:
            raise NameError(f"name {self.entry!r} is not defined", name=self.entry) from None

    def renew(self) -> None:
        """Forget the stubs of a candidate that is gone."""
        for name, stub in self._stubs.items():
            if self.get(name) is stub:
                del self[name]
        self._stubs.clear()

    def run_prompt(self, prompt: Prompt) -> dict[str, type]:
        """Run the prompt, if it is code, without its stub of the entry point; return the classes it defines.

        Raises whatever the prompt raises.
        """
        unit = prompt.unit()
        if unit is not None:
            exec(unit, self)
        return {name: self[name] for name in prompt.class_names() if isinstance(self.get(name), type)}
