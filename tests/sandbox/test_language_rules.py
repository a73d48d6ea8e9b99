"""What one language alone has: modules and streams of Node, classes of Java."""

from collections.abc import Iterator

import pytest
from confinements import HOST_AND_CONTAINER, confined
from language_programs import offered

from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.sandboxes.pool import Pool
from assay.verifiers.languages.verifier import StdioVerifier


@pytest.fixture(params=HOST_AND_CONTAINER, ids=lambda confinement: str(confinement.level), scope="module")
def pool(request: pytest.FixtureRequest) -> Iterator[JailPool]:
    """Jails on the host, and in a container."""
    with confined(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def verifier() -> StdioVerifier:
    """One for all, which compiles each self-test once."""
    return StdioVerifier()


AT_THE_TOP = [
    "const x = await (async () => 3)(); console.log(x);",
    "if (true) { await (Promise.resolve()); console.log(3); }",
    "const f = async () => 3;\nconsole.log(await f());",
    "#!/usr/bin/env node\nfor await (const x of [3]) console.log(x);",
    "import {EOL} from 'os';\nprocess.stdout.write(3 + EOL);",
    "export const x = 3;\nconsole.log(x);",
    "const f = async () => { await null; return 3 + require('os').EOL; };\nf().then((x) => console.log(x));",
    "const await = (x) => x;\nconsole.log(await(3), typeof require === 'function' ? '' : 'no');",
    "// await, import, export\nif (require.main === module) console.log(3);\nreturn;",
]


@pytest.mark.parametrize("source", AT_THE_TOP)
def test_javascript_is_a_module_where_its_source_needs_one(pool: Pool, verifier: StdioVerifier, source: str) -> None:
    """Else it is a script, which has `require`: as Node's newest versions tell by parsing, on older ones as well."""
    offered(pool, verifier.builder, "javascript")
    task = StdioVerifier.task_model.model_validate(
        {"id": "t", "verifier": "stdio", "language": "javascript", "cases": [{"stdout": "3"}], "compare": "tokens"}
    )

    with pool.slot() as slot:
        verdict = verifier.judge(task, source, slot)

    assert (verdict.outcome, verdict.message) == (Outcome.PASSED, "")


def test_a_package_of_the_tasks_own_tells_what_javascript_is(pool: Pool, verifier: StdioVerifier) -> None:
    """It is not replaced."""
    offered(pool, verifier.builder, "javascript")
    files = {"package.json": '{"type": "module", "name": "mine"}'}
    task = StdioVerifier.task_model.model_validate(
        {"id": "t", "verifier": "stdio", "language": "javascript", "cases": [{"stdout": "mine"}], "files": files}
    )
    source = "import {readFileSync} from 'fs';\nconsole.log(JSON.parse(readFileSync('package.json')).name);"

    with pool.slot() as slot:
        assert verifier.judge(task, source, slot).outcome is Outcome.PASSED


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_what_node_writes_is_written_before_it_exits(pool: Pool, verifier: StdioVerifier, language: str) -> None:
    """By itself it leaves out what is not read by then, from 64 kB on."""
    offered(pool, verifier.builder, language)
    source = "declare var process: any;\n" if language == "typescript" else ""
    source += "process.stdout.write('x'.repeat(900_000)); process.exit(0);"
    given = {"id": "t", "language": language, "cases": [{"stdout": "x" * 900_000}]}

    with pool.slot() as slot:
        verdict = verifier.judge(verifier.task_model.model_validate(given), source, slot)

    assert (verdict.outcome, verdict.message) == (Outcome.PASSED, "")


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("for await (const line of createInterface({input: process.stdin})) sum += +line;", Outcome.PASSED),
        ("await (Promise.resolve());\nsum = 6;", Outcome.PASSED),
        (
            "const given = (x: number): Promise<number> => Promise.resolve(x);\nsum = await given(6); // so",
            Outcome.PASSED,
        ),
        ("await Promise.reject(new Error('no'));", Outcome.RUNTIME_ERROR),
        ("async function later(): Promise<void> { await null; }\nsum = 6;", Outcome.PASSED),
    ],
)
def test_typescript_may_await_at_the_top(pool: Pool, verifier: StdioVerifier, source: str, outcome: Outcome) -> None:
    """Beside imports and exports, as a module may; what it rejects ends the program as any error does."""
    offered(pool, verifier.builder, "typescript")
    source = f"import {{ createInterface }} from 'readline';\nexport let sum: number = 0;\n{source}\nconsole.log(sum);"
    given = {"id": "t", "language": "typescript", "cases": [{"stdin": "1\n5\n", "stdout": "6"}]}

    with pool.slot() as slot:
        verdict = verifier.judge(verifier.task_model.model_validate(given), source, slot)

    assert verdict.outcome is outcome, verdict.message


def test_a_class_in_java_may_be_called_anything(pool: Pool, verifier: StdioVerifier) -> None:
    """What is started is the one with `main`, which need be neither public nor first, and may be in a package."""
    offered(pool, verifier.builder, "java")
    source = """package contest.round7;
    class Helper { static int twice(int n) { return 2 * n; } }
    class Solution { public static void main(String[] a) { System.out.println(Helper.twice(4)); } }"""
    given = {"id": "t", "language": "java", "cases": [{"stdout": "8"}]}

    with pool.slot() as slot:
        verdict = verifier.judge(verifier.task_model.model_validate(given), source, slot)

    assert verdict.outcome is Outcome.PASSED
