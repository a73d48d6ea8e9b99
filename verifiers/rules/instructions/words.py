"""Words, sentences and marked places in a text, counted in linear time."""

import re
from itertools import islice

_WORD = re.compile(r"\w+")
_CAPITALS = re.compile(r"\b[A-Z]+\b")
_SPOKEN = re.compile(r"\w\S*")
_BOUNDARY = re.compile(r"[.?!](?<!\w\.\w.)(?<![A-Z][a-z]\.)\s")
_END = re.compile(r"(?:[.?!\u3002\uff01\uff1f])(?<!\w\.\w.)(?<![A-Z][a-z]\.)[\"'\u2019\u201d)\]]{0,3}(?:\s+|$)")

_NOT_SENTENCE = re.compile(r"[^\w\s.?!\u3002\uff01\uff1f\"'\u2019\u201d)\]]+")


def words(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores, lower-cased."""
    return _WORD.findall(text.lower())


def spoken_words(text: str) -> int:
    """Return how many pieces between white space hold a letter or a digit."""
    return len(_SPOKEN.findall(text))


def sentence_breaks(text: str) -> int:
    """Return how often a full stop, question or exclamation mark and white space end a sentence.

    Not behind initials such as `e.g.` and titles such as `Mr.`, as open-instruct's pattern has it.
    """
    return len(_BOUNDARY.findall(text))


def sentences(text: str) -> int:
    """Return the number of sentences that hold a word, closing quotes and full-width marks minded."""
    plain = _NOT_SENTENCE.sub("", text)
    return sum(1 for piece in _END.split(plain) if piece and not piece.isspace())


def occurrences(text: str, phrase: str, most: int = 1) -> int:
    """Return how often a phrase occurs, `most` at most, in any case, with no letter or digit right before or behind."""
    sought = re.escape(phrase.lower())
    # The phrase comes first: what begins with a text is found faster than what begins with a condition.
    before = rf"(?<!\w{sought})" if _is_word(phrase[0]) else ""
    behind = r"(?!\w)" if _is_word(phrase[-1]) else ""
    return sum(1 for _ in islice(re.finditer(sought + before + behind, text.lower()), most))


def capital_words(text: str, *, ascii_only: bool) -> int:
    """Return how many words are all capitals."""
    if ascii_only:
        return len(_CAPITALS.findall(text))
    return sum(map(str.isupper, _WORD.findall(text)))


def spans(text: str, opening: str, closing: str) -> list[str]:
    """Return what stands between each opening mark and the next closing one on its line."""
    pattern = re.compile(f"{re.escape(opening)}(.*?){re.escape(closing)}")
    found: list[str] = []
    for line in text.split("\n"):
        if (end := line.rfind(closing)) >= 0:  # so that whatever is opened is closed, and nothing is searched twice
            found += pattern.findall(line, 0, end + len(closing))
    return found


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
