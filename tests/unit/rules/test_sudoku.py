"""The verifier `sudoku`: what of a grid is paid, by mode and profile."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.rules.sudoku import solves

PUZZLE, SOLUTION = "1030002101033000", "1234432121433412"
NINE = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
HOLED = NINE.replace("9", "0")
AMBIGUOUS = "1200340021004300"  # of four solutions
ONE_WAY, OTHER_WAY = "1234341221434321", "1243342121344312"


def judge(completion: str, **fields: Any) -> Verdict:
    """Judge one completion as an answer to a sudoku."""
    registry = default_registry()
    given = {"puzzle": PUZZLE, "solution": SOLUTION} | fields
    task = registry.parse_task({"id": "t", "verifier": "sudoku", **given})
    return registry.get(task.verifier).judge(task, completion, FakeSlot())


def reward(grid: str, **fields: Any) -> float | None:
    """The reward of a grid in an answer block."""
    return judge(f"<answer>{grid}</answer>", **fields).reward


def test_the_solution_is_full_marks() -> None:
    """However it is laid out."""
    assert judge(f"<answer>{SOLUTION}</answer>").outcome is Outcome.PASSED
    assert reward("1 2 3 4\n4 3 2 1\n|2|1|4|3|\n3, 4, 1, 2") == 1.0


def test_the_share_of_empty_cells_is_paid() -> None:
    """Givens do not count: one wrong cell of nine."""
    assert reward("1234432121433411") == pytest.approx(8 / 9)
    assert reward("1234432121433411", mode="whole") == 0.0
    assert reward(SOLUTION, mode="whole") == 1.0


def test_nine_by_nine() -> None:
    """Size follows from the puzzle, and may be said."""
    wrong = NINE[:-1] + "8"

    assert reward(NINE, puzzle=HOLED, solution=NINE, size=9) == 1.0
    assert reward(wrong, puzzle=HOLED, solution=NINE) == pytest.approx(8 / 9)
    assert reward(wrong, puzzle=HOLED, solution=None, mode="valid") == 0.0
    assert reward(NINE, puzzle=HOLED.replace("0", "."), solution=None, mode="valid") == 1.0


@pytest.mark.parametrize("completion", [SOLUTION, f"<answer>{SOLUTION}", "<answer>none</answer>", "<answer></answer>"])
def test_no_grid_is_no_answer(completion: str) -> None:
    """Only digits in an answer block are a grid."""
    verdict = judge(completion)

    assert (verdict.reward, verdict.outcome) == (0.0, Outcome.NO_ANSWER)


def test_a_changed_given_costs_everything_unless_the_profile_is_blind() -> None:
    """The released rule pays a grid of one digit for every cell that happens to hold it."""
    changed = "4" + SOLUTION[1:]

    assert reward(changed) == 0.0
    assert reward(changed, profile="d1/code") == 1.0
    assert reward("1" * 16) == 0.0
    assert reward("1" * 16, profile="d1/code") == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    ("grid", "hardened", "released"),
    [
        (SOLUTION[:12], 0.0, 6 / 9),
        (SOLUTION + "1", 0.0, 1.0),
        (PUZZLE + SOLUTION, 0.0, 0.0),
        ("Row 1: 1234 Row 2: 4321 Row 3: 2143 Row 4: 3412", 1.0, 3 / 9),
        ("1) 1234\n2) 4321\n3) 2143\n4) 3412", 1.0, 3 / 9),
        ("1. 1234\n2. 4321\n3. 2143\n4. 3412", 1.0, 3 / 9),
        (f"Grid {SOLUTION}.", 1.0, 1.0),
        ("r1 = 1234; r2 = 4321; r3 = 2143; r4 = 3412", 1.0, 3 / 9),
    ],
)
def test_reading(grid: str, hardened: float, released: float) -> None:
    """Labels are no cells, and a grid has as many digits as cells; the released rule shifts, pads and cuts."""
    assert reward(grid) == pytest.approx(hardened)
    assert reward(grid, profile="d1/code") == pytest.approx(released)


def test_another_solution_is_one() -> None:
    """A puzzle with several solutions is solved by each; the released rule compares with the stored one."""
    fields = {"puzzle": AMBIGUOUS, "solution": ONE_WAY}

    assert reward(OTHER_WAY, **fields) == 1.0
    assert reward(OTHER_WAY, **fields, mode="whole") == 1.0
    assert reward(OTHER_WAY, **fields, mode="valid") == 1.0
    assert reward(OTHER_WAY, **fields, other_solutions=False) == 0.0
    assert reward(OTHER_WAY, **fields, profile="d1/code") == 0.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"puzzle": "123"}, "16 cells"),
        ({"puzzle": "5" + PUZZLE[1:]}, "0 to 4"),
        ({"puzzle": "\u0661" + PUZZLE[1:]}, "cells"),
        ({"size": 9}, "does not fit"),
        ({"solution": None}, "needs the solution"),
        ({"solution": "1" * 16}, "does not solve"),
        ({"solution": "2143341212344321"}, "does not solve"),  # a right grid of another puzzle
        ({"puzzle": SOLUTION}, "no empty cell"),
        ({"puzzle": "11" + "0" * 14, "solution": None, "mode": "valid"}, "nothing solves it"),
    ],
)
def test_faulty_tasks_are_refused(fields: dict[str, Any], said: str) -> None:
    """A key that is no solution would punish right answers."""
    with pytest.raises(InvalidRequest, match=said):
        judge("", **fields)


def test_a_full_puzzle_scores_nothing_where_it_is_accepted() -> None:
    """As the released rule does."""
    assert reward(SOLUTION, puzzle=SOLUTION, profile="d1/code") == 0.0


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.permutations("1234"), st.lists(st.booleans(), min_size=16, max_size=16))
def test_any_puzzle_of_a_solution_is_solved_by_it(names: list[str], kept: list[bool]) -> None:
    """Renaming digits and opening cells never makes the solution wrong."""
    solution = SOLUTION.translate(str.maketrans("1234", "".join(names)))
    puzzle = "".join(cell if keep else "0" for cell, keep in zip(solution, kept, strict=True))

    assert solves(solution, puzzle)
    if "0" in puzzle:
        assert reward(solution, puzzle=puzzle, solution=solution) == 1.0


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.text(alphabet="01234 \nRow:9", max_size=40))
def test_the_reward_is_a_share_and_the_released_one_never_less_for_a_kept_grid(grid: str) -> None:
    """Nothing leaves 0 to 1, and hardening pays no more, but for other solutions."""
    hardened, released = (
        reward(grid, profile=profile, drop_labels=False) for profile in ("sudoku/hardened", "d1/code")
    )

    assert hardened is not None
    assert released is not None
    assert 0.0 <= hardened <= released <= 1.0


@pytest.mark.parametrize("piece", ["1", "x", "Row 1", "a ", "Row 1:", " ", "\n", "1)", "\u00b2", "<answer>", "\n1 "])
def test_a_megabyte_takes_no_time(piece: str) -> None:
    """Reading and dropping labels are linear."""
    started = time.process_time()

    reward(piece * (10**6 // len(piece)))

    assert time.process_time() - started < 20
