"""Tests of a task that are a pytest file."""

import pytest
from python_judging import Judge, judging, outcomes

from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool

pytestmark = pytest.mark.jail


@pytest.fixture(scope="module")
def judge(pool: Pool) -> Judge:
    """Judge a completion: `judge(completion, **task fields)`."""
    return judging(pool)


_LOOP = "def f(x):\n    while x == 0: pass\n    return x\n"
_FILE = """
import pytest
from solution import add


@pytest.fixture
def two():
    return 2


@pytest.mark.parametrize('n', [1, 2])
def test_n(n, two):
    assert add(n, two) == n + 2


@pytest.mark.skip
def test_skipped(): ...


@pytest.mark.xfail
def test_expected_failure():
    assert add(1, 1) == 3


def test_output(capsys):
    add(5, 5)
    assert capsys.readouterr().out == 'adding\\n'


class TestError:
    def test_raises(self):
        with pytest.raises(TypeError):
            add('a', 1)
"""
_ADD = "def add(a, b):\n    print('adding')\n    return a + b\n"


def test_a_pytest_file_is_judged_by_items(judge: Judge) -> None:
    """Items that skip or xfail themselves do not count; names are those of pytest."""
    verdict = judge(_ADD, test_file=_FILE)

    assert (verdict.outcome, verdict.reward) == (Outcome.PASSED, 1.0)
    assert [test.name for test in verdict.tests] == ["test_n[1]", "test_n[2]", "test_output", "TestError::test_raises"]


@pytest.mark.parametrize(
    "raised",
    ["__import__('pytest').skip('no')", "__import__('pytest').exit('no', 0)", "__import__('pytest').xfail('no')"],
)
def test_a_completion_cannot_skip_its_tests(judge: Judge, raised: str) -> None:
    """pytest's own exceptions, raised by the completion, are errors."""
    verdict = judge(f"def add(a, b):\n    {raised}\n", test_file=_FILE)

    assert verdict.reward == 0.0


def test_an_item_that_ends_the_candidate_costs_only_itself(judge: Judge) -> None:
    """The file is imported afresh for the items after it."""
    file = (
        "from solution import f\ndef test_a(): assert f(1) == 1\ndef test_b(): f(0)\ndef test_c(): assert f(2) == 2\n"
    )

    assert outcomes(judge(_LOOP, test_file=file, limits={"wall_s": 0.5})) == ["passed", "timeout", "passed"]


@pytest.mark.parametrize(
    ("file", "completion"),
    [
        ("from solution import sub\ndef test_a(): ...\n", _ADD),
        ("from solution import add\nX = add(1, 'a')\ndef test_a(): ...\n", _ADD),
        ("import solution.part\ndef test_a(): ...\n", _ADD),
        ("import solution\nassert solution.add(1, 1) == 3\ndef test_a(): ...\n", _ADD),
        (
            "from solution import add\ndef test_a(): ...\n",
            "def __getattr__(name):\n    raise ImportError(name='numpy')\n",
        ),
        (
            "from solution import add\nX = add(1, 2)\ndef test_a(): ...\n",
            "def add(a, b):\n    import no_such_package\n",
        ),
    ],
)
def test_an_import_that_fails_over_the_completion_is_its_fault(judge: Judge, file: str, completion: str) -> None:
    """A name it lacks, or a call that raises while the file is imported."""
    verdict = judge(completion, test_file=file)

    assert (verdict.outcome, verdict.reward) == (Outcome.RUNTIME_ERROR, 0.0)


def test_weights_follow_the_items_that_count(judge: Judge) -> None:
    """A skipped item takes its weight with it."""
    file = (
        "import pytest\nfrom solution import f\n@pytest.mark.skip\ndef test_a(): ...\n"
        "def test_b(): assert f() == 1\ndef test_c(): assert f() == 2\n"
    )
    verdict = judge("def f(): return 1", test_file=file, scoring="weighted", weights=[5, 3, 1])

    assert verdict.reward == 0.75
