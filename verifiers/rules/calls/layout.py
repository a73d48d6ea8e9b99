"""The layout that ToolRL asks of a completion."""

_CALLS = ("<tool_call>\n", "\n</tool_call>")
_RESPONSE = ("<response>", "</response>")


def has_layout(text: str, calls: bool, response: bool) -> bool:
    """Whether the text is a think block and then, each on a new line, the blocks that are expected, once each.

    ToolRL's patterns, matched across lines, in linear time; bodies may hold anything else.
    """
    expected = [block for block, wanted in ((_CALLS, calls), (_RESPONSE, response)) if wanted]
    if not text.startswith("<think>"):
        return False
    if not expected:
        return text.endswith("</think>") and len(text) >= len("<think></think>")
    for opening, closing in expected:
        if text.count(opening.strip()) != 1 or text.count(closing.strip()) != 1:
            return False
    return _in_order(text, expected)


def _in_order(text: str, expected: list[tuple[str, str]]) -> bool:
    """Whether the blocks stand behind one another, from a closed think block to the end of the text."""
    at = text.find(expected[0][0])
    if not text.endswith("</think>\n", len("<think>"), max(at, 0)):
        return False
    for opening, closing in expected:
        if not text.startswith(opening, at):
            return False
        end = text.find(closing, at + len(opening))
        if end < 0:
            return False
        at = end + len(closing) + 1
        if at <= len(text) and text[at - 1 : at] != "\n":
            return False
    return at == len(text) + 1
