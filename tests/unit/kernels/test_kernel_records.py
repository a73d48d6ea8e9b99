"""What results say of how a kernel was timed, and of what it was compiled to."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_kernels import SECRET, gemm_task, operands, run, script, times

from assay.details import LONGEST_NAME, MOST_NAMES, ArtifactRecord, Details, DeviceRecord
from assay.sandboxes.devices.interface import Form
from assay.verifiers.kernels.device_gate import CubinFacts, DeviceRules, check_cubin
from assay.verifiers.kernels.findings import Measured
from assay.verifiers.kernels.mentions import KINDS, find_mentions
from assay.verifiers.kernels.native_gate import NativeFacts, NativeRules, check_native
from assay.verifiers.kernels.records import record_artifact, record_session

RECORDED = Path(__file__).parent / "recorded"
HELD = DeviceRecord(name="scripted", state=("unlocked",), lease=7)


def test_a_session_is_told_shape_by_shape() -> None:
    """Medians, interval, rounds, order, noise and time; a hidden size by its index alone."""
    task = gemm_task(
        hidden_shapes=[{"axes": {"m": 3, "n": 5, "k": 7}}, {"axes": {"m": 1, "n": 2, "k": 3}, "weight": 0}]
    )
    found = run(script(seconds=5e-4), task)
    assert isinstance(found, Measured)

    told = record_session(task, found, HELD)

    public, hidden = told.shapes
    speed = found.shapes[0].speed
    assert speed is not None
    assert (public.index, public.axes, public.is_hidden) == (0, {"m": 8, "n": 6, "k": 4}, False)
    assert (hidden.index, hidden.axes, hidden.is_hidden) == (1, None, True)
    assert (public.speedup, public.is_significant) == (pytest.approx(speed.speedup, rel=1e-5), True)
    assert (public.rounds, public.generations, public.looks) == (speed.rounds, speed.generations, found.shapes[0].looks)
    assert public.candidate_s == pytest.approx(5e-4, rel=1e-3)
    assert len(public.position_effects) == 3
    assert (told.device, told.checked, told.reference) == (HELD, found.checked, "reference")


def test_a_record_tells_no_secret_and_no_hidden_extent() -> None:
    """Of a task whose one timed size is hidden; what is told is JSON without NaN or infinities, and reads back."""
    task = gemm_task(
        public_shapes=[{"axes": {"m": 8, "n": 6, "k": 4}, "weight": 0}],
        hidden_shapes=[{"axes": {"m": 41, "n": 43, "k": 47}}],
    )
    found = run(script(), task)
    assert isinstance(found, Measured)
    speed = times(found).speed
    assert speed is not None
    endless = replace(found.shapes[0], speed=replace(speed, safe_high=math.inf, twin_bias=math.nan))

    told = record_session(task, replace(found, shapes=(endless,)), HELD)

    text = json.dumps(told.model_dump(mode="json"), allow_nan=False)
    assert (told.shapes[0].safe_high, told.shapes[0].twin_bias) == (None, None)
    assert not any(word in text for word in (": 41", ": 43", ": 47", SECRET.decode(), SECRET.hex()))
    assert '"axes": null' in text
    assert Details.model_validate(json.loads(text)) == told


def test_a_refused_candidate_has_no_shapes() -> None:
    """But the device that it was run on."""
    task = gemm_task()

    told = record_session(task, run(script(operands), task), HELD)

    assert (told.shapes, told.device, told.checked) == ((), HELD, 0)


def test_static_facts_of_both_gates_are_told() -> None:
    """Libraries and symbols of a shared object; registers and memory of a cubin; nothing of a module."""
    roots = (RECORDED / "roots_x86-64_gcc12.2.so").read_bytes()
    axpy = (RECORDED / "axpy_sm90_nvcc13.0.88.cubin").read_bytes()

    native = record_artifact(Form.SHARED_OBJECT, roots, check_native(roots, NativeRules(("roots",))), ("library",))
    cubin = record_artifact(Form.CUBIN, axpy, check_cubin(axpy, DeviceRules(("axpy",), "sm_90")), ())
    module = record_artifact(Form.MODULE, b"import torch", None, ())

    assert (native.form, native.needed, native.imports, native.constructors) == (
        "shared_object", ("libm.so.6",), ("sinf",), 1,
    )  # fmt: skip
    assert (native.mentions, native.size_bytes, len(native.sha256)) == (("library",), len(roots), 64)
    assert (cubin.arch, [(one.name, one.shared_bytes, one.max_threads) for one in cubin.kernels]) == (
        "sm_90", [("axpy", 1024, 128)],
    )  # fmt: skip
    assert module == ArtifactRecord(form="module", sha256=module.sha256, size_bytes=12)


def test_names_that_a_candidate_chose_are_bounded() -> None:
    """However many it has, and however long they are."""
    names = tuple(f"{index}{'x' * 1000}" for index in range(1000))

    native = record_artifact(Form.SHARED_OBJECT, b"", NativeFacts(0, names, names, 0, names), ())
    cubin = record_artifact(Form.CUBIN, b"", CubinFacts((), 90, 0, 0), ())

    for found in (native.needed, native.imports, native.exports):
        assert len(found) == MOST_NAMES
        assert max(map(len, found)) == LONGEST_NAME
    assert cubin.kernels == ()


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);", ("stream",)),
        ("/* cudaStreamCreate */ // dlopen\nfor (;;) forked++;", ()),
        ("cublasGemmEx(h); void *l = dlopen(name, 1); cudaMalloc(&p, 8);", ("allocation", "library", "loading")),
        ("window.accessPolicyWindow.hitRatio = 1; asm volatile (x);", ("persisting_l2", "assembly")),
        ("pthread_create(&t, 0, later, 0); clock_gettime(1, &now);", ("thread", "clock")),
    ],
)
def test_40_what_a_source_names_is_told(source: str, kinds: tuple[str, ...]) -> None:
    """Outside of comments, in C, as the catalogue of hacks has it (C13, and streams of published kernels)."""
    assert find_mentions(source, is_python=False) == kinds


def test_what_a_module_names_is_told() -> None:
    """In Python."""
    source = (
        "import torch  # cudaStreamCreate\nclass ModelNew:\n    def forward(self, a, b): return torch.matmul(a, b)\n"
    )

    assert find_mentions(source, is_python=True) == ("library",)
    assert find_mentions("s = torch.cuda.Stream()", is_python=True) == ("stream",)
    assert set(find_mentions("ctypes", is_python=True)) <= set(KINDS)
