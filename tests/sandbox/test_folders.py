"""Files that programs leave: what is read back once they have ended, and what never is."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from confinements import CONFINEMENTS, HOST_AND_CONTAINER, confined
from language_programs import offered

from assay.errors import InfraFault
from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.schema import Verdict
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.execute import ExecuteTask, ExecuteVerifier
from assay.verifiers.languages.verifier import StdioVerifier


@pytest.fixture(params=HOST_AND_CONTAINER, ids=lambda confinement: str(confinement.level), scope="module")
def pool(request: pytest.FixtureRequest) -> Iterator[JailPool]:
    """Jails on the host, and in a container."""
    with confined(request.param) as made:
        yield made


def _execute(pool: JailPool, code: str, *names: str, fields: dict[str, Any] | None = None) -> Verdict:
    task = ExecuteTask.model_validate({"id": "t", "verifier": "execute", **(fields or {})})
    completion = {"code": code, "language": "python", "fetch": names}
    with pool.slot() as slot:
        return ExecuteVerifier().judge(task, json.dumps(completion), slot)


def test_files_that_cannot_be_laid_out_are_the_fault_of_whoever_brings_them(pool: JailPool) -> None:
    """Here of the completion, which describes them."""
    completion = {"code": "print(1)", "files": {"a": "", "a/b": ""}}
    task = ExecuteTask.model_validate({"id": "t", "verifier": "execute"})

    with pool.slot() as slot:
        verdict = ExecuteVerifier().judge(task, json.dumps(completion), slot)

    assert (verdict.outcome, verdict.reward) == (Outcome.RUNTIME_ERROR, 0.0)
    assert "its files cannot be written" in verdict.message


def _files(verdict: Verdict) -> dict[str, bytes]:
    found = verdict.details.files if verdict.details is not None else {}
    return {name: base64.b64decode(text) for name, text in found.items()}


def test_files_that_a_program_wrote_come_back_and_others_do_not(pool: JailPool) -> None:
    """Also from folders of its own and without contents; one that is not there is left out."""
    code = "import os\nos.makedirs('a/b')\nopen('a/b/c', 'wb').write(bytes(range(256)))\nopen('empty', 'w')"

    verdict = _execute(pool, code, "a/b/c", "empty", "missing", "a/b/missing", "a")

    assert (verdict.outcome, verdict.message) == (Outcome.PASSED, "")
    assert _files(verdict) == {"a/b/c": bytes(range(256)), "empty": b""}


def test_nothing_but_regular_files_is_read(pool: JailPool) -> None:
    """Links out of the folder and within it, pipes, sockets, folders, devices, files closed to their owner."""
    code = """
import os, socket
def attempt(make, *arguments):
    try: make(*arguments)
    except PermissionError: pass
open('real', 'w').write('real')
os.mkdir('own'); open('own/x', 'w').write('x')
os.symlink('/etc/passwd', 'out'); os.symlink('real', 'within'); os.symlink('own', 'linked'); os.symlink('/', 'root')
os.symlink('loop', 'loop')
attempt(os.mkfifo, 'pipe')
attempt(lambda: socket.socket(socket.AF_UNIX).bind('socket'))
attempt(os.mknod, 'device', 0o600 | 0o020000, os.makedev(1, 5))
os.close(os.open('closed', os.O_WRONLY | os.O_CREAT, 0))
"""
    names = [
        "out",
        "within",
        "linked/x",
        "root/etc/passwd",
        "pipe",
        "socket",
        "own",
        "loop",
        "closed",
        "device",
        "real",
    ]

    verdict = _execute(pool, code, *names)

    assert verdict.outcome is Outcome.PASSED, verdict.message
    assert _files(verdict) == {"real": b"real"}


def test_files_are_as_they_were_when_all_that_could_change_them_had_ended(pool: JailPool) -> None:
    """A daemon that swaps a file for a link for ever is dead by then; what it did last is a file or none."""
    code = """
import os, sys
open('x', 'w').write('mine')
if os.fork() == 0:
    os.setsid()
    while True:
        os.symlink('/etc/passwd', 'y'); os.rename('y', 'x')
        open('z', 'w').write('mine'); os.rename('z', 'x')
import time; time.sleep(0.2)
"""
    for _ in range(5):
        assert _files(_execute(pool, code, "x")).get("x", b"mine") in (b"mine", b"")


@pytest.mark.parametrize("make", ["f.truncate(60 << 20)", "f.write(b'x' * 60_000)"], ids=["sparse", "written"])
def test_what_is_more_than_may_be_read_back_is_too_much_output(pool: JailPool, make: str) -> None:
    """A file with holes counts as what it would be read as; what there was room for before it comes back."""
    code = f"open('a', 'w').write('a')\nwith open('big', 'wb') as f: {make}"

    verdict = _execute(pool, code, "a", "big", fields={"fetched_bytes": 50_000})

    assert (verdict.outcome, verdict.reward) == (Outcome.OUTPUT_EXCEEDED, 0.0)
    assert "50000 bytes" in verdict.message
    assert _files(verdict) == {"a": b"a"}


def test_files_of_a_program_that_failed_or_was_cut_come_back_too(pool: JailPool) -> None:
    crashed = _execute(pool, "open('x', 'w').write('1'); raise SystemExit(3)", "x")
    cut = _execute(pool, "open('x', 'w').write('2')\nwhile True: pass", "x", fields={"limits": {"wall_s": 0.5}})

    assert (crashed.outcome, crashed.exit_code, _files(crashed)) == (Outcome.RUNTIME_ERROR, 3, {"x": b"1"})
    assert (cut.outcome, _files(cut)) == (Outcome.TIMEOUT, {"x": b"2"})


def test_files_of_one_attempt_are_not_there_for_the_next(pool: JailPool) -> None:
    _execute(pool, "open('x', 'w').write('1')", "x")

    assert _files(_execute(pool, "pass", "x")) == {}


def test_a_folder_that_its_program_has_removed_holds_no_files(pool: JailPool) -> None:
    """That is the program's doing: no output, and never a fault of ours."""
    removes = "import os, shutil\nfolder = os.getcwd()\nos.chdir('/')\nshutil.rmtree(folder)"
    fields = {"cases": [{"stdin": "1", "stdout": "1"}], "input_file": "input.txt", "output_file": "output.txt"}

    executed, judged = _execute(pool, removes, "x"), _judge(pool, removes, **fields)

    assert (executed.outcome, executed.message, _files(executed)) == (Outcome.PASSED, "", {})
    assert (judged.outcome, judged.reward) == (Outcome.FAILED, 0.0)


def test_what_starts_no_program_leaves_no_files(pool: JailPool) -> None:
    verifier = ExecuteVerifier(builder := Builder())
    completion = {"code": "int main(", "language": offered(pool, builder, "c"), "fetch": ["main", "main.c"]}
    with pool.slot() as slot:
        verdict = verifier.judge(ExecuteTask(id="t"), json.dumps(completion), slot)

    assert (verdict.outcome, verdict.details) == (Outcome.COMPILE_ERROR, None)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "", "\0", ".", "./"])
def test_a_name_that_leaves_the_folder_describes_no_program(pool: JailPool, name: str) -> None:
    assert _execute(pool, "pass", name).outcome is Outcome.NO_ANSWER


def test_where_attempts_have_no_file_system_of_their_own_nothing_is_made_up() -> None:
    """Their folder goes with them: that is our fault, and no program's."""
    fenced = next(one for one in CONFINEMENTS if one.level is Level.LANDLOCK)
    with confined(fenced) as made, pytest.raises(InfraFault):
        _execute(made, "open('x', 'w').write('1')", "x")


_IN_FILES = "a, b = map(int, open('input.txt').read().split())\nopen('output.txt', 'w').write(f'{a + b}\\n')"


def _judge(pool: JailPool, completion: str, **fields: Any) -> Verdict:
    verifier = StdioVerifier()
    language = offered(pool, verifier.builder, fields.get("language", "python"))
    task = verifier.task_model.model_validate({"id": "t", "verifier": "stdio", **fields, "language": language})
    with pool.slot() as slot:
        return verifier.judge(task, completion, slot)


def test_a_program_may_read_and_write_files_in_place_of_streams(pool: JailPool) -> None:
    """Each case has its own; what a program prints instead, or links to, is no output."""
    cases = [{"stdin": "1 2", "stdout": "3"}, {"stdin": "5 6", "stdout": "11"}]
    fields = {"cases": cases, "input_file": "input.txt", "output_file": "output.txt"}

    assert _judge(pool, _IN_FILES, **fields).reward == 1.0
    assert _judge(pool, "print(3)", **fields).reward == 0.0
    linked = "import os\nopen('o', 'w').write('3')\nos.symlink('o', 'output.txt')"
    assert _judge(pool, linked, **fields).reward == 0.0


def test_a_checker_sees_the_file_that_a_program_wrote(pool: JailPool) -> None:
    checker = "def check(stdin, expected, output): return output.strip() == str(sum(map(int, stdin.split())))"
    fields = {"cases": [{"stdin": "1 2"}], "input_file": "input.txt", "output_file": "output.txt", "checker": checker}

    assert _judge(pool, _IN_FILES, **fields).outcome is Outcome.PASSED


def test_sources_of_the_task_are_compiled_with_the_program(pool: JailPool) -> None:
    """A grader with the main function, which calls what the completion defines."""
    files = {
        "add.h": "int add(int a, int b);\n",
        "grader.cpp": '#include <cstdio>\n#include "add.h"\n'
        'int main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", add(a, b)); }\n',
    }
    fields = {"language": "cpp", "files": files, "link": ["grader.cpp"], "cases": [{"stdin": "1 2", "stdout": "3"}]}

    assert _judge(pool, '#include "add.h"\nint add(int a, int b) { return a + b; }', **fields).reward == 1.0
    assert _judge(pool, '#include "add.h"\nint add(int a, int b) { return a; }', **fields).reward == 0.0
    assert _judge(pool, "int other() { return 1; }", **fields).outcome is Outcome.COMPILE_ERROR
