"""Compilers that are killed from outside are no fault of the source's, wherever the kill is told."""

import errno
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch, Role
from assay.schema import Limits, Verdict
from assay.verifiers.artifacts import Artifacts
from assay.verifiers.compile_job import compile_job
from assay.verifiers.compiling import NotBegun, ask_compiler
from assay.verifiers.killed import MOST_TRIES, Killed
from assay.verifiers.languages.builder_program import NOT_INSTALLED
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.sources import Source
from assay.verifiers.languages.table import LANGUAGES, SELF_TEST_INPUT
from assay.verifiers.languages.verifier import StdioVerifier
from assay.verifiers.stdio_program import STARTED

pytestmark = pytest.mark.usefixtures("kills")

LAUNCH = Launch(Role.CANDIDATE, "compiler", b"", Limits())
PROBED = FakeChild(Exit(0, None), b"tool 1.2.3\nand more\n")
GOOD: Sequence[object] = [0, b"", b"", 0, [], b"artifact"]


class AnsweringSlot(FakeSlot):
    """Its processes answer this, one after the other, and end well."""

    def __init__(self, *answers: object, children: Sequence[FakeChild] = ()) -> None:
        super().__init__(children or [FakeChild(Exit(0, None)) for _ in answers])
        self._answers = list(answers)

    def start(self, launch: Launch) -> FakeChild:
        """Answer."""
        answer = self._answers.pop(0)
        os.write(launch.fds[0], answer if isinstance(answer, bytes) else msgpack.packb(answer))
        return super().start(launch)


KILLS = [
    [-9, b"", b"", 0, [], None],
    [1, b"g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n", b"", 0, [], None],
    [1, b"a warning\n", b"collect2: fatal error: ld terminated with signal 9 [Killed]\n", 9, [], None],
    [1, b"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n", b"", 0, [], None],
    [1, b"go build command-line-arguments: /usr/lib/go/compile: signal: killed\n", b"", 0, [], None],
    [1, b"gcc: fatal error: cannot execute 'cc1': vfork: Resource temporarily unavailable\n", b"", 0, [], None],
    [1, b"cc1plus: out of memory allocating 65536 bytes after a total of 6381568 bytes\n", b"", 0, [], None],
    [1, b"runtime: failed to create new OS thread (have 2 already; errno=11)\n", b"", 0, [], None],
    [1, b"Error occurred during initialization of VM\nCould not reserve enough space\n", b"", 0, [], None],
]


@pytest.mark.parametrize("answer", KILLS)
def test_a_compiler_killed_once_is_asked_again(answer: object) -> None:
    """Whichever process of it was."""
    assert ask_compiler(AnsweringSlot(answer, GOOD), LAUNCH, 1000)[1] == GOOD


@pytest.mark.parametrize("answer", KILLS)
def test_a_compiler_killed_without_memory_has_refused_nothing(answer: object, kills: list[int]) -> None:
    """The kernel may have killed it every time."""
    kills[:] = range(MOST_TRIES)

    with pytest.raises(Killed, match="compiler"):
        ask_compiler(AnsweringSlot(*[answer] * MOST_TRIES), LAUNCH, 1000)


def test_what_happens_every_time_is_its_own_doing() -> None:
    """No source earns a null by it."""
    assert ask_compiler(AnsweringSlot(*KILLS[:1] * 3), LAUNCH, 1000)[1] == KILLS[0]


@pytest.mark.parametrize(
    "words", [b"main.c:1:2: error: #error g++: fatal error: Killed signal terminated program\n", b"no"]
)
def test_other_words_are_the_sources_own_fault(words: bytes) -> None:
    """Once is enough."""
    answer = [1, words, b"", 0, [], None]

    assert ask_compiler(AnsweringSlot(answer), LAUNCH, 1000)[1] == answer


def test_a_self_test_that_was_killed_is_run_again() -> None:
    """A language is not lost to a worker for ever by one accident."""
    ends = [PROBED, FakeChild(Exit(None, 9)), PROBED, FakeChild(Exit(0, None), SELF_TEST_INPUT.encode())]
    builder, slot = Builder(), AnsweringSlot(*[STARTED] * 4, children=ends)
    with pytest.raises(InfraFault, match="self-test"):
        builder.check_offered(slot, LANGUAGES["bash"])

    builder.check_offered(slot, LANGUAGES["bash"])

    assert len(slot.launches) == 4


def test_a_version_that_is_not_told_is_asked_for_again_if_the_probe_was_killed() -> None:
    """The self-test does not begin before it."""
    ends = [FakeChild(Exit(None, 9)), PROBED, FakeChild(Exit(0, None), SELF_TEST_INPUT.encode())]
    builder, slot = Builder(), AnsweringSlot(*[STARTED] * 3, children=ends)
    with pytest.raises(InfraFault, match="its version"):
        builder.check_offered(slot, LANGUAGES["bash"])

    assert builder.check_offered(slot, LANGUAGES["bash"]) == "tool 1.2.3"


@pytest.mark.parametrize(
    "end",
    [FakeChild(Exit(0, None), b"ready 8\n"), FakeChild(Exit(0, None), b""), FakeChild(Exit(1, None), b"ready 7\n")],
    ids=["another output", "no output", "another exit code"],
)
def test_a_language_is_not_offered_on_a_wrong_self_test(end: FakeChild) -> None:
    """With what it gave; it is run again the next time, for a machine that is short of something makes such ends."""
    builder, slot = Builder(), AnsweringSlot(*[STARTED] * 4, children=[PROBED, end] * 2)

    for _ in range(2):
        with pytest.raises(InfraFault, match="its self-test gave"):
            builder.check_offered(slot, LANGUAGES["bash"])

    assert len(slot.launches) == 4


class Workshop(FakeSlot):
    """Its compilers make a program of everything, its programs write what the self-test wants."""

    def __init__(self, version: bytes = b"gcc 12.2.0") -> None:
        super().__init__()
        self._version = version

    def start(self, launch: Launch) -> FakeChild:
        """Compile, tell the version, or run."""
        told = SELF_TEST_INPUT.encode() if launch.stdin else self._version
        self.children = [FakeChild(Exit(0, None), told)]
        os.write(launch.fds[0], msgpack.packb(GOOD) if launch.program.endswith("builder_program") else STARTED)
        return super().start(launch)

    @property
    def compiled(self) -> int:
        """How often a compiler was started."""
        return sum(launch.program.endswith("builder_program") for launch in self.launches)


def _judge(verifier: StdioVerifier, slot: Workshop, source: str, **fields: object) -> Verdict:
    cases = [{"stdin": "x", "stdout": SELF_TEST_INPUT}] * 3
    document = {"id": "t", "verifier": "stdio", "language": "c", "cases": cases, "fence": "none", **fields}
    return verifier.judge(verifier.task_model.model_validate(document), source, slot)


def test_a_source_is_compiled_once_for_all_cases_of_all_its_attempts() -> None:
    """Beside the self-test. Another source, or another file beside it, is compiled anew."""
    verifier, slot = StdioVerifier(), Workshop()

    verdicts = [_judge(verifier, slot, "int main(void) {}") for _ in range(2)]

    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED] * 2
    assert slot.compiled == 2
    _judge(verifier, slot, "int main(void) { }")
    assert slot.compiled == 3
    _judge(verifier, slot, "int main(void) {}", files={"a.h": "x"})
    assert slot.compiled == 4


@pytest.mark.parametrize(
    ("version", "changed"),
    [
        (b"gcc 12.2.0", {"build": (("gcc", "-O3", "{source}", "-o", "main"),)}),
        (b"gcc 12.2.0", {"environment": {"LANG": "C"}}),
        (b"gcc 13.1.0", {}),
    ],
    ids=["flag", "environment", "version"],
)
def test_what_another_compiler_or_another_line_made_is_not_taken(version: bytes, changed: dict[str, Any]) -> None:
    """An artifact is one of a source, a command line and the compiler's version."""
    artifacts, first, second = Artifacts(), Workshop(), Workshop(version)
    source = Source(LANGUAGES["c"], "int main(void) {}")
    Builder(artifacts).build(first, source)
    Builder(artifacts).build(first, source)
    assert first.compiled == 2  # with the self-test

    Builder(artifacts).build(second, replace(source, language=replace(LANGUAGES["c"], **changed)))

    assert second.compiled == 2


def test_results_name_the_compiler() -> None:
    """Its first line, also where the source is no program of the language."""
    assert _judge(StdioVerifier(), Workshop(b"gcc 12.2.0\nCopyright"), "x").versions == {"c": "gcc 12.2.0"}


def test_results_name_what_compiled_their_checker() -> None:
    """It decides as much."""
    checker = {"language": "cpp", "source": "y"}
    assert _judge(StdioVerifier(), Workshop(b"g++ 1"), "x", checker=checker).versions == {"c": "g++ 1", "cpp": "g++ 1"}


def test_a_self_test_that_does_not_compile_is_run_again() -> None:
    """A machine that is short of something makes such failures: they say nothing of the next one."""
    failed, absent = [1, b"no", b"", 0, [], None], f"gcc {NOT_INSTALLED}"
    ended = FakeChild(Exit(0, None))
    builder, slot = Builder(), AnsweringSlot(STARTED, failed, STARTED, absent, children=[PROBED, ended, PROBED, ended])
    with pytest.raises(InfraFault, match=r"\(no\)"):
        builder.check_offered(slot, LANGUAGES["c"])

    for _ in range(2):
        with pytest.raises(InfraFault, match=NOT_INSTALLED):
            builder.check_offered(slot, LANGUAGES["c"])

    assert len(slot.launches) == 4


def test_what_keeps_every_compiler_from_starting_is_no_fault_of_the_sources() -> None:
    """It is said before one has read the source; what is said once one has begun is as hostile as the source."""
    with pytest.raises(NotBegun, match="No space left"):
        ask_compiler(AnsweringSlot("its files cannot be written: No space left on device"), LAUNCH, 1000)

    begun = STARTED + bytes(msgpack.packb("its files cannot be written: No space left on device"))
    assert isinstance(ask_compiler(AnsweringSlot(begun), LAUNCH, 1000)[1], str)
    assert ask_compiler(AnsweringSlot(STARTED + bytes(msgpack.packb(GOOD))), LAUNCH, 1000)[1] == GOOD


def test_a_compiler_that_has_gone_since_it_was_looked_at_is_looked_at_again() -> None:
    """The attempt has no reward, and the worker no longer says that it has the language."""
    children = [PROBED, FakeChild(Exit(0, None)), FakeChild(Exit(0, None), SELF_TEST_INPUT.encode())]
    answers = [STARTED, GOOD, STARTED, f"gcc {NOT_INSTALLED}"]
    builder, slot = Builder(), AnsweringSlot(*answers, children=[*children, FakeChild(Exit(0, None))])
    builder.check_offered(slot, LANGUAGES["c"])

    with pytest.raises(InfraFault, match=NOT_INSTALLED):
        builder.build(slot, Source(LANGUAGES["c"], "int main(void) {}"))

    assert not builder.known()


JOB = {"environment": {}, "artifact_name": "made", "artifact_bytes": 10, "dependency_names": []}


def test_a_want_of_room_for_a_compilers_files_is_told_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And names that cannot be are an error of the source, which may give itself one, as in Java."""
    monkeypatch.chdir(tmp_path)
    begun: list[bool] = []
    job = {**JOB, "lines": [["true"]]}

    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", _write_nothing)
        assert compile_job({**job, "files": {"a.c": b"x"}}, lambda: begun.append(True)) == (
            "its files cannot be written: No space left on device"
        )
    named = compile_job({**job, "files": {"a" * 300: b"x"}}, lambda: begun.append(True))

    assert named[:2] == [1, b"its files cannot be written: File name too long"]
    assert not begun


def test_a_compiler_that_cannot_be_started_has_refused_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the first nor, as far as its words go, a later one."""
    monkeypatch.chdir(tmp_path)
    begun: list[bool] = []
    job = {**JOB, "files": {}}

    said = compile_job({**job, "lines": [["/nowhere/cc"]]}, lambda: begun.append(True))
    assert said == "/nowhere/cc cannot be started: No such file or directory"
    assert not begun

    code, head, *_ = compile_job({**job, "lines": [["/bin/true"], ["/nowhere/ld"]]}, lambda: begun.append(True))
    assert (code, head, begun) == (126, b"/nowhere/ld cannot be started: No such file or directory", [True])


def _write_nothing(_path: Path, _data: bytes) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_language_that_is_absent_stays_absent() -> None:
    """Nobody looks twice."""
    builder, slot = Builder(), AnsweringSlot(b"infra_error bash is not installed")

    for _ in range(2):
        with pytest.raises(InfraFault, match=r"not installed.*apt-get"):
            builder.check_offered(slot, LANGUAGES["bash"])

    assert len(slot.launches) == 1
