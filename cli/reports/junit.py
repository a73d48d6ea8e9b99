"""Results as JUnit XML, as CI services read it: the schema of Jenkins' xunit plugin (junit-10.xsd).

A case is an attempt, a suite a file. `passed` passes, other numbers are failures, and what has no reward is an error;
what was cancelled is skipped.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.etree import ElementTree

from assay.cli.results.lines import ResultLine
from assay.cli.results.telling import number, printable
from assay.outcomes import Outcome, has_null_reward

_MOST_TEXT = 2000


@dataclass(frozen=True)
class Case:
    """An attempt as a report of tests shows it."""

    task: str
    label: str
    verifier: str
    outcome: Outcome
    reward: float | None
    message: str
    run_s: float

    @property
    def verdict(self) -> str | None:
        """The element that says how it ended; None if it passed."""
        if self.outcome is Outcome.PASSED and self.reward is not None:
            return None
        if self.outcome is Outcome.CANCELLED:
            return "skipped"
        return "error" if has_null_reward(self.outcome) or self.reward is None else "failure"


@dataclass
class Suite:
    """The attempts of a file."""

    name: str
    cases: list[Case] = field(default_factory=list)

    def add(self, line: ResultLine) -> None:
        """Add the case of a result."""
        message = line.message[:_MOST_TEXT]
        verifier = str(line.fields.get("verifier") or "")
        self.cases.append(Case(line.task, line.label, verifier, line.outcome, line.reward, message, line.run_s))


def write_junit(suites: Iterable[Suite], stream: BinaryIO) -> None:
    """Write the document."""
    root = ElementTree.Element("testsuites")
    totals: Counter[str] = Counter()
    for suite in suites:
        counts = Counter(case.verdict or "passed" for case in suite.cases)
        totals += counts
        element = ElementTree.SubElement(root, "testsuite", _text({"name": suite.name}) | _counts(counts))
        element.set("skipped", str(counts["skipped"]))
        element.set("time", f"{sum(case.run_s for case in suite.cases):.3f}")
        for case in suite.cases:
            _add_case(element, case)
    for name, value in {"name": "assay", **_counts(totals)}.items():
        root.set(name, value)
    ElementTree.ElementTree(root).write(stream, encoding="utf-8", xml_declaration=True)
    stream.write(b"\n")


def _add_case(suite: ElementTree.Element, case: Case) -> None:
    names = {"name": f"{case.task} attempt {case.label}", "classname": case.verifier or "assay"}
    element = ElementTree.SubElement(suite, "testcase", _text(names) | {"time": f"{case.run_s:.3f}"})
    if case.verdict is None:
        return
    said = f"{case.outcome}, reward {number(case.reward)}"
    if case.verdict == "skipped":
        ElementTree.SubElement(element, "skipped", _text({"message": said}))
        return
    verdict = ElementTree.SubElement(element, case.verdict, _text({"type": case.outcome, "message": said}))
    verdict.text = printable(case.message)


def _counts(counts: Counter[str]) -> dict[str, str]:
    return {
        "tests": str(counts.total()), "failures": str(counts["failure"]), "errors": str(counts["error"])
    }  # fmt: skip


def _text(values: dict[str, str]) -> dict[str, str]:
    return {name: printable(value) for name, value in values.items()}
