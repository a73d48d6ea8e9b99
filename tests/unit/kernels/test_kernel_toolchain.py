"""Which flags a submission may choose, what compilers are told, and what names an artifact."""

from dataclasses import replace

import pytest

from assay.verifiers.kernels.artifacts import Artifact, Artifacts, Compiled
from assay.verifiers.kernels.compile import Job, job_key
from assay.verifiers.kernels.toolchain import FlagRefused, Language, Toolchain, check_arch, check_flags, plan

TOOLS = Toolchain("gcc 12", "release 13.0", "/usr/local/cuda-13.0", "x86_64-1")
JOB = Job(Language.C, "int f;", "native")


@pytest.mark.parametrize(
    ("language", "flag"),
    [
        (Language.C, "-fopenmp"),
        (Language.C, "-fplugin=/tmp/x.so"),
        (Language.C, "-include/etc/passwd"),
        (Language.C, "-I/etc"),
        (Language.C, "@/etc/passwd"),
        (Language.C, "-o/tmp/x"),
        (Language.C, "-O3\n-fopenmp"),
        (Language.C, "-O4"),
        (Language.C, "-DA=$(id)"),
        (Language.C, "-DA=/etc/passwd"),
        (Language.C, "-Wl,-rpath,/tmp"),
        (Language.C, "kernel.s"),
        (Language.CUDA, "-Xcompiler=-fopenmp"),
        (Language.CUDA, "-Xcompiler"),
        (Language.CUDA, "-rdc=true"),
        (Language.CUDA, "--options-file=/etc/passwd"),
        (Language.CUDA, "-maxrregcount=8"),
        (Language.CUDA, "-fopenmp"),
        (Language.CUDA, "-ffast-math"),
    ],
)
def test_flags_off_the_list_are_refused(language: Language, flag: str) -> None:
    """A flag that nobody listed is refused by name, also where the task allows fast mathematics."""
    with pytest.raises(FlagRefused):
        check_flags(language, [flag], fast_math=True)


@pytest.mark.parametrize(("language", "flag"), [(Language.C, "-ffast-math"), (Language.CUDA, "--use_fast_math")])
def test_fast_mathematics_is_the_tasks_to_allow(language: Language, flag: str) -> None:
    """The same flag is refused or taken, as the task says."""
    assert check_flags(language, [flag], fast_math=True) == (flag,)
    with pytest.raises(FlagRefused, match="does not allow"):
        check_flags(language, [flag], fast_math=False)


def test_listed_flags_are_handed_on_in_order() -> None:
    """What may be chosen reaches the compiler as it was written."""
    flags = check_flags(Language.C, ["-O2", "-DTILE=64", "-funroll-loops"], fast_math=False)

    lines = plan(Language.C, "native", flags, TOOLS).lines

    assert " ".join(flags) in " ".join(lines[0])


def test_architectures_come_from_a_list() -> None:
    """An architecture is never a way to another flag."""
    assert check_arch(Language.CUDA, "sm_90a") == "sm_90a"
    with pytest.raises(FlagRefused):
        check_arch(Language.CUDA, "sm_90 -rdc=true")


def test_no_command_links_devices_later_or_runs_threads() -> None:
    """Relocatable device code and OpenMP are in no command line."""
    words = [
        word
        for language in set(Language) - {Language.TORCH}
        for line in plan(language, "native", (), TOOLS).lines
        for word in line
    ]

    assert "-rdc=true" not in words
    assert "-fopenmp" not in words


def test_a_key_names_all_that_an_artifact_depends_on() -> None:
    """Source, flags, architecture, tools and (for C) processor: another of these is another key."""
    others = [
        (replace(JOB, source="int g;"), TOOLS),
        (replace(JOB, flags=("-O1",)), TOOLS),
        (replace(JOB, arch="x86-64-v3"), TOOLS),
        (JOB, replace(TOOLS, gcc="gcc 13")),
        (JOB, replace(TOOLS, processor="x86_64-2")),
    ]

    keys = {job_key(JOB, TOOLS), *(job_key(job, tools) for job, tools in others)}

    assert len(keys) == 1 + len(others)
    assert job_key(replace(JOB), TOOLS) == job_key(JOB, TOOLS)


def test_the_artifacts_used_last_are_kept() -> None:
    """Beyond its capacity the cache lets go of what was not asked for longest."""
    held = Artifacts(capacity_bytes=4000)
    for name in ("a", "b"):
        held.put(name, Compiled(Artifact(name.encode() * 500, name)))

    held.get("a")
    held.put("c", Compiled(Artifact(b"c" * 500, "c")))

    found = {name: held.get(name) for name in ("a", "b", "c")}
    assert found["b"] is None
    assert found["a"] is not None
    assert found["a"].cached
    assert found["c"] is not None


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    """One giant artifact does not empty the cache."""
    held = Artifacts(capacity_bytes=4000)
    held.put("a", Compiled(Artifact(b"a", "a")))

    held.put("giant", Compiled(Artifact(b"g" * 10_000, "g")))

    assert held.get("giant") is None
    assert held.get("a") is not None
