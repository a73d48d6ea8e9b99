"""Which flags a task may ask for, what compilers are told, and what names an artifact."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from assay.outcomes import Outcome
from assay.verifiers.artifacts import Artifact, Artifacts, Compiled
from assay.verifiers.kernels.answers import Offered
from assay.verifiers.kernels.building import job_of
from assay.verifiers.kernels.compile import Job, job_key
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.toolchain import (
    C_FLAGS,
    CUDA_FLAGS,
    FlagRefused,
    Language,
    Toolchain,
    check_arch,
    check_flags,
    plan,
)

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
    """By name."""
    with pytest.raises(FlagRefused):
        check_flags(language, [flag])


@pytest.mark.parametrize(
    ("language", "backend", "tier", "flags"),
    [
        ("c", "cpu", "native", ["-O2", "-DTILE=64", "-ffast-math"]),
        ("cuda_cpp", "cuda", "device_only", ["-maxrregcount=64", "--use_fast_math"]),
        ("ptx", "cuda", "device_only", ["-O1"]),
    ],
)
def test_flags_of_a_task_reach_its_compiler_in_order(language: str, backend: str, tier: str, flags: list[str]) -> None:
    """Of completions, and of a reference in their language: as they were written, and no others."""
    fields = {"backend": backend, "tier": tier, "policy": {"flags": flags}}
    named = {"id": "t", "verifier": "kernel", "kernel": "axpy/float32", "language": language}
    task = KernelTask.model_validate({**named, **fields})

    for offered in (Offered("source", task.language), Offered(task.reference.source, task.reference.language)):
        job = job_of(task, offered)
        told = " ".join(plan(job.language, job.arch, job.flags, TOOLS).lines[0])
        assert (" ".join(flags) in told) is (offered.language is task.language), told


def test_a_reference_in_c_of_a_module_is_compiled_for_this_processor() -> None:
    """What a task is timed on decides, and not the language of its completions."""
    reference = {"language": "c", "source": "void axpy() {}"}
    fields = {"kernel": "axpy/float32", "language": "torch", "reference": reference}
    task = KernelTask.model_validate({"id": "t", "verifier": "kernel", **fields})

    assert job_of(task, Offered(task.reference.source, task.reference.language)).arch == "native"


@pytest.mark.parametrize(("language", "flag"), [("c", "-fopenmp"), ("c", "--use_fast_math"), ("torch", "-O2")])
def test_a_task_that_asks_for_other_flags_is_refused(language: str, flag: str) -> None:
    """By name, as no compiler would be told."""
    document = {"id": "t", "verifier": "kernel", "kernel": "axpy/float32", "language": language}

    with pytest.raises(ValidationError, match=f"{flag}.*not on the list"):
        KernelTask.model_validate({**document, "policy": {"flags": [flag]}})


def test_the_guide_lists_the_flags_that_there_are() -> None:
    """All of them, and none that is refused."""
    page = (Path(__file__).parents[3] / "docs" / "kernel-tasks.md").read_text(encoding="utf-8")
    section = page.partition("**Compiler flags.**")[2].partition("\n\n")[0]

    assert set(re.findall(r"`(-[^`…]+)`", section)) == C_FLAGS | CUDA_FLAGS


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


def test_a_failure_is_not_kept() -> None:
    """It may have been the machine's: the same source is compiled anew."""
    held = Artifacts()

    held.put("a", Compiled(None, Outcome.COMPILE_ERROR, "fatal error: Killed signal terminated program cc1"))

    assert held.get("a") is None


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    """One giant artifact does not empty the cache."""
    held = Artifacts(capacity_bytes=4000)
    held.put("a", Compiled(Artifact(b"a", "a")))

    held.put("giant", Compiled(Artifact(b"g" * 10_000, "g")))

    assert held.get("giant") is None
    assert held.get("a") is not None
