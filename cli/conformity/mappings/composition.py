"""Families of rewards that are made of several, and of those that compare a group."""

from collections.abc import Mapping

from assay.cli.conformity.judging import Judge, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping
from assay.cli.inputs import Batch
from assay.cli.local import build_jobs
from assay.errors import InvalidRequest
from assay.schema import BatchOptions
from assay.settings import Settings


def _document(task: Document) -> Document:
    return {"verifier": "composite", **task}


def _check_group(line: FamilyLine, judge: Judge) -> list[str]:
    """Judge all completions of a line as one group; compare `rewards`, and what `components` lists of each term."""
    completions: list[str] = line.completion
    attempts = tuple({"task_id": line.id, "completion": completion} for completion in completions)
    batch = Batch(({"id": line.id, **_document(line.task)},), attempts)
    try:
        jobs = build_jobs(judge.scorer.registry, batch, Settings())
    except InvalidRequest as error:
        return [f"{error.path}: {error.detail}"]
    results = sorted(judge.scorer.score(jobs, BatchOptions(cache=False)), key=lambda result: result.index)
    columns = {"reward": [result.reward for result in results]}
    wanted = {"reward": line.expected["rewards"], **line.expected.get("components", {})}
    for name in wanted.keys() - columns.keys():
        columns[name] = [result.terms.get(name) for result in results]
    return [
        f"{name}: expected {values}, got {columns[name]}"
        for name, values in wanted.items()
        if len(values) != len(results) or not all(map(agree, values, columns[name]))
    ]


FAMILIES: Mapping[str, Check] = {"composite": FamilyMapping(_document), "group": _check_group}
"""By the name of the family."""
