"""Reading the values of variables off a text."""

import json
import time

import pytest

from assay.verifiers.optimisation.answers import Place, read_answer

EVERYWHERE = tuple(Place)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('<answer>{"x": 1, "y": 2.5}</answer>', {"x": 1.0, "y": 2.5}),
        ("<answer>{'x': 1, 'y': -2}</answer>", {"x": 1.0, "y": -2.0}),
        ('<answer>{"x": 1}</answer> or <answer>{"x": 2}</answer>', {"x": 2.0}),
        ('```json\n{"x": 1}\n```', {"x": 1.0}),
        ('```\n{"x": 1}\n```\n```json\n{"x": 2}\n```', {"x": 2.0}),
        ('So {"x": 1} is not it, {"x": 3} is.', {"x": 3.0}),
        ('<answer>I cannot say</answer> {"x": 1}', {"x": 1.0}),
        ('<answer>{"x": 1e3}</answer>', {"x": 1000.0}),
        ("<answer>{}</answer>", {}),
        ("<answer>{x: 1, y_2: -2.5e1,}</answer>", {"x": 1.0, "y_2": -25.0}),
        (
            "<answer>{\n  x[1]: .5,\n  x(a): 2.,\n  'b c': +3,\n  \"d\": 4\n}</answer>",
            {"x[1]": 0.5, "x(a)": 2.0, "b c": 3.0, "d": 4.0},
        ),
        ("```\n{x: np.float64(1.5)}\n```", {"x": 1.5}),
        ('<answer>{"x": \u22121.5, "y\u22121": 2}</answer>', {"x": -1.5, "y\u22121": 2.0}),
        ("<answer>{größe: 1}</answer>", {"größe": 1.0}),
        ('<answer>{"status": "Optimal", "x": 1}</answer>', {"x": 1.0}),
        ('<answer>{"status": "optimal"}</answer>', {}),
    ],
)
def test_the_first_place_that_holds_values_counts(text: str, values: dict[str, float]) -> None:
    """Tag, fence, then the last braces; JSON or a Python literal."""
    assert read_answer(text, EVERYWHERE, "answer").values == values


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('{"x": NaN}', "not JSON"),
        ('{"x": Infinity}', "not JSON"),
        ('{"x": 1e999}', "finite"),
        ('{"x": true}', "'x' has True: 1 or 0 is wanted"),
        ('{"x": "1"}', "a finite number is wanted"),
        ('{"x": null}', "a finite number is wanted"),
        ('{"x": [1]}', "a finite number is wanted"),
        ('{"x": {"y": 1}}', "a finite number is wanted"),
        ('{"x": 1, "x": 2}', "twice"),
        ("{'x': 1, 'x': 2}", "twice"),
        ("{1: 2}", "texts"),
        ('{"x": ' + "9" * 400 + "}", "finite"),
        ('{"x": ' + "9" * 5000 + "}", ""),
        (
            '{"variables": {"x": 1}}',
            "'variables' has a dict: a finite number is wanted, and the names of var",
        ),
        ('{"x": 1, "comment": "best"}', "'comment' has 'best'"),
        ('["x", 1]', "no object"),
        ("5", "no object"),
        ("{'x': f()}", "literal"),
        ("{'\\d': 1}", "escapes"),
        ('{"x": 1', "literal"),
        ("[" * 100_000, ""),
        ("{x: 1, x: 2}", "twice"),
        ("{x: 1, 'x': 2}", "twice"),
        ("{x: y}", "literal"),
        ("{x: 1 y: 2}", "literal"),
        ("{x: 1,, y: 2}", "literal"),
        ("{x: 1; y: 2}", "literal"),
        ("{x: 1/3}", "literal"),
        ("{x: inf}", "literal"),
        ("{x: 1e999}", "finite"),
        ("{x = 1}", "literal"),
        ("{x, y: 1}", "literal"),
        ("{1x: 1}", "literal"),
        ("{x: 1} + {y: 2}", "literal"),
        ('{"status": "feasible", "x": 1}', "status"),
        ('{"status": "infeasible", "x": 1}', "status"),
        ('{"objective": "11", "x": 1}', "a finite number is wanted"),
        ("", ""),
    ],
)
def test_what_is_refused(content: str, fault: str) -> None:
    """Everything that is not one finite number for each name."""
    answer = read_answer(f"<answer>{content}</answer>", (Place.TAG,), "answer")

    assert answer.values is None
    assert answer.fault
    assert fault in answer.fault


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("infeasible", "infeasible"),
        (" Infeasible. ", "infeasible"),
        ('"unbounded"', "unbounded"),
        ("**Infeasible**", "infeasible"),
        ("The model is infeasible.", "infeasible"),
        ("Answer: the given linear program is UNBOUNDED", "unbounded"),
        ("So, the problem is infeasible!", "infeasible"),
        ("The model is not infeasible.", None),
        ("infeasible or unbounded", None),
        ("It would be infeasible", None),
        ('{"status": "INFEASIBLE"}', "infeasible"),
    ],
)
def test_a_word_says_that_there_are_none(content: str, status: str | None) -> None:
    """By itself or in a sentence, or as the status; in the tag, as the last line, or as all there is."""
    assert read_answer(f"<answer>{content}</answer>", EVERYWHERE, "answer").status == status
    assert read_answer(f'Row 2 fails {{"x": 1}}.\n\n{content}', EVERYWHERE, "answer").status == status
    assert read_answer(content, EVERYWHERE, "answer").status == status


def test_it_is_said_what_an_answer_is() -> None:
    """In the same words whatever the model has."""
    fault = read_answer("It cannot be done.", EVERYWHERE, "answer").fault

    assert fault.endswith("is wanted, or the word infeasible or unbounded alone")


def test_a_variable_may_be_called_status() -> None:
    """Where it has a number."""
    assert read_answer('{"status": 1}', EVERYWHERE, "answer").values == {"status": 1.0}


def test_arguments_in_latex_are_no_objects() -> None:
    """Models box the objective after the values; values that are boxed themselves count."""
    values = '{"x": 3, "y": 1}'

    for text in (rf"{values} so \boxed{{11}}, \text{{in all}}", rf"{{5}} \boxed{values}"):
        assert read_answer(text, (Place.LAST_OBJECT,), "").values == {"x": 3.0, "y": 1.0}
    assert read_answer(f"{values} so {{11}}", (Place.LAST_OBJECT,), "").fault
    assert read_answer(r"\boxed{11}", (Place.LAST_OBJECT,), "").fault


def test_the_last_line_may_hold_the_word() -> None:
    """As programs print it."""
    assert read_answer("solving {\ninfeasible\n", (Place.LAST_OBJECT, Place.LAST_LINE), "").status == "infeasible"
    assert read_answer("", (Place.LAST_OBJECT, Place.LAST_LINE), "").fault


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "}",
        "{}",
        '{"a":1},',
        "<answer>",
        "<answer></answer>",
        "```\n",
        "```\n```\n",
        "{'a':",
        '"',
        "9",
        " ",
        "{a:1,",
        "{a",
        "{a[1]",
        "{'a",
        "a[a]:1,",
    ],
)
def test_a_megabyte_is_read_in_time(body: str) -> None:
    """Whatever takes quadratic time takes far longer than this."""
    text = body * (1_000_000 // len(body))
    started = time.process_time()

    read_answer(text, tuple(Place), "answer")
    read_answer(f"<answer>{text}</answer>", tuple(Place), "answer")

    assert time.process_time() - started < 20


def test_as_many_values_as_a_completion_holds() -> None:
    """Each is there."""
    many = {f"v{number}": number for number in range(70_000)}

    assert read_answer(json.dumps(many), EVERYWHERE, "answer").values == many


@pytest.mark.parametrize("scalar", ["np.float64(2.5)", "numpy.float32(2.5)", "np.float64(25e-1)"])
def test_scalars_of_numpy_are_their_numbers(scalar: str) -> None:
    """As numpy 2 writes them within a dictionary that a program prints."""
    assert read_answer(f"{{'x': {scalar}, 'y': np.int64(-3)}}", (Place.LAST_OBJECT,), "answer").values == {
        "x": 2.5,
        "y": -3.0,
    }


@pytest.mark.parametrize("other", ["np.float64(nan)", "np.float64(1+1)", "os.float64(1)", "np.zeros(3)"])
def test_other_calls_are_no_numbers(other: str) -> None:
    """Nothing is worked out."""
    assert read_answer(f"{{'x': {other}}}", (Place.LAST_OBJECT,), "answer").fault
