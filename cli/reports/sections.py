"""What a report says, section by section, whatever its form: headings, tables and plots as plain data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.cli.reports.summary import GroupReport, Summary
from assay.cli.results.telling import number, on_a_line
from assay.counting import counted
from assay.outcomes import NULL_REWARD, Outcome

_BINS = 20
_MOST_ROWS = 50


@dataclass(frozen=True)
class Bars:
    """A plot: a length for each label; `is_histogram`: the labels are the edges of ranges."""

    labels: tuple[str, ...]
    values: tuple[float, ...]
    is_histogram: bool = False


@dataclass(frozen=True)
class Section:
    """A part of a report; cells are text of tasks and completions, which each form escapes in its own way."""

    title: str
    notes: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: Bars | None = None
    weights: tuple[float, ...] = ()
    """How long a bar beside each row is, where a form has no plots."""


def sections(summary: Summary, files: Sequence[str]) -> list[Section]:
    """Return what is to be said, in order; a section about nothing is left out, the first is always there."""
    parts = (_outcomes(summary), _rewards(summary), _groups(summary), _nulls(summary), _unstable(summary))
    return [_head(summary, files), *(part for part in (*parts, _slowest(summary)) if part is not None)]


def _head(summary: Summary, files: Sequence[str]) -> Section:
    scored, total = summary.scored, len(summary.rewards)
    mean = f"mean reward {float(np.mean(scored)):.4f}" if scored else "no rewards"
    share = f", {summary.outcomes[Outcome.PASSED] / len(scored):.1%} passed" if scored else ""
    nulls = f", {total - len(scored)} without a reward" if total > len(scored) else ""
    ran = f"{summary.run_s:.1f} s run in all" if summary.run_s else ""
    notes = (f"{counted(total, 'attempt')}: {mean}{share}{nulls}", f"from {', '.join(map(on_a_line, files))}", ran)
    return Section("Results", tuple(note for note in notes if note))


def _outcomes(summary: Summary) -> Section | None:
    told = summary.outcomes.most_common()
    if not told:
        return None
    total = summary.outcomes.total()
    rows = tuple((str(outcome), str(count), f"{count / total:.1%}") for outcome, count in told)
    bars = Bars(tuple(str(outcome) for outcome, _ in told), tuple(float(count) for _, count in told))
    return Section("Outcomes", (), ("outcome", "attempts", "share"), rows, bars, bars.values)


def _rewards(summary: Summary) -> Section | None:
    scored = summary.scored
    if not scored:
        return None
    counts, edges = _binned(scored)
    labels = tuple(number(float(edge)) for edge in edges)
    quantiles = np.quantile(scored, [0, 0.25, 0.5, 0.75, 1])
    note = "least, quartiles and most: " + ", ".join(number(float(value)) for value in quantiles)
    rows = tuple((f"{labels[place]} to {labels[place + 1]}", str(count)) for place, count in enumerate(counts) if count)
    bars = Bars(labels, tuple(map(float, counts)), is_histogram=True)
    weights = tuple(value for value in bars.values if value)
    return Section("Rewards", (note,), ("reward", "attempts"), rows, bars, weights)


def _binned(values: Sequence[float]) -> tuple[NDArray[np.int_], NDArray[np.float64]]:
    """Return how many values lie in each range, and the edges of the ranges: one, where values hardly differ."""
    least, most = min(values), max(values)
    return np.histogram(values, bins=_BINS if most - least > max(1e-9 * max(abs(least), abs(most)), 1e-300) else 1)


def _groups(summary: Summary) -> Section | None:
    groups = summary.groups()
    if not groups:
        return None
    shown = sorted(groups, key=lambda group: (group.rewards.mean is None, group.rewards.mean or 0.0))
    means = [group.rewards.mean for group in groups if group.rewards.mean is not None]
    bars = None
    if means:
        counts, edges = _binned(means)
        bars = Bars(tuple(number(float(edge)) for edge in edges), tuple(map(float, counts)), is_histogram=True)
    headers = ("group", "attempts", "rewards", "mean", "deviation (n)", "deviation (n - 1)", "passed")
    rows = tuple(_group_row(group) for group in shown[:_MOST_ROWS])
    return Section("Groups", tuple(_group_notes(groups, len(rows))), headers, rows, bars)


def _group_notes(groups: Sequence[GroupReport], shown: int) -> Iterator[str]:
    ties = sum(group.rewards.is_tie for group in groups)
    informative = sum(group.rewards.scored > 1 and not group.rewards.is_tie for group in groups)
    yield f"{counted(len(groups), 'group')} of several attempts; rewards differ in {informative}, are equal in {ties}"
    all_pass, all_fail = (sum(getattr(group.passes, name) for group in groups) for name in ("all_pass", "all_fail"))
    yield f"all attempts passed in {all_pass}, none in {all_fail}"
    if shown < len(groups):
        yield f"the {shown} of the lowest mean reward"


def _group_row(group: GroupReport) -> tuple[str, ...]:
    rewards, passed = group.rewards, group.passes.mean
    figures = (rewards.mean, rewards.population_deviation, rewards.sample_deviation)
    told = tuple("none" if value is None else f"{value:.4f}" for value in figures)
    share = "none" if passed is None else f"{passed:.0%}"
    *_, name = rewards.group if isinstance(rewards.group, tuple) else (rewards.group,)
    return (str(name), str(rewards.count), str(rewards.scored), *told, share)


def _nulls(summary: Summary) -> Section | None:
    if not summary.reasons:
        return None
    told = sorted(summary.reasons.items(), key=lambda pair: -pair[1].count)
    rows = tuple(
        (str(outcome), str(reason.count), _named(reason.first.task, reason.first.label), message)
        for (outcome, message), reason in told[:_MOST_ROWS]
    )
    more = len(told) - len(rows)
    ours = sum(summary.outcomes[outcome] for outcome in NULL_REWARD - {Outcome.TASK_ERROR, Outcome.CANCELLED})
    notes = [f"{counted(summary.outcomes[Outcome.TASK_ERROR], 'attempt')} for their tasks' faults, {ours} for ours"]
    notes += [f"{counted(more, 'rarer reason')} not shown"] if more else []
    return Section("Without a reward", tuple(notes), ("outcome", "attempts", "first", "message"), rows)


def _unstable(summary: Summary) -> Section | None:
    if not summary.unstable:
        return None
    rows = tuple(
        (_named(task, label), ", ".join(sorted(f"{outcome} {number(reward)}" for outcome, reward in verdicts)))
        for (task, label), verdicts in list(summary.unstable.items())[:_MOST_ROWS]
    )
    note = f"{counted(len(summary.unstable), 'completion')} judged more than once, with more than one verdict"
    return Section("Unstable", (note,), ("attempt", "verdicts"), rows)


def _slowest(summary: Summary) -> Section | None:
    rows = tuple(
        (_named(named.task, named.label), f"{named.run_s:.3f}", str(named.outcome)) for named in summary.slowest
    )
    return Section("Slowest", (), ("attempt", "seconds run", "outcome"), rows) if rows else None


def _named(task: str, label: str) -> str:
    return f"{task} attempt {label}"
