"""The guide for kernel tasks shows tasks that are taken and answers that are read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from assay.verifiers.builtin import default_registry
from assay.verifiers.described import described_schema
from assay.verifiers.kernels.answers import read_offer
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.ready import NAMES, ready
from assay.verifiers.kernels.task import KernelTask, Language
from assay.verifiers.reference import render_entry

PAGE = (Path(__file__).parents[2] / "docs" / "kernel-tasks.md").read_text(encoding="utf-8")
BLOCKS = [(found[1], found[2]) for found in re.finditer(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
DOCUMENTS = [json.loads(text) for tag, text in BLOCKS if tag == "json"]
TASKS = [document for document in DOCUMENTS if "verifier" in document]
PLANS = [document for document in DOCUMENTS if "verifier" not in document]
FLIP = next(task for task in TASKS if task["id"] == "t1")


@pytest.mark.parametrize("document", TASKS, ids=lambda document: document["id"])
def test_tasks_are_taken(document: Any) -> None:
    """Each can be judged by."""
    task = default_registry().parse_task(document)

    assert isinstance(task, KernelTask)
    assert lint(task) == ()


def test_the_page_shows_a_ready_tasks_prototype() -> None:
    """As the schema of tasks has it, for every ready task, with the sizes that a prompt may name."""
    ready = {one["name"]: one for one in described_schema(KernelTask)["properties"]["kernel"]["ready"]}

    assert tuple(ready) == NAMES
    assert f"```c\n{ready['gemm/float32']['c']}\n```" in PAGE
    assert ready["axpy/float16"] == {
        "name": "axpy/float16",
        "c": "void axpy(_Float16 alpha, const _Float16 *x, const _Float16 *y, _Float16 *out, int64_t n)",
        "cuda": "void axpy(__half alpha, const __half *x, const __half *y, __half *out, int64_t n)",
        "sizes": "n 1048576; n 4096",
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_prototypes_of_ready_tasks_are_those_of_their_references(name: str) -> None:
    """So a kernel that follows them takes what it is given."""
    (shown,) = (one for one in described_schema(KernelTask)["properties"]["kernel"]["ready"] if one["name"] == name)
    source = ready(name, "cpu")["reference"]["source"]
    own = re.search(r"^void .*?\)", source, re.MULTILINE | re.DOTALL)

    assert own is not None
    assert re.findall(r"\w+(?=[,)])", own[0]) == re.findall(r"\w+(?=[,)])", shown["c"])
    assert f"`{shown['c']}`" in render_entry(default_registry(), "kernel")


def test_a_kernel_in_c_is_read() -> None:
    """For the task that is written out."""
    source = next(text for tag, text in BLOCKS if tag == "c" and "flip" in text)

    offered = read_offer(KernelTask.model_validate(FLIP), f"Blocked:\n```c\n{source}```")

    assert offered is not None
    assert (offered.source, offered.plan) == (source, None)


@pytest.mark.parametrize(("tag", "language", "plan"), [("cuda", "cuda_cpp", 0), ("python", "triton", 1)])
def test_device_kernels_are_read_with_their_launches(tag: str, language: str, plan: int) -> None:
    """As a completion would hold them."""
    reference = {"language": "cuda_cpp", "source": next(text for kind, text in BLOCKS if kind == "cuda")}
    fields = {"backend": "cuda", "tier": "device_only", "language": language, "reference": reference}
    task = KernelTask.model_validate({**FLIP, **fields})
    source = next(text for kind, text in BLOCKS if kind == tag)

    offered = read_offer(task, f"```{tag}\n{source}```\n```json\n{json.dumps(PLANS[plan])}\n```")

    assert offered is not None
    assert (offered.source, offered.language) == (source, Language(language))
    assert offered.plan is not None
    assert offered.plan[0].kernel == "flip"


def test_a_module_is_read() -> None:
    """For the ready task that it is for."""
    task = KernelTask.model_validate(
        {"id": "t", "verifier": "kernel", "kernel": "transpose/float32", "language": "torch"}
    )
    source = next(text for tag, text in BLOCKS if tag == "torch")

    offered = read_offer(task, f"```python\n{source}```")

    assert offered is not None
    assert (offered.source, offered.language) == (source, Language.TORCH)
