"""Modules, threads, restarts and time: one test for each row of docs/crossing.md."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from split_pair import Load, Patience, end, load, start

from assay.verifiers.split.remote import Candidate, CandidateGone

__all__ = ["load"]


def test_module_names_can_be_read_and_set(load: Load) -> None:
    """Globals are read as they are now, and assigning one changes what the functions see."""
    module = load("limit = 1\ndef get():\n    global limit\n    limit += 1\n    return limit\n_hidden = 5")

    assert (module.limit, module.get(), module.limit) == (1, 2, 2)
    module.subject.set("limit", 10)
    assert module.get() == 11
    assert module.subject.has("_hidden")
    assert not module.subject.has("missing")
    with pytest.raises(AttributeError):
        module.subject.get("missing")


def test_threads_of_a_test_run_side_by_side(load: Load) -> None:
    """Several threads of a test may use the candidate at once, and wait for each other inside it."""
    module = load("""
        import threading
        def square(x): return x * x
        class Queue:
            def __init__(self):
                self.items, self.ready = [], threading.Condition()
            def put(self, item):
                with self.ready:
                    self.items.append(item)
                    self.ready.notify()
            def get(self):
                with self.ready:
                    self.ready.wait_for(lambda: self.items)
                    return self.items.pop(0)
        BARRIER = threading.Barrier(8)
        def meet(): return BARRIER.wait() >= 0
    """)
    queue = module.Queue()

    with ThreadPoolExecutor(8) as pool:
        putting = pool.submit(lambda: [queue.put(n) for n in range(50)])
        received = [queue.get() for _ in range(50)]
        putting.result()
        squares = list(pool.map(module.square, range(200)))
        met = list(pool.map(lambda _: module.meet(), range(8)))

    assert received == list(range(50))
    assert squares == [n * n for n in range(200)]
    assert met == [True] * 8


def test_threads_wait_for_the_first_one(load: Load) -> None:
    """The thread that connected may block in the candidate until another one, started before, helps it."""
    module = load("""
        import threading
        event = threading.Event()
        def wait(): return event.wait(20)
        def release(): event.set()
    """)
    wait, release, started = module.wait, module.release, threading.Event()

    def help_later() -> None:
        started.wait()
        release()

    helper = threading.Thread(target=help_later)
    helper.start()
    starter = threading.Timer(0.05, started.set)
    starter.start()

    assert wait() is True
    helper.join()
    starter.join()


def test_threads_of_the_candidate_may_call_back(load: Load) -> None:
    """Threads that the candidate starts within a call may use callbacks."""
    module = load("""
        from concurrent.futures import ThreadPoolExecutor
        def spread(f, xs):
            with ThreadPoolExecutor(8) as pool:
                return list(pool.map(f, xs))
    """)

    assert module.spread(lambda x: x + 1, list(range(100))) == list(range(1, 101))


def test_tests_cannot_derive_from_the_candidates_classes(load: Load) -> None:
    """Deriving from a class of the completion is a TypeError that says so."""
    module = load("class Base: pass")

    with pytest.raises(TypeError, match="cannot be derived from"):
        type("Derived", (module.Base,), {})


def test_names_survive_a_restart(tmp_path: Path) -> None:
    """Functions and classes got by name work in the next candidate; objects of the last one raise CandidateGone."""
    source = "import os\nclass Thing:\n    def go(self): return 1\ndef f(): return Thing()\ndef die(): os._exit(1)"
    subject = Candidate(Patience())
    first, second = start(source, tmp_path), start(source, tmp_path)

    subject.connect(first[0])
    f, thing, die = subject.get("f"), subject.get("Thing"), subject.get("die")
    old = f()
    with pytest.raises(CandidateGone):
        die()
    with pytest.raises(CandidateGone):
        old.go()
    subject.connect(second[0])

    assert isinstance(f(), thing)
    assert thing().go() == 1
    with pytest.raises(CandidateGone):
        old.go()
    subject.close()
    for link, pid in (first, second):
        end(link, pid)


def test_a_load_error_is_reported(load: Load) -> None:
    """A completion that does not load says what happened; no name needs to work then."""
    module = load("def f(): pass\nraise ValueError('at import')")

    assert module.subject.load_error == ("runtime_error", "ValueError: at import")


def test_waiting_is_measured_and_bounded(load: Load) -> None:
    """The clock is asked once the candidate has kept the test waiting for its budget, and may grant more."""
    clock = Patience(0.05, 20.0)
    module = load("import time\ndef nap(s): time.sleep(s); return s", clock=clock)

    result = module.nap(0.2)

    assert result == 0.2
    assert len(clock.asked) == 1


def test_time_in_callbacks_is_not_the_candidates(load: Load) -> None:
    """Time that the candidate waits for the tests does not count."""
    clock = Patience(1.5)
    module = load("def call(f): return f()", clock=clock)
    done = time.monotonic() + 2

    def busy() -> str:
        while time.monotonic() < done:
            sum(range(1000))
        return "done"

    assert module.call(busy) == "done"
    assert clock.asked == []


def test_a_candidate_out_of_time_is_gone(load: Load) -> None:
    """When the clock grants nothing, the call raises CandidateGone, and so does all that follows."""
    module = load("def spin():\n    while True: pass\ndef f(): return 1", clock=Patience(0.05))
    f = module.f

    with pytest.raises(CandidateGone, match="timeout"):
        module.spin()
    with pytest.raises(CandidateGone):
        f()
    assert module.subject.gone == "timeout"
