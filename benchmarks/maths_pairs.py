"""Pairs of answers for benchmarks of `math`: such as need a process, such as do not, and bombs.

`symbolic_pairs(count)`, `plain_pairs(count)` and `bombs(count)` give (right answer, boxed answer, reward); no two are
equal. `documents(pairs)` makes tasks and attempts of them.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any  # Any: tasks are JSON documents

Pair = tuple[str, str, float]
Document = Mapping[str, Any]

_SYMBOLIC: tuple[Callable[[int], tuple[str, str]], ...] = (
    lambda n: (rf"\frac{{\sqrt{{{n}}}}}{{{n}}}", rf"\frac{{1}}{{\sqrt{{{n}}}}}"),
    lambda n: (rf"{n}+\sqrt{{2}}", rf"\sqrt{{{n * n + 2}+{2 * n}\sqrt{{2}}}}"),
    lambda n: (str(n), rf"{n}\sin^2 t+{n}\cos^2 t"),
    lambda n: (rf"\ln {n * n}", rf"2\ln {n}"),
    lambda n: (rf"\sin({2 * n}x)", rf"2\sin({n}x)\cos({n}x)"),
    lambda n: (rf"{n}\sin 75^\circ", rf"\frac{{{n}\sqrt6+{n}\sqrt2}}{{4}}"),
    lambda n: (rf"\sqrt{{{n}x^2}}", rf"\sqrt{{{n}}}|x|"),
    lambda n: (rf"-{n}", rf"{n}e^{{i\pi}}"),
    lambda n: (rf"\frac{{e^{{{n}x}}+e^{{-{n}x}}}}{{2}}", rf"\cosh({n}x)"),
    lambda n: (rf"\sqrt{{{n}}}+\sqrt{{{n + 1}}}", rf"\frac{{1}}{{\sqrt{{{n + 1}}}-\sqrt{{{n}}}}}"),
)
_PLAIN: tuple[Callable[[int], tuple[str, str]], ...] = (
    lambda n: (str(n), rf"{n}.0"),
    lambda n: (rf"\frac{{{n}}}{{8}}", f"{n / 8}"),
    lambda n: (rf"(x+{n})^2", rf"x^2+{2 * n}x+{n * n}"),
    lambda n: (rf"{n}, {n + 2}", rf"\{{{n + 2}, {n}\}}"),
    lambda n: (rf"[{n},{n + 4})", rf"{n}\le x<{n + 4}"),
    lambda n: (rf"{n}\%", rf"\frac{{{n}}}{{100}}"),
)
_BOMBS: tuple[Callable[[int], str], ...] = (
    lambda n: rf"{n}^{{9^{{9^{{9}}}}}}",
    lambda n: rf"9^{{{n}^{{9}}}}",
    lambda n: rf"({n}\cdot10^{{9}})!",
    lambda n: rf"10^{{5^{{5^{{5^{{{n}}}}}}}}}",
    lambda n: rf"\frac{{1}}{{{n}^{{9^{{9}}}}}}",
    lambda n: "(" * (2000 + n),
    lambda n: "x+" * (1000 + n) + "x",
    lambda n: rf"\sqrt{{{n}^{{9^{{9}}}}}}",
)
_ENDLESS: tuple[Callable[[int], str], ...] = (
    lambda n: rf"\sum_{{k=1}}^{{\infty}}\frac{{\sin(k^{{{n}}})}}{{k^{{1.01}}}}",
    lambda n: rf"\sin(10^{{10^{{{n + 10}}}}})",
)


def symbolic_pairs(count: int) -> list[Pair]:
    """Return right answers whose equality only a process can establish."""
    return [(*make(number), 1.0) for make, number in _numbered(_SYMBOLIC, count)]


def plain_pairs(count: int) -> list[Pair]:
    """Return right answers that the worker decides by itself."""
    return [(*make(number), 1.0) for make, number in _numbered(_PLAIN, count)]


def bombs(count: int) -> list[Pair]:
    """Return answers that no computer can evaluate, each against a small number."""
    return [("5", make(number), 0.0) for make, number in _numbered(_BOMBS, count)]


def endless(count: int) -> list[Pair]:
    """Return answers that exhaust the limits of a process, each against a small number."""
    return [("5", make(number), 0.0) for make, number in _numbered(_ENDLESS, count)]


def documents(pairs: Iterable[Pair]) -> tuple[list[Document], list[Document]]:
    """Return tasks and attempts, one each for every pair."""
    tasks: list[Document] = []
    attempts: list[Document] = []
    for number, (answer, boxed, _) in enumerate(pairs):
        tasks.append({"id": f"pair-{number}", "verifier": "math", "answer": answer})
        thought = f"<think>This is attempt {number}.</think>"
        attempts.append({"task_id": f"pair-{number}", "completion": f"{thought} So it is $\\boxed{{{boxed}}}$."})
    return tasks, attempts


def _numbered(makers: tuple[Callable[[int], Any], ...], count: int) -> Iterator[tuple[Callable[[int], Any], int]]:
    return itertools.islice(((make, number) for number in itertools.count(3) for make in makers), count)
