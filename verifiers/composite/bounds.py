"""What the rewards of a composite lie between, by what its parts and group terms do."""

import math
from typing import assert_never

from assay.standing import GroupKind
from assay.verifiers.composite.parts import TypedPart
from assay.verifiers.composite.task import CompositeTask
from assay.verifiers.groups import clip
from assay.verifiers.ranges import reward_range
from assay.verifiers.registry import Registry
from assay.verifiers.rules.rule import Termed

Bounds = tuple[float, float]


def reward_bounds(task: CompositeTask, registry: Registry) -> Bounds:
    """Return a reward that none is below, and one that none is above; infinite where a part's range is not known.

    A violation earns at most 0, whatever the parts and the clip allow.
    """
    columns = [_of_part(part, registry) for part in task.parts]
    columns += [_weighted(_of_group(GroupKind(one.kind)), task.weights.get(one.name, one.weight), is_sure=False)
                for one in task.group_terms]  # fmt: skip
    low, high = sum(low for low, _ in columns), sum(high for _, high in columns)
    least, most = task.clip or (None, None)
    return clip(low, least, most), clip(high, least, most)


def _of_part(part: TypedPart, registry: Registry) -> Bounds:
    verifier, spec = registry.get(part.spec.verifier), part.spec
    ranges: list[Bounds | None] = []
    for task in part.tasks.values():
        if spec.term is None:
            ranges.append(reward_range(verifier, task))
        elif isinstance(verifier, Termed):  # as it was found to be; a term that is lacking counts 0
            ranges += [(min(0.0, term.low), term.high) for term in verifier.terms(task) if term.name == spec.term]
    known = [one for one in ranges if one is not None]
    low, high = (-math.inf, math.inf)
    if known and len(known) == len(ranges):
        low, high = min(low for low, _ in known), max(high for _, high in known)
    bounds = spec.clip or (None, None)
    return _weighted((clip(low, *bounds), clip(high, *bounds)), part.weight, is_sure=spec.gate is None)


def _of_group(kind: GroupKind) -> Bounds:
    match kind:
        case GroupKind.RELATIVE_LENGTH:
            return -0.5, 0.5
        case GroupKind.MAJORITY | GroupKind.DUPLICATES:
            return 0.0, 1.0
        case _:
            assert_never(kind)


def _weighted(bounds: Bounds, weight: float, *, is_sure: bool) -> Bounds:
    """Return what comes into the sum; what is not sure to count may also bring nothing."""
    if weight == 0.0:
        return 0.0, 0.0
    low, high = sorted((weight * bounds[0], weight * bounds[1]))
    return (low, high) if is_sure else (min(low, 0.0), max(high, 0.0))
