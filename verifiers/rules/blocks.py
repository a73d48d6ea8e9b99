"""Tagged blocks in a completion, such as `<answer>...</answer>`: found by plain search, in linear time."""

from collections.abc import Iterator


def blocks(text: str, tag: str) -> Iterator[str]:
    """Yield the content of each block of that tag, outermost text as it stands, first to last.

    A block runs from an opening tag to the next closing tag; an opening tag inside it belongs to its content.
    """
    opening, closing = f"<{tag}>", f"</{tag}>"
    at = 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            return
        yield text[start + len(opening) : end]
        at = end + len(closing)


def open_block(text: str, tag: str) -> str | None:
    """Return what follows the last opening tag where no block of that tag is closed, or None: cut or stopped texts.

    Servers that stop at a closing tag leave it out. Published layouts know no such block.
    """
    _, opened, rest = text.rpartition(f"<{tag}>")
    return rest if opened and f"</{tag}>" not in text else None


def first_block(text: str, tag: str) -> str | None:
    """Return the content of the first block of that tag, or None."""
    return next(blocks(text, tag), None)


def last_block(text: str, tag: str) -> str | None:
    """Return the content of the last block of that tag, or None."""
    last = None
    for last in blocks(text, tag):  # noqa: B007 - the last one is what is wanted
        pass
    return last
