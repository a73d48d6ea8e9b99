"""Functions in JavaScript and TypeScript: found, called and compared, and nothing that a completion can say instead."""

from typing import Any

import pytest
from language_programs import offered

from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.languages.calls import CallsVerifier

pytestmark = pytest.mark.jail
ADDS = "function add(a, b) { return a + b; }"


@pytest.fixture(scope="module")
def verifier() -> CallsVerifier:
    """One for all, which compiles each self-test once."""
    return CallsVerifier()


@pytest.fixture(params=["javascript", "typescript"], scope="module")
def language(request: pytest.FixtureRequest, pool: Pool, verifier: CallsVerifier) -> str:
    """Each language; skipped where it cannot be had, unless ASSAY_REQUIRE names `languages`."""
    return offered(pool, verifier.builder, request.param)


@pytest.fixture(scope="module")
def javascript(pool: Pool, verifier: CallsVerifier) -> str:
    """One of them, for what is the driver's, which both have; skipped in the same way."""
    return offered(pool, verifier.builder, "javascript")


def judge(pool: Pool, verifier: CallsVerifier, completion: str, *cases: tuple[Any, Any], **fields: Any) -> Verdict:
    """Judge a completion of `add` by (arguments, value)."""
    asked = [{"args": args, "expected": value} for args, value in cases]
    task = CallsVerifier.task_model.model_validate(
        {"id": "t", "verifier": "calls", "language": "javascript", "entry_point": "add", "cases": asked, **fields}
    )
    with pool.slot() as slot:
        return verifier.judge(task, completion, slot)


@pytest.mark.parametrize(
    "completion",
    [
        ADDS,
        "Here:\n```js\nconst add = async (a, b) => { console.log('adding'); return a + b; } // done\n```",
        "class Solution { add(a, b) { return this.sum(a, b); } sum(a, b) { return a + b; } }",
        "module.exports = { add: (a, b) => a + b };",
        "export function add(a, b) { return a + b; }",
        "export default function add(a, b) { return a + b; }",
        "const sum = (a, b) => a + b;\nexport { sum as add };",
        "export default (a, b) => a + b;",
        "export default function (a, b) { return a + b; }",
        "export default { add(a, b) { return a + b; } };",
        "export default class { add(a, b) { return a + b; } }",
        "module.exports = (a, b) => a + b;",
        "module.exports = { Solution: class { add(a, b) { return a + b; } } };",
        "class Solution { static add(a, b) { return a + b; } }",
        "function add(a, b) { return a + b; }\nprocess.on('exit', () => console.log('bye'));",
        "import assert from 'assert';\nexport class Solution { add(a, b) { assert.equal(1, 1); return a + b; } }",
    ],
)
def test_a_function_is_found(pool: Pool, verifier: CallsVerifier, language: str, completion: str) -> None:
    """However it is defined; what it prints is its own affair, and each call counts for itself."""
    completion = completion.replace("```js", f"```{language}")

    verdict = judge(pool, verifier, completion, ([1, 2], 3), (["a", "b"], "ab"), ([1, 2], 4), language=language)

    assert [test.outcome for test in verdict.tests] == [Outcome.PASSED, Outcome.PASSED, Outcome.FAILED]
    assert verdict.reward == pytest.approx(2 / 3)
    assert "4" not in verdict.message


@pytest.mark.usefixtures("javascript")
def test_a_module_that_awaits_is_called(pool: Pool, verifier: CallsVerifier) -> None:
    """Once it has come to its end; what it lacks is named, as elsewhere."""
    awaits = "const one = await Promise.resolve(1);\nexport const add = (a, b) => a + b * one;"

    assert judge(pool, verifier, awaits, ([1, 2], 3)).outcome is Outcome.PASSED
    lacking = judge(pool, verifier, awaits.replace("add", "sub"), ([1, 2], 3))
    assert (lacking.outcome, lacking.message) == (
        Outcome.RUNTIME_ERROR,
        "ReferenceError: there is no function add",
    )


def test_types_are_taken_as_they_are(pool: Pool, verifier: CallsVerifier, language: str) -> None:
    """And are an error where there are none."""
    typed = "function add(a: number[], b: number): number[] { return a.concat([b]); }"

    verdict = judge(pool, verifier, typed, ([[1], 2], [1, 2]), language=language)

    assert verdict.outcome is (Outcome.PASSED if language == "typescript" else Outcome.RUNTIME_ERROR)
    assert language == "typescript" or verdict.message.startswith("SyntaxError")


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("0.1 + 0.2", 0.3),
        ("[1, [true, null], {'x': 'é\\u2028', y: undefined}]", [1, [True, None], {"x": "é\u2028"}]),
        ("12345678901234567890n", 12345678901234567890),
        ("new Int32Array([1, 2])", [1, 2]),
        ("-0", 0),
        ("'x'.repeat(200000)", "x" * 200_000),
    ],
)
@pytest.mark.usefixtures("javascript")
def test_values_are_those_of_json(pool: Pool, verifier: CallsVerifier, returned: str, expected: object) -> None:
    """Floats match within a tolerance, and integers of any size exactly."""
    assert judge(pool, verifier, f"function add() {{ return {returned}; }}", ([], expected)).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("function sub(a, b) { return a - b; }", Outcome.RUNTIME_ERROR),
        ("function add(a, b) { throw new Error('no'); }", Outcome.RUNTIME_ERROR),
        ("throw new Error('no');", Outcome.RUNTIME_ERROR),
        ("export default function sum(a, b) { return a + b; }", Outcome.RUNTIME_ERROR),
        ("module.exports = null;", Outcome.RUNTIME_ERROR),
        ("function add() { return NaN; }", Outcome.RUNTIME_ERROR),
        ("function add() { return new Set([3]); }", Outcome.RUNTIME_ERROR),
        ("function add() { const a = []; a.push(a); return a; }", Outcome.RUNTIME_ERROR),
        ("function add() {}", Outcome.RUNTIME_ERROR),
        ("function add() { process.exit(0); }", Outcome.FAILED),
        ("process.exit(0);", Outcome.FAILED),
        ("console.log('NaN'); process.exit(0);", Outcome.FAILED),
        ("console.log('['.repeat(100000)); process.exit(0);", Outcome.FAILED),
        ("function add() { return {valueOf: () => 3, toJSON: () => 3}; }", Outcome.RUNTIME_ERROR),
        ("function add() { return '3'; }", Outcome.FAILED),
        ("function add() { return true; }", Outcome.FAILED),
        ("function add() { for (;;) {} }", Outcome.TIMEOUT),
    ],
)
@pytest.mark.usefixtures("javascript")
def test_whatever_else_a_function_does_is_not_right(
    pool: Pool, verifier: CallsVerifier, completion: str, outcome: Outcome
) -> None:
    """It ends early, lies of equality, returns what JSON has not, or nothing; an error is quoted."""
    verdict = judge(pool, verifier, completion, ([1, 2], 3), limits={"wall_s": 1.0})

    assert (verdict.outcome, verdict.reward) == (outcome, 0.0)
    assert "'no'" not in completion or verdict.message == "Error: no"
