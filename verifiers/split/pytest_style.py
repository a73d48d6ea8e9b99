"""Running a pytest file inside the oracle; the results are pytest's own report objects, never its console text."""

import builtins
import os
import traceback
from collections.abc import Generator
from typing import Any  # pytest's hooks are untyped where plugins may add to them

import pytest

from assay.outcomes import Outcome
from assay.verifiers.split.harness import Reporter
from assay.verifiers.split.loading import describe
from assay.verifiers.split.plan import Broken, Plan, prepare_text
from assay.verifiers.split.report import Collected, Finished, Loaded, Started
from assay.verifiers.split.stub_module import StubModule
from assay.verifiers.split.subject import Subject, mark_of, outcome_of

_ARGUMENTS = (
    "-q", "-p", "no:cacheprovider", "-p", "no:stepwise", "-p", "no:junitxml", "-p", "no:pastebin",
    "-p", "no:faulthandler", "--noconftest", "--tb=native", "--color=no", "-o", "addopts=", "-W", "ignore",
)  # fmt: skip


_NO_PARAMETERS = "got empty parameter set"
"""How pytest begins the reason for which it skips an item whose list of parameters is empty."""


class _Results:
    """The plugin: takes the outcome of every item from pytest's report objects."""

    def __init__(self, plan: Plan, module: StubModule | None, subject: Subject, reporter: Reporter) -> None:
        self._plan = plan
        self._module = module
        self._subject = subject
        self._reporter = reporter
        self._index: dict[str, int] = {}
        self._worst: tuple[Outcome, str] = (Outcome.PASSED, "")
        self._counts = True
        self.collected = 0
        self.unconditional = 0
        self.counted = 0
        self.import_fault: tuple[bool, str] | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Number the items in file order and leave out those that were run before."""
        self._index = {item.nodeid: number for number, item in enumerate(items)}
        self.collected = len(items)
        self.unconditional = sum(map(_never_counts, items))
        if items:
            self._reporter.tell(Collected(tuple(item.nodeid.partition("::")[2] for item in items)))
        del items[: self._plan.start]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, Any, Any]:
        """Decide whose fault it is when the file cannot be imported."""
        try:
            report = yield
        except SystemExit as leaving:  # ends the session
            self._blame(leaving)
            raise
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            error = call.excinfo.value
            self._blame(error.__cause__ or error)  # pytest wraps what an import raises
        return report

    def _blame(self, error: BaseException) -> None:
        if self.import_fault is None:
            self.import_fault = (self._is_ours(error), describe(error))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """An item begins."""
        self._worst = (Outcome.PASSED, "")
        self._counts = True
        self._subject.reset_clock()
        self._reporter.tell(Started(self._index[nodeid]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Note what a phase of the item came to."""
        report: pytest.TestReport = yield
        if report.skipped or hasattr(report, "wasxfail"):
            self._counts = False
        elif report.failed and self._worst[0] is Outcome.PASSED:
            error = (
                call.excinfo.value if call.excinfo is not None else pytest.fail.Exception(str(report.longrepr)[-500:])
            )
            failed = isinstance(error, pytest.fail.Exception)
            self._worst = (Outcome.FAILED if failed else outcome_of(error), describe(error))
        return report

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """An item ended: tell what became of it; without a candidate nothing further can run in this process."""
        index = self._index[nodeid]
        if self._subject.gone is not None:
            self._reporter.replace_candidate(index, self._subject.gone)
            os._exit(0)
        outcome, message = mark_of(self._subject, *self._worst)
        counts = self._counts or outcome is not Outcome.PASSED
        self.counted += counts
        self._reporter.tell(Finished(index, outcome, message, counts))

    def _is_ours(self, error: BaseException) -> bool:
        """Whether an error while importing the test file is the completion's fault.

        The file's own imports were tried before there was a candidate: what fails later is the task's only where an
        import fails that has nothing to do with the module under test.
        """
        if self._module is None or _crossed(error):
            return True
        if isinstance(error, ImportError):
            name = error.name or ""
            return name == self._plan.module or name.startswith(f"{self._plan.module}.")
        return self._subject.was_asked


def _never_counts(item: pytest.Item) -> bool:
    """Say whether an item is to be skipped or to fail by the file's own word: not for want of parameters, which the
    completion may be asked for."""
    skip = item.get_closest_marker("skip")
    is_empty = skip is not None and str(skip.kwargs.get("reason", "")).startswith(_NO_PARAMETERS)
    return not is_empty and (skip is not None or item.get_closest_marker("xfail") is not None)


def _crossed(error: BaseException) -> bool:
    """Whether the error was raised where oracle and candidate talk."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and str(frames[-1].f_globals.get("__name__")).startswith("assay.")


def run_pytest(plan: Plan, module: StubModule | None, subject: Subject, reporter: Reporter) -> None:
    """Run the test file and report every item. Raises Broken if no item could be collected for the task's own fault."""
    path = _write(plan)
    plugin = _Results(plan, module, subject, reporter)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    keep = builtins.AssertionError
    folder = os.path.dirname(path)  # folders above are not for tests to look into
    pytest.main(
        [*_ARGUMENTS, "-c", os.devnull, f"--rootdir={folder}", f"--confcutdir={folder}", path], plugins=[plugin]
    )
    builtins.AssertionError = keep  # type: ignore[misc]
    if subject.gone is not None and not plugin.collected:
        reporter.replace_candidate(-1, subject.gone)
    elif plugin.import_fault is not None:
        ours, message = plugin.import_fault
        if not ours:
            raise Broken(f"test_file does not import: {message}")
        reporter.tell(Loaded(str(Outcome.RUNTIME_ERROR), message))
    elif not plugin.collected:
        raise Broken("test_file holds no test")
    elif plan.start == 0 and not plugin.counted and plugin.unconditional == plugin.collected:
        raise Broken("test_file skips all its tests")


def _write(plan: Plan) -> str:
    name = "test_task" if plan.module != "test_task" else "test_of_task"
    path = os.path.join(os.getcwd(), f"{name}.py")
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(prepare_text(plan.sources[0]))
    return path
