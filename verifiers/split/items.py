"""In the oracle: items of the candidate's iterators, one at a time until many are wanted."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any  # items are of every type

from assay.verifiers.split import faults
from assay.verifiers.split.wire import Ask, Iteration, ProtocolError

_BATCH = 256
_CALM = 32  # single items after which a loop gets them in batches


@dataclass
class _Supply:
    """What is known about one iterator."""

    items: deque[Any] = field(default_factory=deque)
    ending: tuple[Any, Any] | None = None
    """How it went on after the items: state and value."""
    taken: int = 0


class Items:
    """Fetches items ahead only where nobody can tell: all are wanted, or very many have been taken one by one."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask
        self._supplies: dict[int, _Supply] = {}

    def next_item(self, handle: int, *, eager: bool) -> Any:
        """Return the next item; with `eager`, only note that all are wanted. Raises StopIteration."""
        supply = self._supplies.setdefault(handle, _Supply())
        if eager:
            supply.taken = _CALM
            return None
        if not supply.items and supply.ending is None:
            self._fetch(handle, supply)
        if supply.items:
            return supply.items.popleft()
        assert supply.ending is not None
        state, value = supply.ending
        if state == Iteration.ENDED:
            raise StopIteration(value)
        supply.ending = None
        raise faults.raisable(value)

    def _fetch(self, handle: int, supply: _Supply) -> None:
        supply.taken += 1
        answer = self._ask(Ask.NEXT, handle, _BATCH if supply.taken > _CALM else 1)
        if type(answer) is not list or len(answer) != 3 or type(answer[0]) is not list:
            raise ProtocolError("items of an unknown form")
        items, state, value = answer
        supply.items.extend(items)
        if state != Iteration.MORE or not items:
            supply.ending = (state, value)
