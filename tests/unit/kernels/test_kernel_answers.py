"""What is taken from a completion: the source with the entry, and launches, or the reason why there are none."""

import json
import time

import pytest

from assay.sandboxes.devices.cuda_control import PAGE_BYTES, Plan, read_plan, write_plan
from assay.verifiers.kernels.answers import PlanRefused, read_offer
from assay.verifiers.kernels.buffers import lay_out, segment_bytes
from assay.verifiers.kernels.generators import ValueProfile, random_stream
from assay.verifiers.kernels.problems import make_call, make_problem
from assay.verifiers.kernels.task import KernelTask, Language

C = KernelTask.model_validate({"id": "c", "verifier": "kernel", "kernel": "gemm/float32"})
CUDA = KernelTask.model_validate({"id": "cu", "verifier": "kernel", "kernel": "gemm/float32", "backend": "cuda"})
GEMM = "void gemm(const float *a) { }\n"
OWN = [{"kernel": "mine", "blocks": ["ceildiv(m, 8)", "n", "1"], "threads": ["64", "1", "1"], "arguments": ["a", "c"]}]


@pytest.mark.parametrize(
    ("completion", "source"),
    [
        (f"Here it is.\n```c\n{GEMM}```\nDone.", GEMM),
        (f"```\n{GEMM}```", GEMM),
        (f"~~~C\n{GEMM}~~~", GEMM),
        (f"```cpp\n{GEMM}", GEMM),  # cut off
        (f"```c\n{GEMM}```\n```c\nint main(void) {{ return 0; }}\n```", GEMM),
        (f"```c\nvoid gemm(int);\n```\n```c\n{GEMM}```", GEMM),
        (f"<think>```c\nvoid gemm(bad)\n```</think>\n```c\n{GEMM}```", GEMM),
        ("```c\nvoid other(void) { }\n```", "void other(void) { }\n"),
        (GEMM, GEMM),
        ("```python\ndef gemm(): pass\n```", None),
        ("<think>" + GEMM, None),
        ("```c\n```", None),
        ("", None),
        ("I cannot.", None),
    ],
)
def test_the_source_is_found(completion: str, source: str | None) -> None:
    """The last block that names the entry; a text without blocks is the source itself."""
    offered = read_offer(C, completion)

    assert (None if offered is None else offered.source) == source
    assert offered is None or offered.plan is None


def test_launches_come_from_the_task_unless_the_completion_brings_its_own() -> None:
    """As a list, or as the field `plan`; the source then need not name the task's entry."""
    kernel = '```cuda\nextern "C" __global__ void mine(const float *a) { }\n```\n'

    derived = read_offer(CUDA, f"```cuda\n{GEMM}```")
    brought = [read_offer(CUDA, f"{kernel}```json\n{json.dumps(plan)}\n```") for plan in (OWN, {"plan": OWN})]

    assert derived is not None
    assert derived.plan == CUDA.plan
    for offered in brought:
        assert offered is not None
        assert "mine" in offered.source
        assert offered.plan is not None
        assert (offered.plan[0].kernel, offered.plan[0].blocks[0]) == ("mine", "ceildiv(m, 8)")


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("1" * 5000, "not JSON"),
        ("[]", "0 steps"),
        ("3", "is none"),
        ('[{"kernel": "k", "blocks": ["m(", "1", "1"]}]', "is none"),
        ('[{"kernel": "k", "blocks": ["__import__", "1", "1"]}]', "no axis"),
        ('[{"kernel": "k", "arguments": ["secret"]}]', "no parameter"),
        (json.dumps([{"kernel": "k"}] * 65), "65 steps"),
        *(
            (json.dumps([{"kernel": "gemm", **given}]), words)
            for given, words in [
                ({"blocks": ["m // (n - n)"]}, "size 0: division by zero"),
                ({"blocks": ["*".join("m" * 60)]}, "62 bits"),
                ({"blocks": ["1", "m - m"]}, r"blocks\[1\] is not from 1 to 65535"),
                ({"blocks": [2**31]}, r"blocks\[0\] is not"),
                ({"blocks": [-1]}, r"blocks\[0\] is not"),
                ({"threads": [32, 64]}, "more than 1024 threads"),
                ({"shared_bytes": -1}, "shared_bytes is not"),
                ({"shared_bytes": "2147483648"}, "shared_bytes is not"),
                ({"blocks": "K", "constants": {"K": 10**400}}, "62 bits"),
                ({"blocks": [10**400]}, "is none"),
                ({"constants": {"K": "\ud800"}}, "no text"),
                ({"constants": {"\ud800": 1}}, "no text"),
                ({"constants": {"K" * 1000: 1}}, "at most 200"),
                ({"K" * 10_000: 1}, "none: 0.KKK"),
                ({"kernel": "\ud800"}, "none"),
                ({"cluster": [0, 1, 1]}, "greater than 0"),
                ({"cluster": [2**70, 1, 1]}, "at most 16"),
                ({"arguments": ["m"] * 10_000}, "at most 256"),
            ]
        ),
    ],
)
def test_what_is_no_plan_is_refused(plan: str, words: str) -> None:
    """With the reason; nothing in it is evaluated."""
    with pytest.raises(PlanRefused, match=words) as refused:
        read_offer(CUDA, f"```cuda\n{GEMM}```\n```json\n{plan}\n```")

    assert len(str(refused.value).encode()) < 1000


def test_every_plan_that_is_taken_can_be_sent_to_a_device() -> None:
    """The largest that there is fits the page of its call; numbers stand for themselves everywhere."""
    step = {"kernel": "k" * 256, "arguments": ["c"] * 256, "null_pointers": 8, "blocks": [1, 65_535, 65_535]}
    plan = json.dumps([{**step, "threads": [1024], "shared_bytes": 4096, "cluster": [1, 1, 16]}] * 64)

    offered = read_offer(CUDA, f"```cuda\n{'k' * 256}\n```\n```json\n{plan}\n```")

    assert offered is not None
    problem = make_problem(CUDA, b"a secret of the tests", ("a",), CUDA.shapes[-1].axes, ValueProfile.NORMAL)
    rng = random_stream(b"a secret of the tests", "f")
    frame = lay_out(problem.placed, problem.values, segment_bytes(problem.placed), rng)
    page = memoryview(bytearray(PAGE_BYTES))
    write_plan(page, Plan(make_call(problem, frame, offered.plan), 0))
    assert len(read_plan(page).call.launches) == 64


@pytest.mark.parametrize("piece", ["```", "```c\n", "<think>", "~~~\n", "`", "gemm", "\n```json\n["])
def test_any_text_is_read_in_time(piece: str) -> None:
    """A megabyte of anything."""
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()

    read_offer(C, text)

    assert time.process_time() - started < 5.0  # a twentieth of it is usual; a search that is quadratic takes hours


MODULE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, a, b):\n        return a @ b\n"
TRITON = "import triton\n\n\n@triton.jit\ndef gemm(a, b, c, m, n, k):\n    pass\n"


@pytest.mark.parametrize("tag", ["python", "py", "torch", ""])
def test_modules_are_found_by_their_class(tag: str) -> None:
    """Whatever the task's entry is called."""
    task = KernelTask.model_validate({"id": "t", "verifier": "kernel", "kernel": "gemm/float32", "language": "torch"})

    offered = read_offer(task, f"```{tag}\n{MODULE}```\n```python\nprint('a use of it')\n```")

    assert offered is not None
    assert (offered.source, offered.language, offered.plan) == (MODULE, Language.TORCH, None)


def test_a_launch_alone_is_a_plan() -> None:
    """And numbers, and fewer than three of them, stand for themselves."""
    task = KernelTask.model_validate(
        {"id": "t", "verifier": "kernel", "kernel": "gemm/float32", "backend": "cuda", "language": "triton"}
    )
    plan = json.dumps({"kernel": "gemm", "blocks": ["ceildiv(m, B)", 2], "constants": {"B": 16}, "warps": 2})

    offered = read_offer(task, f"```python\n{TRITON}```\n```json\n{plan}\n```")
    without = read_offer(task, f"```python\n{TRITON}```")

    assert offered is not None
    assert offered.plan is not None
    assert offered.plan[0].blocks == ("ceildiv(m, B)", "2", "1")
    assert offered.plan[0].integers == {"B": 16}
    assert without is not None
    assert without.plan == task.launches
