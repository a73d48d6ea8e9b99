"""In the oracle: containers that a test read from the completion, by an attribute or as a module's global.

They are copies. What the test changes in one of them (`stack.items.append(3)`, `solution.cache.clear()`) is
repeated on the completion's own container before the completion runs on.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any  # containers hold values of every type

from assay.verifiers.split import passing

_LENT = frozenset({list, dict, set, bytearray, deque})
_MOST = 8  # loans at a time: each is looked at whenever the completion is asked something


@dataclass
class _Loan:
    owner: Any
    name: str
    containers: list[Any]
    before: list[Any]


@dataclass(frozen=True)
class Amendment:
    """What a test changed in the container that `name` of `owner` (None: of the module) stands for."""

    owner: Any
    name: str
    changed: list[Any]
    known: dict[int, int]
    """The places of the containers that the changes refer to."""


class Loans:
    """What was lent since the completion last ran."""

    def __init__(self, list_containers: Callable[[Any], list[Any]]) -> None:
        self._list = list_containers
        self._loans: deque[_Loan] = deque(maxlen=_MOST)

    def lend(self, owner: Any, name: str, value: Any) -> Any:
        """Remember that a test now has a copy of this container; return it."""
        if type(value) in _LENT:
            containers = self._list(value)
            self._loans.append(_Loan(owner, name, containers, passing.snapshot(containers)))
        return value

    def amendments(self, *, forget: bool) -> list[Amendment]:
        """Return what the tests have changed, each change once; `forget` what was lent if the completion runs on."""
        found: list[Amendment] = []
        for loan in list(self._loans):
            changed = passing.changes(loan.containers, loan.before)
            if changed:
                known = {id(container): at for at, container in enumerate(loan.containers)}
                found.append(Amendment(loan.owner, loan.name, changed, known))
                loan.before = passing.snapshot(loan.containers)
        if forget:
            self._loans.clear()
        return found
