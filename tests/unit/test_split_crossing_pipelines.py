"""Calls that are under way before the one before them has ended."""

from split_pair import Load, load

from assay.verifiers.split.subject import Raised, Returned

__all__ = ["load"]


def test_pipelined_calls_come_in_order(load: Load) -> None:
    """`call_many` yields what each call returned or raised, in order, and copies nothing back."""
    module = load("""
        def drain(xs):
            if not xs: raise ValueError("empty")
            return sum(xs.pop() for _ in range(len(xs)))
    """)
    arguments = [[n, n] for n in range(200)] + [[]]

    answers = list(module.subject.call_many("drain", [((xs,), {}) for xs in arguments]))

    assert [answer.value for answer in answers[:-1] if isinstance(answer, Returned)] == [2 * n for n in range(200)]
    assert isinstance(answers[-1], Raised)
    assert arguments[3] == [3, 3]


def test_answers_to_pipelined_calls_may_need_questions(load: Load) -> None:
    """Results of classes not yet known are understood while further calls are under way."""
    module = load("""
        from collections import namedtuple
        Pair = namedtuple("Pair", "a b")
        def pair(n): return [Pair(n, n)] if n % 2 else n
    """)

    answers = list(module.subject.call_many("pair", [((n,), {}) for n in range(40)]))

    assert answers == [Returned([(n, n)] if n % 2 else n) for n in range(40)]


def test_pipelined_calls_can_be_given_up(load: Load) -> None:
    """Answers to calls under way when the caller loses interest do not answer later questions."""
    module = load("def same(x): return x")
    calls = module.subject.call_many("same", [((n,), {}) for n in range(40)])

    first = next(calls)
    calls.close()

    assert first == Returned(0)
    assert module.same("later") == "later"
    assert list(module.subject.call_many("same", [((7,), {})])) == [Returned(7)]


def test_large_arguments_and_results_do_not_lock(load: Load) -> None:
    """Pipelined calls with megabytes both ways end."""
    module = load("def same(x): return x")
    big = ["x" * 100_000] * 20

    answers = list(module.subject.call_many("same", [((big,), {})] * 10))

    assert all(answer == Returned(big) for answer in answers)
