"""Wrong completions made from a right one. Pure, seeded by nothing: the same gold gives the same mutants.

Code is mutated at its operators, numbers and words, one place at a time, as in mutation testing (DeMillo, Lipton and
Sayward 1978, "Hints on test data selection"); of Python, all returns at once as well. An answer is replaced by one that
nobody gives. A mutant may by chance mean what the gold means: several are made, and one that passes proves nothing.
"""

import re
from collections.abc import Iterator

from assay.clients.formats.answers import last_box

_CODE = frozenset({"python", "stdio", "run", "calls", "execute", "program", "sql", "solver", "optimum", "kernel"})
"""Verifiers whose completions are programs."""
_WRONG = "-7919"
_TOKEN = re.compile(
    r"(?P<skipped>\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\#[^\n]*|//[^\n]*|/\*[\s\S]*?\*/)"
    r"|(?P<number>(?<![\w.])\d{1,300}(?![\w.]))|(?P<word>[A-Za-z_]\w*)|(?P<sign>[-+*/%<>=!&|^~:]+)"
)
_SWAPPED = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "+": "-", "-": "+", "*": "+", "+=": "-=",
    "-=": "+=", "&&": "||", "||": "&&", "and": "or", "or": "and", "True": "False", "False": "True", "true": "false",
    "false": "true", "min": "max", "max": "min",
}  # fmt: skip
_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_RETURN = re.compile(r"(?<![\w.])return[ \t]+(?=\S)")
_ANSWERS = (re.compile(r"<answer>(.*?)</answer>", re.DOTALL), re.compile(r"####\s*(\S.*)"))
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def mutants(gold: str, verifier: str, most: int) -> tuple[str, ...]:
    """Return up to `most` completions that differ from `gold`, none where nothing is known of how to spoil it."""
    if verifier in _CODE:
        fenced = [*_FENCE.finditer(gold)]
        start, end = fenced[-1].span(1) if fenced else (0, len(gold))
        found = [gold[:start] + code + gold[end:] for code in _of_code(gold[start:end], verifier, most)]
    else:
        found = [*_of_answer(gold)]
    return tuple(dict.fromkeys(text for text in found if text != gold))[:most]


def _of_code(code: str, verifier: str, most: int) -> Iterator[str]:
    is_python = verifier == "python"
    if is_python:
        yield _RETURN.sub("return None if True else ", code)
    places = [found for found in _TOKEN.finditer(code) if _instead(found) is not None]
    wanted = min(most, len(places))
    for turn in range(wanted):
        found = places[(2 * turn + 1) * len(places) // (2 * wanted)]
        yield f"{code[: found.start()]}{_instead(found)}{code[found.end() :]}"


def _instead(found: re.Match[str]) -> str | None:
    if found["number"]:
        return str(int(found["number"]) + 1)
    return _SWAPPED.get(found["word"] or found["sign"] or "")


def _of_answer(gold: str) -> Iterator[str]:
    """Yield the gold with its answer replaced: in a box, in a tag, behind `####`, or the last number; or all of it."""
    boxed = last_box(gold)
    if boxed is not None:
        start = gold.rfind(boxed, gold.rfind("\\boxed"))
        yield gold[:start] + _WRONG + gold[start + len(boxed) :]
        return
    for pattern in (*_ANSWERS, _NUMBER):
        found = [*pattern.finditer(gold)]
        if found:
            start, end = found[-1].span(1 if pattern.groups else 0)
            yield gold[:start] + _WRONG + gold[end:]
            return
    yield _WRONG
