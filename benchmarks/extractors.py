"""Finds the hostile megabyte that takes each rule longest: every kind, format and profile, in milliseconds of CPU.

Tasks are the examples of the verifiers' schemas, as they stand, with each published profile, and with each value of
every option that has a closed choice; `instructions` with each of its checks; some more that examples do not show.
Texts are a megabyte of one fragment, of several in turn or at random, bare and where a rule looks for an answer.
`math` is asked for its reading only: an answer that would need a process counts up to there.

.venv/bin/python benchmarks/extractors.py [--only VERIFIER ...] [--frames 0.2] [--above-ms 100] [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin  # Any: annotations of fields

from hostile_texts import MORE, Document, instruction_checks, texts

from assay.cli.local import builtin_registry
from assay.errors import InvalidRequest, SandboxFault, TaskFault
from assay.sandboxes.nowhere import Nowhere
from assay.schema import TaskBase
from assay.verifiers.registry import Registry, profiles_of


@dataclass
class Slowest:
    """The text that takes a task longest so far."""

    name: str
    task: TaskBase
    text: str = ""
    took_ms: float = 0.0


def main() -> None:
    """Measure and print everything."""
    arguments = _arguments()
    registry = builtin_registry()
    measured = [Slowest(name, task) for name, task in tasks(registry, arguments.only or _rules(registry))]
    for slowest in measured:
        took_ms(registry, slowest.task, "a")  # some load a library for their first attempt
    for name, text in texts(arguments.frames):
        for slowest in measured:
            _measure(registry, slowest, name, text)
    measured.sort(key=lambda one: -one.took_ms)
    for slowest in measured:
        print(f"{slowest.took_ms:7.1f} ms  {slowest.name}: {slowest.text}", flush=True)
    over = sum(slowest.took_ms > arguments.above_ms for slowest in measured)
    print(f"{len(measured)} kinds of tasks, {over} of them over {arguments.above_ms:g} ms for some megabyte")
    if arguments.json is not None:
        figures = {slowest.name: {"ms": slowest.took_ms, "text": slowest.text} for slowest in measured}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def tasks(registry: Registry, wanted: Sequence[str]) -> Iterator[tuple[str, TaskBase]]:
    """Yield every kind of task that a rule, or `math`, judges, by a name that tells it."""
    seen: set[str] = set()
    for document in _documents(registry, wanted):
        try:
            task = registry.parse_task({"id": "t", **document})
        except InvalidRequest:
            continue  # an option that does not go with this example
        if task.content_hash() not in seen and not task.asks_models():
            seen.add(task.content_hash())
            yield json.dumps({**document, "id": "t"})[:160], task


def took_ms(registry: Registry, task: TaskBase, text: str) -> float:
    """Return the CPU milliseconds that judging takes, up to where a process would start."""
    started = time.process_time()
    with suppress(SandboxFault, TaskFault):  # a process was wanted, or the option does not go with the example
        registry.get(task.verifier).judge(task, text, Nowhere())
    return 1000 * (time.process_time() - started)


def _measure(registry: Registry, slowest: Slowest, name: str, text: str) -> None:
    took = took_ms(registry, slowest.task, text)
    if took > slowest.took_ms:  # once more: the machine may have been busy
        took = min(took, took_ms(registry, slowest.task, text))
    if took > slowest.took_ms:
        slowest.text, slowest.took_ms = name, took


def _rules(registry: Registry) -> Sequence[str]:
    """Return the verifiers that start no process for their first example, and math."""
    examples = {name: next(_examples(registry, name), None) for name in registry.names}
    return [
        name
        for name, example in examples.items()
        if name == "math" or (example is not None and not registry.parse_task(example).runs_something())
    ]


def _examples(registry: Registry, name: str) -> Iterator[Document]:
    extra = registry.get(name).task_model.model_config.get("json_schema_extra")
    for example in extra.get("examples", ()) if isinstance(extra, dict) else ():
        assert isinstance(example, dict)
        yield example


def _documents(registry: Registry, wanted: Sequence[str]) -> Iterator[Document]:
    for name in wanted:
        model = registry.get(name).task_model
        for example in _examples(registry, name):
            yield example
            yield from ({**example, "profile": profile} for profile in profiles_of(registry.get(name)))
            for field, info in model.model_fields.items():
                yield from ({**example, field: value} for value in _choices(info.annotation))
    yield from (document for document in (*instruction_checks(), *MORE) if document["verifier"] in wanted)


def _choices(annotation: Any) -> Iterator[object]:
    """Yield the values of an option that has a closed choice."""
    if annotation is bool:
        yield from (False, True)
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (str(member.value) for member in annotation)
    elif get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        for part in get_args(annotation):
            yield from _choices(part)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", metavar="VERIFIER", help="verifiers; default: all that run nothing, and math"
    )
    parser.add_argument("--frames", type=float, default=0.2, help="share of the places that each filling is put in")
    parser.add_argument("--above-ms", type=float, default=100.0, help="count the tasks that take longer")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
