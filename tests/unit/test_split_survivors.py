"""Candidates that do odd things to themselves: the conversation goes on, or ends and leaves nothing."""

from pathlib import Path

import pytest
from split_pair import Load, Patience, end, load, start

from assay.verifiers.split.remote import Candidate, CandidateGone

__all__ = ["load"]


SURVIVORS = {
    "builtins": "import builtins\nfor name in ('len', 'isinstance', 'list', 'type', 'print', 'getattr', 'id', 'zip', "
    "'set', 'dict', 'map', 'next', 'iter', 'tuple', 'int', 'str', 'callable', 'any', 'all', 'enumerate', 'hasattr', "
    "'issubclass', 'sorted', 'repr', 'vars', 'range', 'min', 'max'):\n    setattr(builtins, name, None)\n",
    "msgpack": "import msgpack\nmsgpack.packb = msgpack.unpackb = msgpack.Packer = None\n",
    "json and os": "import json, os\njson.dumps = json.loads = None\nos.write = os.getpid = None\n",
    "stdout": "import sys\nsys.stdout = None\nsys.stderr = None\nsys.__stdout__ = None\n",
    "closed stdout": "import sys\nsys.stdout.close()\n",
    "modules": "import sys\nsys.modules.clear()\n",
    "trace": "import sys\nsys.settrace(lambda *args: None)\n",
    "threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
    "recursion limit": "import sys\nsys.setrecursionlimit(10**6)\n",
    "gc": "import gc\ngc.disable()\ngc.freeze()\n",
}


@pytest.mark.parametrize("source", SURVIVORS.values(), ids=list(SURVIVORS))
def test_an_eccentric_candidate_still_answers(load: Load, source: str) -> None:
    """A completion that patches builtins, modules or streams does not break its own conversation."""
    module = load(source + "def add(a, b):\n    return [a + b]\n")

    assert module.add(1, 2) == [3]
    assert module.add([1], [2]) == [[1, 2]]


@pytest.mark.parametrize(
    "body", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.closerange(0, 1024)", "os.abort()"]
)  # fmt: skip
def test_a_candidate_that_dies_in_a_call_is_gone(load: Load, body: str) -> None:
    """A process that ends in the middle of a call is CandidateGone, not an answer."""
    module = load(f"import os\ndef f():\n    {body}\n")

    with pytest.raises(CandidateGone):
        module.f()


def test_a_forked_copy_does_not_answer(load: Load) -> None:
    """When a call returns twice, in two processes, only the first process answers."""
    module = load("import os\ndef f():\n    return os.fork() == 0\ndef g(): return os.getpid()")

    assert module.f() is False
    assert module.g() == module.g()


def test_a_result_that_no_frame_holds_is_an_error_of_the_test(load: Load) -> None:
    """A result over the frame cap is an OverflowError, and the candidate lives on."""
    module = load("def huge(): return 'x' * (65 * 1048576)\ndef f(): return 1")

    with pytest.raises(OverflowError):
        module.huge()

    assert module.f() == 1


def test_starting_twice_leaves_nothing(tmp_path: Path) -> None:
    """Connecting to a second candidate closes the link to the first."""
    subject = Candidate(Patience())
    first, second = start("def f(): return 1", tmp_path), start("def f(): return 2", tmp_path)

    subject.connect(first[0])
    subject.connect(second[0])

    assert subject.get("f")() == 2
    assert first[0].fileno() == -1
    subject.close()
    for link, pid in (first, second):
        end(link, pid)
