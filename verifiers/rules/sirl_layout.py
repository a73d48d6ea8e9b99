"""SIRL's layout: reasoning, model and program, each in its tags, judged by deductions."""

_COUNTED = (
    ("<think>", 1 / 8), ("</think>", 1 / 8), ("<model", 1 / 8), ("</model>", 1 / 8),
    ("<python>", 1 / 4), ("</python>", 1 / 4),
)  # fmt: skip
_ORDER = 1 / 3
_FULL = 2.0


def deduct(text: str) -> float:
    """Return half of 2 less deductions, between 0 and 1: SIRL's stage 1 (Cardinal-Operations/SIRL@8e85194).

    Deducted: 1/8 for each tag of reasoning and model that does not occur exactly once, 1/4 for each of the program, and
    1/3 for each fault of order. A tag that is not there counts as standing before the text, so that the empty text
    keeps 1/3. The opening tag of the model is found without its bracket.
    """
    places = [text.find(tag) for tag, _ in _COUNTED]
    return _value(text, _faults(places))


def hardened_deduct(text: str) -> float:
    """Return the same, but order is at fault too wherever a tag that it concerns is missing."""
    places = [text.find(tag) for tag, _ in _COUNTED]
    missing = [place < 0 for place in places]
    concerned = (missing[1:5], missing, missing[:5])
    return _value(text, [fault or any(gone) for fault, gone in zip(_faults(places), concerned, strict=True)])


def _faults(places: list[int]) -> list[bool]:
    """Whether the reasoning ends too late, any pair is reversed, the program starts too early."""
    ends_late = places[1] > min(places[2:5])
    reversed_pair = any(places[at] > places[at + 1] for at in (0, 2, 4))
    starts_early = places[4] <= max(places[:4])
    return [ends_late, reversed_pair, starts_early]


def _value(text: str, faults: list[bool]) -> float:
    miscounted = sum(deduction for tag, deduction in _COUNTED if text.count(tag) != 1)
    return max(0.0, 0.5 * (_FULL - miscounted - _ORDER * sum(faults)))
