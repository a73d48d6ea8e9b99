"""Which text of a completion is its program, where the language is not Python. Pure, linear in the length."""

import re

from assay.verifiers.extraction import Block, read_completion
from assay.verifiers.languages.table import Language


def read_program(completion: str, language: Language, *, fence_required: bool) -> str | None:
    """Return the last fenced block that is tagged with the language, else the last untagged one, else the whole text.

    None if there is no answer: nothing but reasoning, no block where one is required, or blocks of other languages.
    """
    names = "|".join(re.escape(name) for name in (language.name, *language.tags))
    reading = read_completion(completion, re.compile(names, re.IGNORECASE))
    if reading.is_blank:
        return None
    blocks = reading.blocks or reading.deep
    if blocks:
        return _last(blocks)
    return None if fence_required or reading.fenced else reading.text


def _last(blocks: tuple[Block, ...]) -> str:
    tagged = [block.code for block in blocks if block.tagged]
    return tagged[-1] if tagged else blocks[-1].code
