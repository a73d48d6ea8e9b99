"""Final answers to mathematics normalised as strings, as Minerva's evaluation did and verl's DAPO reward does."""

import re

_CUTS = ("an ", "a ")  # inside words too
_REWRITES = ((".$", "$"), ("\\$", ""), ("\\ ", ""), (" ", ""), ("mbox", "text"))
_JOINS = ((",\\text{and}", ","), ("\\text{and}", ","), ("\\text{m}", "\\text{}"))
_UNITS = (
    *("square", "ways", "integers", "dollars", "mph", "inches", "hours", "km", "units", "\\ldots", "sue", "points"),
    *("feet", "minutes", "digits", "cents", "degrees", "cm", "gm", "pounds", "meters", "meals", "edges", "students"),
    *("childrentickets", "multiples"),
)
_LATEX = (
    *("\\text{s}", "\\text{.}", "\\text{\ns}", "\\text{}^2", "\\text{}^3", "\\text{\n}", "\\text{}", "\\mathrm{th}"),
    *("^\\circ", "^{\\circ}", "\\;", ",\\!", "{,}", '"', "\\dots"),
)
_FRACTION = re.compile(r"frac([^{])(.)")
_ROOT = re.compile(r"sqrt([^{])")


def minerva(answer: str) -> str:
    """Return the normal form of a final answer.

    What stands before the last `=` goes; so do articles, blanks, unit words (inches equal feet), dollar signs and
    text wrappers; short fractions and roots get their braces; commas go in pure digit strings only.
    Source: Lewkowycz et al., arXiv 2206.14858, appendix D.1; volcengine/verl@b178a3c reward_score/math_dapo.py.
    """
    text = answer.rpartition("=")[2]
    for cut in _CUTS:
        text = text.replace(cut, "")
    for before, after in (*_REWRITES, *_JOINS):
        text = text.replace(before, after)
    for word in (*_UNITS, *_LATEX):
        text = text.replace(word, "")
    return digits(braced(unwrapped(text)))


def unwrapped(text: str) -> str:
    """Return the text inside the first pair of dollar signs, if there is one, without wrappers and dollar signs."""
    before, dollar, rest = text.partition("$")
    inside, closed, _ = rest.partition("$")
    text = inside if closed else before + dollar + rest
    for wrapper in ("\\text{", "\\textbf{", "\\overline{"):
        text = _peel(text, wrapper)
    start, end = text.find("\\boxed{"), text.rfind("}")
    if 0 <= start < end:
        text = text[:start] + text[start + len("\\boxed{") : end] + text[end + 1 :]
    return text


def braced(text: str) -> str:
    """Return the text with braces around the arguments of short fractions and roots, and without dollar signs."""
    return _ROOT.sub(r"sqrt{\1}", _FRACTION.sub(r"frac{\1}{\2}", text)).replace("$", "")


def digits(text: str) -> str:
    """Return the text trimmed, and without commas if it is nothing but digits and commas."""
    bare = text.replace(",", "")
    return bare if bare.isdigit() else text.strip()


def _peel(text: str, wrapper: str) -> str:
    """Return the text without each wrapper and the closing brace that follows next; an open one ends the search."""
    pieces = []
    at = 0
    while (start := text.find(wrapper, at)) >= 0 and (end := text.find("}", start)) >= 0:
        pieces += [text[at:start], text[start + len(wrapper) : end]]
        at = end + 1
    return "".join([*pieces, text[at:]])
