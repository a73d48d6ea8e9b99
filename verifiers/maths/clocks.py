"""Times of day."""

from assay.verifiers.maths.nodes import Number, Ratio, Words


def are_same_time(gold: Ratio, answer: Ratio) -> bool:
    """Compare times of day; where one of them does not say which half of the day, the other one may."""
    plain = [tuple(part for part in one.parts if not isinstance(part, Words)) for one in (gold, answer)]
    halves = [any(isinstance(part, Words) for part in one.parts) for one in (gold, answer)]
    if halves[0] is not halves[1] and plain[0] == plain[1]:
        return True
    return _minutes(gold) == _minutes(answer)


def _minutes(time: Ratio) -> tuple[int, ...]:
    numbers = [int(part.value) for part in time.parts if isinstance(part, Number)]
    half = next((part.text for part in time.parts if isinstance(part, Words)), "")
    hour = numbers[0] % 12 + (12 if half == "pm" else 0) if half else numbers[0]
    return (hour, *numbers[1:], *([0] * (3 - len(numbers))))
