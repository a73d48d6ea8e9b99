"""Which file a Java source must lie in, and which of its classes is started: linear in its length.

A public class must be called like its file. The one with `main` need not be public, may be any of several, and may lie
in a package; what starts it must know its whole name.
"""

import re
from dataclasses import dataclass, field

_HIDDEN = re.compile(
    r"//[^\n]*|/\*(?:.*?\*/|.*)|\"\"\"(?:.*?\"\"\"|.*)|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?", re.DOTALL
)  # comments, texts and characters; one that does not end goes on to the end
_TOKEN = re.compile(r"[\w.$]+|[{}();]")
_KINDS = frozenset({"class", "interface", "enum", "record"})
_STARTS = frozenset({"static", "void"})
_USUAL = "Main"
_LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Names:
    """What a program's parts are called: the file of its source, and where it begins, if that has a name."""

    source: str
    entry: str = ""

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return self.source.rpartition(".")[0]


@dataclass
class _Type:
    name: str
    is_public: bool
    has_main: bool = False


@dataclass
class _Reader:
    """What was read of a source so far."""

    package: str = ""
    types: list[_Type] = field(default_factory=list)
    _depth: int = 0
    _words: set[str] = field(default_factory=set)
    """Since the last statement or block."""
    _before: str = ""
    """The last of them."""

    def take(self, token: str) -> None:
        if token in "{};":
            self._depth += {"{": 1, "}": -1}.get(token, 0)
            self._words.clear()
            self._before = ""
            return
        before, self._before = self._before, token
        if self._depth == 0 and before == "package":
            self.package = f"{token}."
        elif self._depth == 0 and before in _KINDS and token not in _KINDS:
            self.types.append(_Type(token, "public" in self._words))
        elif self._depth == 1 and self.types and token == "(" and before == "main":
            self.types[-1].has_main |= self._words >= _STARTS
        self._words.add(token)


def names_of_java(source: str) -> Names:
    """Return `NAME.java` and the whole name of the class that is started; `Main` where the source tells of none."""
    reader = _Reader()
    for token in _TOKEN.findall(_HIDDEN.sub(" ", source)):
        reader.take(token)
    public = next((one for one in reader.types if one.is_public), None)
    usual = next((one for one in reader.types if one.name == _USUAL), None)
    started = next((one for one in (public, usual, *reader.types) if one is not None and one.has_main), public)
    stem = _USUAL if public is None else public.name
    entry = f"{reader.package}{stem if started is None else started.name}"
    return Names(f"{stem}.java", entry) if max(len(stem), len(entry)) <= _LONGEST else Names(f"{_USUAL}.java", _USUAL)
