"""From what a session found and a gate read to the record that results carry."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import asdict

from assay.details import LONGEST_NAME, MOST_NAMES, ArtifactRecord, Details, DeviceRecord, FunctionRecord, TimedShape
from assay.sandboxes.devices.interface import Form
from assay.verifiers.kernels.device_gate import CubinFacts
from assay.verifiers.kernels.findings import Finding, Measured, ShapeTimes
from assay.verifiers.kernels.native_gate import NativeFacts
from assay.verifiers.kernels.task import KernelTask

_DIGITS = 6

Facts = NativeFacts | CubinFacts | None
"""What a gate read; a module over torch passes none."""


def record_session(task: KernelTask, finding: Finding, device: DeviceRecord) -> Details:
    """Return what a session came to; sizes that are hidden are told by their index alone."""
    if not isinstance(finding, Measured):
        return Details(reference=task.reference.name, device=device)
    timed = [index for index, shape in enumerate(task.shapes) if shape.weight]
    shapes = tuple(_shape(task, index, times) for index, times in zip(timed, finding.shapes, strict=True))
    return Details(reference=task.reference.name, device=device, checked=finding.checked, shapes=shapes)


def record_artifact(form: Form, content: bytes, facts: Facts, mentioned: tuple[str, ...]) -> ArtifactRecord:
    """Return what is known of a compiled candidate."""
    told = ArtifactRecord(
        form=form, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content), mentions=mentioned
    )
    match facts:
        case NativeFacts():
            return told.model_copy(update=_native(facts))
        case CubinFacts():
            return told.model_copy(update=_cubin(facts))
        case None:
            return told


def _native(facts: NativeFacts) -> dict[str, object]:
    return {
        "image_bytes": facts.image_bytes,
        "needed": _names(facts.needed),
        "imports": _names(facts.imports),
        "exports": _names(facts.exports),
        "constructors": facts.constructors,
    }


def _cubin(facts: CubinFacts) -> dict[str, object]:
    kernels = (asdict(one) | {"name": one.name[:LONGEST_NAME]} for one in facts.kernels[:MOST_NAMES])
    return {
        "arch": f"sm_{facts.arch}",
        "global_bytes": facts.global_bytes,
        "constant_bytes": facts.constant_bytes,
        "kernels": tuple(map(FunctionRecord.model_validate, kernels)),
    }


def _shape(task: KernelTask, index: int, times: ShapeTimes) -> TimedShape:
    is_hidden = index >= len(task.public_shapes)
    figures = asdict(times) | ({} if times.speed is None else asdict(times.speed))
    known = {name: _plain(value) for name, value in figures.items() if name in TimedShape.model_fields}
    axes = None if is_hidden else dict(times.shape)
    return TimedShape.model_validate({**known, "index": index, "is_hidden": is_hidden, "axes": axes})


def _plain(value: object) -> object:
    """Return figures in six digits; None for those that no result may hold."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if not isinstance(value, float):
        return value
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(name[:LONGEST_NAME] for name in given)[:MOST_NAMES]
