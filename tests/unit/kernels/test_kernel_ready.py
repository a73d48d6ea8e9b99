"""Ready tasks: each can be judged by, by name or written out, on a processor and on a device."""

from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.extras import CUDA_DEVICE
from assay.verifiers.builtin import default_registry
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.ready import NAMES, ready
from assay.verifiers.kernels.task import KernelTask, Language, Tier


def by_name(name: str, **fields: Any) -> KernelTask:
    """The ready task, with fields of its own."""
    return KernelTask.model_validate({"id": "k", "verifier": "kernel", "kernel": name, **fields})


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_with_a_ready_task(name: str) -> None:
    """No lazy kernel passes, and its hidden sizes hold what tiles do not fit."""
    task = by_name(name)

    assert lint(task) == ()
    assert sum(shape.weight > 0 for shape in task.public_shapes) == 1
    assert sum(shape.weight > 0 for shape in task.hidden_shapes) == 1
    extents = {extent for shape in task.hidden_shapes for extent in shape.axes.values()}
    assert 1 in extents
    assert any(extent % 2 for extent in extents if extent > 64)


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_the_task_written_out(name: str, backend: str) -> None:
    """Field by field, so that one may be copied and changed."""
    written = KernelTask.model_validate({"id": "k", "verifier": "kernel", "backend": backend, **ready(name, backend)})

    named = by_name(name, backend=backend)

    assert named.model_dump(exclude={"kernel"}) == written.model_dump(exclude={"kernel"})
    assert (named.tier is Tier.DEVICE_ONLY) == (named.language is Language.CUDA) == (backend == "cuda")


def test_fields_of_the_task_go_first() -> None:
    """A ready task with other sizes."""
    task = by_name("axpy/float32", public_shapes=[{"axes": {"n": 1000}}])

    assert [shape.axes["n"] for shape in task.public_shapes] == [1000]
    assert len(task.hidden_shapes) == 4


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    """At its place in the task."""
    with pytest.raises(InvalidRequest, match="gemm/float16"):
        default_registry().parse_task({"id": "k", "verifier": "kernel", "kernel": "gemm/float8"})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"backend": "cuda", "language": "c"}, "cuda runs device_only kernels in cuda_cpp, ptx, triton"),
        ({"backend": "cuda", "tier": "native", "language": "triton"}, "cuda runs native kernels in cuda_cpp, torch"),
        ({"backend": "cuda", "tier": "native", "plan": [{"kernel": "gemm"}]}, "launches itself"),
        ({"backend": "cuda", "tier": "device_only", "language": "torch"}, "device_only kernels in cuda_cpp"),
        ({"tier": "device_only"}, "cpu runs no device_only kernels"),
        ({"tier": "device_only", "language": "triton"}, "cpu runs no kernels in triton: it runs c, torch"),
        ({"backend": "cuda", "plan": []}, "plan"),
        ({"backend": "cuda", "plan": [{"kernel": "gemm", "blocks": ["q"]}]}, "reads 'q', which is no axis"),
        ({"backend": "cuda", "plan": [{"kernel": "gemm", "arguments": ["q"]}]}, "passes 'q', which is no parameter"),
        ({"backend": "cuda", "plan": [{"kernel": "gemm", "constants": {"m": 1}}]}, "'m' has the name of an axis"),
        ({"backend": "cuda", "language": "triton", "plan": [{"kernel": "a"}, {"kernel": "b"}]}, "launched once"),
        ({"backend": "cuda", "plan": [{"kernel": "gemm", "warps": 3}]}, "power of two"),
        ({"language": "cuda_cpp"}, "cpu runs native kernels in c, torch"),
        ({"reference": {"language": "cuda_cpp", "source": "x"}}, "and the reference is in cuda_cpp"),
    ],
)
def test_what_cannot_be_run_is_refused(fields: dict[str, Any], words: str) -> None:
    """Before anything is judged."""
    with pytest.raises(ValueError, match=words):
        by_name("gemm/float32", **fields)


@pytest.mark.parametrize("name", ["gemm/int32", "convolution/int32"])
def test_a_module_on_cuda_is_timed_beside_what_torch_has_not(name: str) -> None:
    """Products of integers: host code with a kernel of its own."""
    task = by_name(name, backend="cuda", language="torch")

    assert (task.tier, task.language, task.reference.language) == ("native", "torch", "cuda_cpp")


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"gemm/int32", "convolution/int32"}))
@pytest.mark.parametrize(("language", "words"), [("cuda_cpp", "cudaStream_t stream) {"), ("torch", "class Model(")])
def test_ready_tasks_on_cuda_have_native_references(name: str, language: str, words: str) -> None:
    """With host code, or a module: either is run in a process of its own, and has no launch plan."""
    task = by_name(name, backend="cuda", tier="native", language=language)

    assert (task.tier, task.reference.language, task.launches, task.reference_launches) == (
        "native", language, None, None,
    )  # fmt: skip
    assert words in task.reference.source
    assert ("torch" in task.requires) is (language == "torch")


def test_a_module_on_cuda_is_native_by_itself() -> None:
    """Nobody needs to say so; its reference may be host code all the same, or the other way round."""
    source = {"language": "cuda_cpp", "source": "void gemm() {}"}

    assert by_name("gemm/float32", backend="cuda", language="torch").tier is Tier.NATIVE
    assert by_name("gemm/float32", backend="cuda", language="torch", reference=source).reference.language == "cuda_cpp"


def test_a_plan_is_derived_where_the_task_gives_none() -> None:
    """One thread for each element of the output; in Triton, one program for each `BLOCK` of them."""
    written = by_name("gemm/float32", backend="cuda", plan=None)
    triton = by_name("gemm/float32", backend="cuda", language="triton", plan=None)

    assert written.launches is not None
    assert (written.launches[0].blocks[0], written.launches[0].threads[0]) == ("ceildiv((m) * (n), 256)", "256")
    assert triton.launches is not None
    assert triton.launches[0].blocks[0] == "ceildiv((m) * (n), BLOCK)"
    assert by_name("gemm/float32").launches is None


@pytest.mark.parametrize("name", NAMES)
def test_a_ready_task_can_be_asked_for_as_a_module(name: str) -> None:
    """Against torch's own; only where torch is installed."""
    task = by_name(name, language="torch")

    assert "torch" in task.requires
    assert (task.tier, task.reference.language, task.launches) == (Tier.NATIVE, Language.TORCH, None)


def test_modules_need_to_be_told_every_axis() -> None:
    """Shapes are computed in the runner, from scalars of the abi."""
    document = dict(ready("transpose/float32", "cpu", "torch"))
    document["abi"] = {"entry": "t", "params": document["abi"]["params"][:-1]}

    with pytest.raises(ValueError, match="a scalar parameter for each axis"):
        KernelTask.model_validate({"id": "k", "verifier": "kernel", **document})


@pytest.mark.parametrize("name", NAMES)
def test_a_ready_task_can_be_asked_for_in_triton(name: str) -> None:
    """Against the reference in CUDA; only where triton is installed."""
    task = by_name(name, backend="cuda", language="triton")

    assert "triton" in task.requires
    assert (task.reference.language, task.language) == (Language.CUDA, Language.TRITON)
    assert task.launches == task.plan
    assert task.reference_launches == task.reference.plan
    assert by_name(name, backend="cuda").requires == (CUDA_DEVICE, "cupy_backends")
    assert by_name(name).requires == ()
