"""Text of completions and tasks, as lines for people show it: no control characters, of bounded length."""

MOST = 200


def on_a_line(text: str, most: int = MOST) -> str:
    """Return text that cannot steer a terminal: what is not printable is a space, and what is too long is cut."""
    head = text[: 4 * most]
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in head).split())
    return line if len(line) <= most and len(head) == len(text) else f"{line[:most]}..."


def printable(text: str) -> str:
    """Return text for a document: lines and tabs stay, other space is a blank, what else is not printable is U+FFFD.

    So it holds no controls, no half characters, and nothing that turns the direction of writing.
    """
    return "".join(_in_document(sign) for sign in text)


def _in_document(sign: str) -> str:
    if sign.isprintable() or sign in "\n\t":
        return sign
    return " " if sign.isspace() else "\ufffd"


def number(value: float | None) -> str:
    """Return a reward as people read it: `null`, or up to six digits."""
    try:
        return "null" if value is None else f"{value:.6g}"
    except OverflowError:  # an integer that no double holds
        return on_a_line(str(value))
