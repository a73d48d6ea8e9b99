"""What runners ask of CUDA is there under that name, and laid out so, in cupy and in the driver's own header."""

import ast
import ctypes
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_cubins import FAKE

ROOT = Path(__file__).parents[3]
DOOR = ROOT / "sandboxes" / "devices" / "cuda_driver.py"
HEADERS = Path(os.environ.get("ASSAY_CUDA_ROOT", "/usr/local/cuda")) / "include"
LAYOUT = """
#include <cuda.h>
#include <stddef.h>
#include <stdio.h>
#define AT(type, member) offsetof(type, member)
int main(void) {
    printf("%zu %zu %zu %zu %zu %zu %zu %zu %zu %zu\\n", sizeof(CUlaunchAttribute), AT(CUlaunchAttribute, value),
           sizeof(CUlaunchConfig), AT(CUlaunchConfig, gridDimX), AT(CUlaunchConfig, blockDimX),
           AT(CUlaunchConfig, sharedMemBytes), AT(CUlaunchConfig, hStream), AT(CUlaunchConfig, attrs),
           AT(CUlaunchConfig, numAttrs), (size_t)CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    printf("%d %d %d %d %d\\n", CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
           CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
           CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    printf("%d %d %d\\n", CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE, CU_EVENT_DEFAULT);
    return 0;
}
"""
TOLD = """
import ctypes, json
from assay.sandboxes.devices.cuda_driver import LaunchAttribute as A, LaunchConfig as C
print(ctypes.sizeof(A), A.value.offset, ctypes.sizeof(C), C.grid.offset, C.block.offset, C.shared_bytes.offset,
      C.stream.offset, C.attributes.offset, C.count.offset, 4)
"""


def asked(module: str) -> set[str]:
    """The names that the door to cupy uses of one of its modules."""
    return {
        node.attr
        for node in ast.walk(ast.parse(DOOR.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module
    }


def lacking(module: str, folder: str) -> list[str]:
    """The names that a cupy found in `folder`, or where it is installed, does not have."""
    wanted = sorted(asked(module))
    names = f"import cupy_backends.cuda.api.{module} as it; print([n for n in {wanted} if not hasattr(it, n)])"
    environment = {**os.environ, "PYTHONPATH": folder}
    done = subprocess.run([sys.executable, "-c", names], env=environment, capture_output=True, text=True, check=True)
    return list(ast.literal_eval(done.stdout))


@pytest.mark.parametrize("module", ["driver", "runtime"])
def test_the_fake_has_all_that_is_asked_of_cupy(module: str) -> None:
    """Nothing runs only because nobody tried it."""
    assert asked(module)
    assert lacking(module, str(FAKE)) == []


@pytest.mark.skipif(importlib.util.find_spec("cupy_backends") is None, reason="cupy is not installed (extra `cuda`)")
@pytest.mark.parametrize("module", ["driver", "runtime"])
def test_cupy_has_all_that_is_asked_of_it(module: str) -> None:
    """By name; it needs no device for that."""
    assert lacking(module, "") == []


@pytest.mark.skipif(not (HEADERS / "cuda.h").exists(), reason="no cuda.h on this machine")
def test_launches_are_laid_out_as_the_header_says(tmp_path: Path) -> None:
    """Structures by size and offset, attributes and limits by number."""
    (tmp_path / "layout.c").write_text(LAYOUT)
    program = tmp_path / "layout"
    subprocess.run(["gcc", f"-I{HEADERS}", tmp_path / "layout.c", "-o", program], check=True)
    first, second, third = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()

    environment = {**os.environ, "PYTHONPATH": str(FAKE)}
    told = subprocess.run([sys.executable, "-c", TOLD], env=environment, capture_output=True, text=True, check=True)

    assert told.stdout.split() == first.split()
    assert (second, third) == ("2 8 14 6 38", "1 2 0")
    assert ctypes.sizeof(ctypes.c_void_p) == 8
