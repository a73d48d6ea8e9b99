"""Reading a completion as text: reasoning dropped, fenced blocks found. Pure, linear in the length, nothing compiled.

Which of the blocks counts depends on what they define, which only a parser can tell: `assay.verifiers.split.assembly`
decides that inside the jail.
"""

import re
from dataclasses import dataclass

_OPENING = re.compile(r"\s*<(?:think|thinking)>", re.IGNORECASE)
_CLOSING = re.compile(r"</(?:think|thinking)>", re.IGNORECASE)
_CLOSING_LINE = re.compile(r"^[ \t]*</(?:think|thinking)>[ \t]*$", re.IGNORECASE | re.MULTILINE)
_REASONING_TAG = re.compile(r"<(/?)(?:think|thinking)>", re.IGNORECASE)
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^`]*)")
PYTHON_TAG = re.compile(r"(?:python|py)[\d.]*", re.IGNORECASE)
"""Tags of fenced blocks that hold Python."""
_TAG = re.compile(r"[\s{.]*([^\s{},:;]*)")
_SHALLOW = 3  # columns; deeper is the inside of a list item, or of a docstring


@dataclass(frozen=True)
class Block:
    """One fenced block; `tagged` says that its tag names the language, otherwise it has no tag."""

    code: str
    tagged: bool


@dataclass(frozen=True)
class Reading:
    """A completion taken apart: `text` without reasoning, and its blocks in order, other languages left out.

    `deep` holds the blocks found when fences may be indented by any amount; it serves where `blocks` is empty.
    `fenced` says that `text` holds a fence of any language.
    """

    text: str
    blocks: tuple[Block, ...]
    deep: tuple[Block, ...]
    fenced: bool

    @property
    def is_blank(self) -> bool:
        """Whether nothing is left that could be a program."""
        return not self.text.strip()


def read_completion(completion: str, tag: re.Pattern[str] = PYTHON_TAG) -> Reading:
    """Take `completion` apart; `tag` matches the tags of the language that counts. Linear in its length."""
    text = completion.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = _drop_reasoning(text).split("\n")
    blocks, fenced, end = _find_blocks(lines, _SHALLOW, tag)
    deep, deep_fenced, _ = _find_blocks(lines, None, tag)
    if not fenced and deep_fenced:
        return Reading("\n".join(lines[:end]), (), deep, fenced=False)
    return Reading("\n".join(lines[:end]), blocks, deep, fenced)


def without_reasoning(text: str) -> str:
    """Return `text` without its blocks <think> or <thinking>, wherever they stand. Never raises; linear.

    A block runs to the next closing tag; one that nothing closes takes all that follows, and a closing tag that nothing
    opens all that is before it: prompts may hold the opening one.
    """
    kept: list[str] = []
    at, is_open = 0, False
    for tag in _REASONING_TAG.finditer(text):
        if tag.group(1):
            kept = kept if is_open else []
            at, is_open = tag.end(), False
        elif not is_open:
            kept.append(text[at : tag.start()])
            is_open = True
    return "".join(kept) if is_open else "".join((*kept, text[at:]))


def _drop_reasoning(text: str) -> str:
    position = 0
    while opening := _OPENING.match(text, position):
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            return ""
        position = closing.end()
    for closing in _CLOSING_LINE.finditer(text, position):
        position = closing.end()
    rest = text[position:] if position else text
    return rest.lstrip("\n") if position else rest


@dataclass
class _Open:
    indent: str
    width: int
    ticks: str
    tag: str
    line: int


def _find_blocks(lines: list[str], deepest: int | None, tag: re.Pattern[str]) -> tuple[tuple[Block, ...], bool, int]:
    """Return the language's and the untagged blocks, whether any fence was met, and where the text ends (see below)."""
    found: list[tuple[Block, bool]] = []
    fenced = False
    current: _Open | None = None
    for number, line in enumerate(lines):
        match = _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None
        if match is None:
            continue
        indent, ticks, info = match.groups()
        width = len(indent.expandtabs(4))
        if current is None:
            if (deepest is None or width <= deepest) and _opens(ticks, info):
                current = _Open(indent, width, ticks, info.strip(), number)
        elif ticks.startswith(current.ticks) and not info.strip() and width <= current.width + _SHALLOW:
            _add(found, lines, current, number, tag)
            fenced, current = True, None
    end = len(lines)
    if current is not None:
        if any(line.strip() for line in lines[current.line + 1 :]):
            _add(found, lines, current, len(lines), tag)
            fenced = True
        else:
            end = current.line  # a lone empty fence at the end is no block: it only closes the text
    kept = [block for block, known in found if known]
    filled = [block for block in kept if block.code.strip()]
    return tuple(filled or kept), fenced, end


def _opens(ticks: str, info: str) -> bool:
    """Whether a fence opens a block; of tildes it needs a tag: without one they underline a heading in a docstring."""
    return ticks.startswith("`") or (bool(info.strip()) and "~" not in info)


def _add(found: list[tuple[Block, bool]], lines: list[str], opened: _Open, end: int, tag: re.Pattern[str]) -> None:
    name = named.group(1) if (named := _TAG.match(opened.tag)) else ""
    tagged = tag.fullmatch(name) is not None
    code = "\n".join(_dedent(line, opened) for line in lines[opened.line + 1 : end]).removeprefix("\ufeff")
    found.append((Block(code + "\n" if code else "", tagged), tagged or not opened.tag))


def _dedent(line: str, opened: _Open) -> str:
    if not opened.indent or line.startswith(opened.indent):
        return line[len(opened.indent) :]
    stripped = line.lstrip(" ")
    return line[min(len(line) - len(stripped), opened.width) :]
