"""From the text of an answer to tokens: commands resolved, numbers whole, words told from products of letters."""

import re
from itertools import pairwise

from assay.verifiers.maths import vocabulary as words
from assay.verifiers.maths.building import number
from assay.verifiers.maths.nodes import Constant, KnownSet, Named, Node
from assay.verifiers.maths.tokens import Kind, Token, Unfamiliar, Unreadable
from assay.verifiers.maths.written_numbers import Style, scan_number

_VALUE = frozenset({Kind.NUMBER, Kind.LETTER, Kind.CONSTANT, Kind.CLOSE, Kind.GROUP_END, Kind.UNIT})
_BLANKS = re.compile(r"[ ~]+")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
_RUN = re.compile(r"[A-Za-z]+")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-z]+)\*?\}(?:\s*\{[lcr| ]*\})?")
_ROW = re.compile(r"\\\\\*?(?: *\[ *-?[0-9.]+ *(?:pt|em|ex|mu|mm|cm|in|pc|bp|sp) *\])?")
_WORDY = re.compile(r"[A-Za-z\s.,'\-/]*:?\s*")
_NO_WORDS = re.compile(r"~|\\(?:[,;:! ]|q?quad(?![A-Za-z])|\$|(?:pounds|euro|yen|rupee|cents)(?![A-Za-z]))")
_UNIT_POWER = re.compile(r"[23](?![0-9])")
_APPLIED = re.compile(r"(arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|ln|log)([a-z])")
_SIGNS = re.compile(r":=|==|<=|>=|!=|[=<>]")
_ARTICLE = re.compile(r" +[A-Za-z]{3,}")
_MOST_TOKENS = 6000


class Lexer:
    """Reads one text once."""

    def __init__(self, text: str, style: Style) -> None:
        self._text = text
        self._style = style
        self._at = 0
        self._apart = False
        self._depth = 0  # open brackets that may hold a list
        self._tokens: list[Token] = []

    def tokens(self) -> list[Token]:
        """Return all tokens, a STOP last. Raises Unreadable, and TooLong for a number that is."""
        while self._at < len(self._text):
            blank = _BLANKS.match(self._text, self._at)
            if blank is not None:
                self._at, self._apart = blank.end(), True
                continue
            self._step()
            if len(self._tokens) > _MOST_TOKENS:
                raise Unreadable("too many tokens")
        self._emit(Kind.STOP, "", 0)
        return self._tokens

    def _emit(self, kind: Kind, text: str, length: int, node: Node | None = None, *, is_integer: bool = False) -> None:
        self._tokens.append(Token(kind, str(text), self._apart, node, is_integer))
        self._at += length
        self._apart = False
        if kind is Kind.OPEN:
            self._depth += 1
        elif kind is Kind.CLOSE:
            self._depth = max(0, self._depth - 1)

    @property
    def _follows_value(self) -> bool:
        return bool(self._tokens) and self._tokens[-1].kind in _VALUE

    @property
    def _follows_unit_and_bar(self) -> bool:
        """Whether a unit and a fraction bar stand before: another unit is to come."""
        kinds = [(token.kind, token.text) for token in self._tokens[-2:]]
        return len(kinds) == 2 and kinds[0][0] is Kind.UNIT and kinds[1] == (Kind.OPERATOR, "/")

    @property
    def _follows_degrees(self) -> bool:
        """Whether a degree sign stands before, also in a group of its own."""
        last = [token.text for token in self._tokens[-2:]]
        return last[-1:] == ["deg"] or last == ["deg", "}"]

    def _step(self) -> None:
        character = self._text[self._at]
        if character.isascii() and (character.isdigit() or character == self._style.point) and self._number():
            return
        if character == "\\":
            self._command()
        elif character.isascii() and character.isalpha():
            self._run()
        else:
            self._sign(character)

    def _number(self) -> bool:
        found = scan_number(self._text, self._at, self._style, in_brackets=self._depth > 0)
        if found is None:
            return False
        text = self._text[self._at : found.end]
        self._emit(Kind.NUMBER, text, len(text), found.node, is_integer=found.is_integer)
        return True

    def _sign(self, character: str) -> None:
        relation = _SIGNS.match(self._text, self._at)
        after_letter = bool(self._tokens) and self._tokens[-1].kind is Kind.LETTER
        if relation is not None and (relation.group() != "!=" or after_letter):  # 5!=120 is a factorial
            self._emit(Kind.RELATION, words.SIGNS[relation.group()], len(relation.group()))
        elif self._text.startswith("...", self._at):
            self._emit(Kind.LETTER, "dots", 3)
        elif self._text.startswith("**", self._at):
            self._emit(Kind.OPERATOR, "^", 2)
        elif character == "$" or character == '"':
            self._at += 1
        elif character in "([":
            self._emit(Kind.OPEN, character, 1)
        elif character in ")]":
            self._emit(Kind.CLOSE, character, 1)
        elif character == "{":
            self._emit(Kind.GROUP, character, 1)
        elif character == "}":
            self._emit(Kind.GROUP_END, character, 1)
        elif character in ",;":
            self._emit(Kind.SEPARATOR, ",", 1)
        elif character == ":":
            self._emit(Kind.COLON, character, 1)
        elif character == "&":
            self._emit(Kind.CELL, character, 1)
        elif character in "+-*/^_!%|'":
            self._emit(Kind.OPERATOR, character, 1)
        else:
            raise Unreadable(f"{character!r} has no meaning here")

    def _command(self) -> None:
        environment = _ENVIRONMENT.match(self._text, self._at)
        if environment is not None:
            kind = Kind.BEGIN if environment.group(1) == "begin" else Kind.END
            self._emit(kind, environment.group(2), len(environment.group()))
            return
        row = _ROW.match(self._text, self._at)
        if row is not None:
            self._emit(Kind.SEPARATOR, "row", len(row.group()))
            return
        found = _COMMAND.match(self._text, self._at)
        name = found.group(1) if found else self._text[self._at + 1 : self._at + 2]
        length = len(found.group()) if found else 2
        name = words.ALIASES.get(name, name)
        if name in words.WRITTEN_OUT or name in words.UPRIGHT or name == "mathbb":
            self._group_of_words(name, length)
        elif name in words.SKIPPED or name in words.CURRENCY:
            self._skip(name, length)
        elif name in words.SKIPPED_WITH_ARGUMENT:
            _, self._at = self._argument(self._at + length)
        else:
            self._named(name, length)

    def _skip(self, name: str, length: int) -> None:
        self._at += length
        self._apart = self._apart or name in {",", ";", ":", " ", "quad", "qquad", "thinspace"}
        if name in {"left", "right"} and self._text.startswith(".", self._at):
            self._at += 1

    def _named(self, name: str, length: int) -> None:
        """Emit a command by what its name stands for."""
        name = words.VARIANTS.get(name, name)
        if name in words.STRUCTURES:
            self._emit(Kind.COMMAND, name, length)
        elif name in words.OPERATORS:
            self._emit(Kind.OPERATOR, words.OPERATORS[name], length)
        elif name in words.SIGNS:
            self._emit(Kind.RELATION, words.SIGNS[name], length)
        elif name in words.COMBINATIONS:
            self._emit(Kind.COMBINATION, words.COMBINATIONS[name], length)
        elif name in words.OPENING:
            self._emit(Kind.OPEN, words.OPENING[name], length)
        elif name in words.CLOSING:
            self._emit(Kind.CLOSE, words.CLOSING[name], length)
        elif name in words.SEPARATORS:
            self._emit(Kind.SEPARATOR, words.SEPARATORS[name], length)
        elif name == "colon":
            self._emit(Kind.COLON, ":", length)
        elif name in words.KNOWN_SETS:
            self._emit(Kind.KNOWN_SET, name, length, KnownSet(words.KNOWN_SETS[name]))
        elif name in words.CONSTANTS:
            self._emit(Kind.CONSTANT, name, length, Constant(words.CONSTANTS[name]))
        elif name in words.FUNCTIONS:
            self._emit(Kind.FUNCTION, name, length)
        elif name in words.GREEK or name == "dots":
            self._emit(Kind.LETTER, name, length)
        else:
            raise Unfamiliar(f"the command \\{name} is not known")

    def _argument(self, at: int) -> tuple[str, int]:
        """Return the content of the group at `at`, and where it ends. Raises Unreadable if it does not."""
        start = _BLANKS.match(self._text, at)
        at = start.end() if start else at
        if not self._text.startswith("{", at):
            return self._text[at : at + 1], at + 1
        depth = 0
        for brace in re.finditer(r"\\.|[{}]", self._text[at:]):
            depth += {"{": 1, "}": -1}.get(brace.group(), 0)
            if depth == 0:
                return self._text[at + 1 : at + brace.start()], at + brace.end()
        raise Unreadable("a group does not end")

    def _group_of_words(self, command: str, length: int) -> None:
        written, end = self._argument(self._at + length)
        content = _NO_WORDS.sub(" ", written)
        inner = content.strip()
        self._apart = self._apart or written.startswith(("~", "\\"))
        if command == "mathbb":
            if inner not in words.KNOWN_SETS:
                raise Unreadable(f"the set {inner!r} is not known")
            self._emit(Kind.KNOWN_SET, inner, end - self._at, KnownSet(words.KNOWN_SETS[inner]))
        elif inner == "\\%":
            self._emit(Kind.OPERATOR, "%", end - self._at)
        elif self._is_name(command, inner, end):
            self._at = end
            self._word(inner, 0, is_upright=True)
        elif not _WORDY.fullmatch(content):
            self._at += length  # mathematics in another face: its group is read as it stands
        elif inner:
            self._phrase(inner, end)
        else:
            self._at, self._apart = end, True

    def _is_name(self, command: str, inner: str, end: int) -> bool:
        """Whether a group in another face is the name of a function or a variable."""
        if command in words.UPRIGHT:
            return inner in words.FUNCTIONS or (len(inner) == 1 and inner.isalpha())
        return inner in words.FUNCTIONS and self._text.startswith("(", end)

    def _phrase(self, inner: str, end: int) -> None:
        """Emit words that were marked as such."""
        folded = inner.strip(",. ").lower()
        self._apart = True
        if not folded or folded in words.SEPARATORS:
            self._emit(Kind.SEPARATOR, words.SEPARATORS.get(folded, ","), end - self._at)
        elif " " not in folded and (len(inner) == 1 or folded in words.SCALES or folded in {"percent", "degrees"}):
            self._at = end
            self._word(inner, 0)
        else:
            self._emit(Kind.UNIT if self._follows_value else Kind.WORD, inner, end - self._at)

    def _run(self) -> None:
        """Read a run of letters outside a command."""
        found = _RUN.match(self._text, self._at)
        assert found is not None
        name = found.group()
        applied = _APPLIED.fullmatch(name)
        if applied is not None and name not in words.FUNCTIONS:
            self._emit(Kind.FUNCTION, applied.group(1), len(applied.group(1)))
            self._emit(Kind.LETTER, applied.group(2), 1)
            return
        self._word(name, len(name))

    def _word(self, name: str, length: int, *, is_upright: bool = False) -> None:
        """Emit a word by what it stands for, given what stands before it."""
        folded = name.lower()
        if self._is_unit(name, folded, length):
            power = _UNIT_POWER.match(self._text, self._at + length) if length else None
            self._emit(Kind.UNIT, name, length + (1 if power else 0))
        elif folded in words.SCALES and self._follows_value:
            self._emit(Kind.OPERATOR, "*", length)
            self._emit(Kind.NUMBER, name, 0, number(words.SCALES[folded]), is_integer=True)
        elif folded in {"percent", "pct"}:
            self._emit(Kind.OPERATOR, "%", length)
        elif folded in {"degree", "degrees", "deg"}:
            self._emit(Kind.OPERATOR, "deg", length)
        elif folded in {"and", "or"}:
            self._emit(Kind.SEPARATOR, folded, length)
        elif folded == "mod":
            self._emit(Kind.OPERATOR, "mod", length)
        elif name in words.FUNCTIONS:
            self._emit(Kind.FUNCTION, name, length)
        elif folded in words.CONSTANTS and folded != "imath":
            self._emit(Kind.CONSTANT, folded, length, Constant(words.CONSTANTS[folded]))
        elif name in words.GREEK or (is_upright and len(name) == 1):
            self._letter(name, length)
        else:
            self._letters(name, length)

    def _is_unit(self, name: str, folded: str, length: int) -> bool:
        """Whether a word counts as a unit here: it stands behind a value and is not the name of a function call."""
        if folded in words.SCALES or self._text.startswith("(", self._at + length):
            return False
        if name in words.TEMPERATURES and self._follows_degrees:
            return self._ends_item(self._at + length)
        if not self._follows_value and not self._follows_unit_and_bar:
            return False
        if len(name) == 1:
            is_marked = not length and self._apart
            number_before = self._tokens[-1].kind is Kind.NUMBER and self._apart
            is_behind = number_before or is_marked or self._follows_unit_and_bar
            return name in words.UNIT_LETTERS and is_behind and self._ends_item(self._at + length)
        if name in words.FUNCTIONS and not self._ends_item(self._at + length):
            return False
        return folded in words.UNITS

    def _ends_item(self, at: int) -> bool:
        rest = self._text[at : at + 8].lstrip(" ")
        return not rest or rest[0] in "^/,;)]}.$" or rest.startswith(("\\}", "\\text", "\\mathrm"))

    def _letter(self, name: str, length: int) -> None:
        constant = {"e": Named.E, "i": Named.I}.get(name)
        if constant is None:
            self._emit(Kind.LETTER, name, length)
        else:
            self._emit(Kind.CONSTANT, name, length, Constant(constant))

    def _letters(self, name: str, length: int) -> None:
        """Emit a run of letters: a product, or a word."""
        article = name in ("a", "A") and _ARTICLE.match(self._text, self._at + length) is not None
        if article or (len(name) > 1 and (not length or not is_product(name))):
            self._emit(Kind.UNIT if self._follows_value and length else Kind.WORD, name, length)
            return
        if len(name) == 1:
            self._letter(name, length)
            return
        for letter in name:
            self._letter(letter, 1)


def is_product(name: str) -> bool:
    """Whether a run of letters is read as a product: one or two of them, or more in alphabetical order side by side."""
    if len(name) <= 2:
        return name.lower() not in words.SHORT_WORDS
    steps = [ord(after) - ord(before) for before, after in pairwise(name)]
    return name.islower() and len(name) <= 5 and all(step in (1, 2) for step in steps)
