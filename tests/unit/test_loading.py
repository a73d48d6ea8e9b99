"""Building the completion's module (in a forked process: loading changes the process it happens in)."""

import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any  # whatever a test returns

import pytest

from assay.verifiers.extraction import read_completion
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import LoadedModule, load, pack_sources


def _in_child(folder: Path, action: Callable[[], Any]) -> Any:
    """Return what `action` returns in a child process whose working directory is `folder`."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(action(), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(data)


def _load(
    folder: Path, completion: str, look: Callable[[LoadedModule], Any], *, module: str = "solution", **fields: Any
) -> Any:
    sources = Sources(read_completion(completion), **fields)
    payload = pack_sources(sources, module, ())
    return _in_child(folder, lambda: look(load(payload)))


def _error(folder: Path, completion: str, **fields: Any) -> tuple[str, str] | None:
    error = _load(folder, completion, lambda loaded: loaded.error, **fields)
    assert error is None or isinstance(error, tuple)
    return error


def test_the_module_is_registered_and_is_not_main(tmp_path: Path) -> None:
    """A guarded main part does not run, and the module is found by its name."""
    code = "name = __name__\nif __name__ == '__main__':\n    input()\n"
    seen = _load(tmp_path, code, lambda loaded: (loaded.module.name, sys.modules["solution"] is loaded.module))

    assert seen == ("solution", True)


def test_the_file_holds_the_source(tmp_path: Path) -> None:
    """`__file__` is a real file in the working directory."""
    seen = _load(tmp_path, "x = open(__file__).read()", lambda loaded: loaded.module.x)

    assert seen == "x = open(__file__).read()"


def test_typing_names_are_predefined_but_no_part_of_the_module(tmp_path: Path) -> None:
    """`List` needs no import, `math` does, and neither becomes the module's own."""
    code = "def f(x: List[int]) -> Optional[int]: ..."
    seen = _load(tmp_path, code, lambda loaded: (loaded.error, "List" in vars(loaded.module)))

    assert seen == (None, False)


def test_nothing_else_is_predefined(tmp_path: Path) -> None:
    """A forgotten import is the completion's fault."""
    error = _error(tmp_path, "x = math.pi")

    assert error == ("runtime_error", "NameError: name 'math' is not defined")


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("import sys\nsys.exit(0)", "runtime_error"),
        ("raise KeyboardInterrupt", "runtime_error"),
        ("raise BaseException", "runtime_error"),
        ("import no_such_module", "runtime_error"),
        ("raise MemoryError", "memory_exceeded"),
        ("def f(:", "compile_error"),
        ("", "no_answer"),
        ("class E(Exception):\n    def __str__(self): raise SystemExit\nraise E", "runtime_error"),
    ],
)
def test_what_goes_wrong_while_loading_has_a_word(tmp_path: Path, code: str, outcome: str) -> None:
    """An exit at import is no success, whatever its code."""
    error = _error(tmp_path, code)

    assert error is not None
    assert error[0] == outcome


def test_dataclasses_with_text_annotations_work(tmp_path: Path) -> None:
    """They look their module up in sys.modules."""
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    code = f"{head}@dataclass\nclass P:\n    x: int\nv = P(3).x"

    assert _load(tmp_path, code, lambda loaded: loaded.module.v) == 3


def test_a_method_of_class_solution_is_bound_to_the_bare_name(tmp_path: Path) -> None:
    """Each call gets a new instance."""
    code = "class Solution:\n    def f(self):\n        self.n = getattr(self, 'n', 0) + 1\n        return self.n\n"
    seen = _load(tmp_path, code, lambda loaded: [loaded.module.f(), loaded.module.f()], entry="f")

    assert seen == [1, 1]


def test_a_dotted_entry_point_is_bound_under_a_name_of_its_own(tmp_path: Path) -> None:
    """The oracle asks for it by that one name."""
    code = "class Tool:\n    def run(self, x):\n        return x\n"

    assert _load(tmp_path, code, lambda loaded: vars(loaded.module)["Tool:run"](4), entry="Tool.run") == 4


def test_a_dotted_module_has_its_packages(tmp_path: Path) -> None:
    """`from app.core import f` finds it."""
    seen = _load(tmp_path, "x = 1", lambda loaded: sys.modules["app"].core is loaded.module, module="app.core")

    assert seen is True


def test_prompt_classes_are_named(tmp_path: Path) -> None:
    """Instances of these cross by value."""
    prompt = "class Node:\n    ...\n\ndef f(n):\n    '''doc'''\n"
    full = _load(
        tmp_path, "def f(n):\n    return Node()", lambda loaded: loaded.prompt_classes, prompt=prompt, entry="f"
    )
    body = _load(tmp_path, "    return Node()", lambda loaded: loaded.prompt_classes, prompt=prompt, entry="f")

    assert (full, body) == (("Node",), ("Node",))


def test_the_usual_recursion_depth_is_left(tmp_path: Path) -> None:
    """Frames of ours do not shorten the thousand a program has."""
    code = "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nx = f(990)"

    assert _error(tmp_path, code) is None


def test_random_numbers_are_the_same_each_time(tmp_path: Path) -> None:
    """The same attempt twice gives the same verdict."""
    code = "import random\nx = random.random()"

    assert len({_load(tmp_path, code, lambda loaded: loaded.module.x) for _ in range(2)}) == 1


def test_a_class_that_is_asked_for_is_not_the_prompts(tmp_path: Path) -> None:
    """The prompt only sketches it; it is the completion's."""
    seen = _load(
        tmp_path,
        "class S:\n    x = 1",
        lambda loaded: loaded.prompt_classes,
        prompt="class S:\n    '''doc'''\n",
        entry="S",
    )

    assert seen == ()
