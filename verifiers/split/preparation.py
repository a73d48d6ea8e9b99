"""Everything an oracle does before it needs the candidate: compile, import, run the prompt, name the stubs."""

import sys
from dataclasses import dataclass

from assay.verifiers.repeatable import seed_numpy
from assay.verifiers.split.closed import is_closed
from assay.verifiers.split.loading import describe, predefine_typing
from assay.verifiers.split.namespace import Namespace
from assay.verifiers.split.needs import find_need
from assay.verifiers.split.plan import Broken, Compiled, Plan, compile_plan, run_imports
from assay.verifiers.split.prompt import Prompt
from assay.verifiers.split.stub_module import StubModule, register
from assay.verifiers.split.trust import is_class_name


class CannotSplit(Exception):
    """The tests reach into the module under test."""


class NotClosed(Exception):
    """The tests, or the prompt, may leave something behind in the process that runs them."""


@dataclass(frozen=True)
class Ready:
    """Tests that only wait for the candidate. `module` stands for the module under test; `classes` are the prompt's.

    `functions` are names that the prompt wants to be functions although they look like those of classes.
    """

    plan: Plan
    compiled: Compiled
    namespace: Namespace
    module: StubModule
    classes: dict[str, type]
    functions: frozenset[str]

    @property
    def count(self) -> int | None:
        """How many tests there are; None where collecting them must tell."""
        return None if self.compiled.style == "pytest" else len(self.plan.cases) or len(self.compiled.codes)


def prepare(plan: Plan, *, only_closed: bool = False) -> Ready:
    """Set up everything that does not need the candidate.

    Raises Broken, CannotSplit where sharing is allowed, and, with `only_closed`, NotClosed before anything has run.
    """
    compiled = compile_plan(plan)
    prompt = Prompt(plan.prompt, plan.entry)
    if only_closed and not _is_closed(plan, compiled, prompt):
        raise NotClosed
    _check(plan, compiled)
    predefine_typing()
    namespace = Namespace(plan.entry, "tests")
    try:
        classes = namespace.run_prompt(prompt)
    except BaseException as error:
        raise Broken(f"the prompt does not run: {describe(error)}") from error
    module = register(plan.module, compiled, plan.entry)
    is_misleading = is_class_name(plan.entry) and prompt.asks_for_function()
    return Ready(plan, compiled, namespace, module, classes, frozenset({plan.entry} if is_misleading else ()))


def check_tests(plan: Plan) -> Compiled:
    """Compile the tests and run their imports. Raises Broken, and CannotSplit where sharing is allowed."""
    compiled = compile_plan(plan)
    _check(plan, compiled)
    return compiled


def _check(plan: Plan, compiled: Compiled) -> None:
    if plan.may_share and (need := find_need(compiled, plan)):
        raise CannotSplit(need)
    run_imports(compiled, plan.module)
    seed_numpy()


def _is_closed(plan: Plan, compiled: Compiled, prompt: Prompt) -> bool:
    if compiled.style == "pytest" or "." in plan.module or plan.module in sys.modules:
        return False
    try:
        unit = prompt.unit()
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return is_closed([*compiled.codes, *([unit] if unit is not None else [])], plan.entry)
