"""Kernels over HTTP: compiled, judged in a process of their own, and paid by their speed."""

import statistics
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from batches import follow, submit
from isolation import skipped_without

from assay.sandboxes.backends import open_pool
from assay.service.serve import embedded
from assay.settings import Settings
from assay.verifiers.kernels.compile import Compiler

pytestmark = pytest.mark.jail
ATTEMPTS = 3
SLOW = """#include <stdint.h>
void gemm(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}
"""
ROWS = """#include <stdint.h>
void gemm(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) c[i * n + j] = 0;
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
}
"""
"""Vectorised, and not blocked."""
BLOCKED = """#include <stdint.h>
enum { HIGH = 4, WIDE = 32 };
static void tile(const float *a, const float *b, float *c, int64_t n, int64_t k) {
    float sums[HIGH][WIDE] = {{0}};
    for (int64_t p = 0; p < k; p++)
        for (int r = 0; r < HIGH; r++)
            for (int j = 0; j < WIDE; j++) sums[r][j] += a[r * k + p] * b[p * n + j];
    for (int r = 0; r < HIGH; r++)
        for (int j = 0; j < WIDE; j++) c[r * n + j] = sums[r][j];
}
void gemm(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
    int64_t high = m / HIGH * HIGH, wide = n / WIDE * WIDE;
    for (int64_t j = 0; j < wide; j += WIDE)
        for (int64_t i = 0; i < high; i += HIGH) tile(a + i * k, b + j, c + i * n + j, n, k);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i < high ? wide : 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}
"""
WRONG = BLOCKED.replace("? wide : 0", "? n : 0")
"""Leaves the columns out that fill no tile."""
TASK = {
    "id": "gemm",
    "verifier": "kernel",
    "kernel": "gemm/float32",
    "public_shapes": [{"axes": {"m": 128, "n": 128, "k": 128}}],
    "hidden_shapes": [{"axes": {"m": 67, "n": 129, "k": 31}, "weight": 0}],
    "timing": {"warm_up_s": 0.05, "time_s": 0.4, "first_look_s": 0.1, "cache": "warm"},
    "speedup_cap": 1000,
}


@pytest.fixture(scope="module")
def url(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001 - skips
    """A service with one slot of real jails; skipped where there are none, or no gcc in them."""
    settings = Settings(
        port=0, data_dir=tmp_path_factory.mktemp("service"), slots=1, sandbox="local", log_level="error"
    )
    with skipped_without():
        pool = open_pool(settings)
    try:
        with pool.slot() as slot:
            if not Compiler().toolchain(slot).gcc:
                pytest.skip("no gcc where attempts run")
    finally:
        pool.close()
    with embedded(settings) as address:
        yield address


def results(url: str, completions: list[str]) -> list[dict[str, Any]]:
    """What became of each, in order."""
    attempts = [{"task_id": "gemm", "completion": f"```c\n{text}```"} for text in completions]
    with httpx.Client(base_url=url, timeout=600) as http:
        batch_id = submit(http, {"tasks": [TASK], "attempts": attempts})
        lines = follow(http, batch_id)
    return sorted(lines, key=lambda line: line["index"])


def test_an_honest_kernel_earns_the_more_the_faster_it_is(url: str) -> None:
    """Medians of several attempts stand in the order of the kernels; what the machine leaves undecided is left out."""
    kernels = {"slow": SLOW, "rows": ROWS, "blocked": BLOCKED}

    found = results(url, [text for _ in range(ATTEMPTS) for text in kernels.values()])

    rewards: dict[str, list[float]] = {name: [] for name in kernels}
    for number, result in enumerate(found):
        assert result["outcome"] in ("passed", "failed", "inconclusive"), result["message"]
        assert (result["reward"] is None) == (result["outcome"] == "inconclusive")
        if result["reward"] is not None:
            rewards[list(kernels)[number % len(kernels)]].append(result["reward"])
    if not all(rewards.values()):
        pytest.skip(f"the machine was too busy to time every kernel: {rewards}")
    slow, rows, blocked = (statistics.median(rewards[name]) for name in kernels)
    assert slow < rows < blocked, rewards


def test_a_fast_kernel_that_is_wrong_earns_nothing(url: str) -> None:
    """Nor does one that does not compile, or offers nothing."""
    wrong, broken, none = results(url, [WRONG, "void gemm(", ""])

    assert (wrong["outcome"], wrong["reward"]) == ("failed", 0.0)
    assert "at hidden 1" in wrong["message"]
    assert wrong["details"]["device"]["lease"] >= 1
    assert "gemm" in wrong["details"]["artifact"]["exports"]
    assert (broken["outcome"], broken["reward"], broken["details"]) == ("compile_error", 0.0, None)
    assert (none["outcome"], none["reward"]) == ("no_answer", 0.0)


def test_equal_work_is_measured_again(url: str) -> None:
    """A time is never answered from memory."""
    found = results(url, [SLOW, SLOW])

    assert [result["cached"] for result in found] == [False, False]
