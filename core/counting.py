"""Numbers of things in messages for people."""


def counted(number: int, noun: str) -> str:
    """Return `1 attempt`, `2 attempts`: the noun, given in the singular, takes an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
