"""What is said of tasks that are refused: in the words, and by the paths, of whoever wrote them."""

import re
from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.verifiers.builtin import default_registry
from assay.verifiers.reference import examples_of

REGISTRY = default_registry()
ANSWER = {"answer": "42"}


def refusal(**fields: Any) -> InvalidRequest:
    """Return the refusal of a task."""
    with pytest.raises(InvalidRequest) as caught:
        REGISTRY.parse_task({"id": "t", **fields}, path="tasks[3]")
    return caught.value


@pytest.mark.parametrize(
    ("fields", "path", "detail"),
    [
        ({"verifier": "instructions", "checks": [{"check": "no"}]}, "tasks[3].checks[0].check", "unknown check 'no'"),
        ({"verifier": "instructions", "checks": [{"N": 1}]}, "tasks[3].checks[0].check", "'check' is missing"),
        ({"verifier": "instructions", "checks": ["a"]}, "tasks[3].checks[0]", "should be an object"),
        (
            {"verifier": "instructions", "checks": [{"check": "verify_keywords", "keyword_list": 7}]},
            "tasks[3].checks[0].keyword_list",
            "valid array",
        ),
        ({"verifier": "countdown", "numbers": [1], "target": "x"}, "tasks[3].target", "should be a number"),
        (
            {"verifier": "json_schema", "json_schema": 7},
            "tasks[3].json_schema",
            "should be an object or true or false",
        ),
        ({"verifier": "exact_match", "answers": [5]}, "tasks[3].answers[0]", "valid string"),
    ],
)
def test_of_several_types_the_words_are_plain(fields: dict[str, Any], path: str, detail: str) -> None:
    """No type of the library is in the path, and no tag in the message."""
    error = refusal(**fields)

    assert error.path == path
    assert detail in error.detail


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[2J", "\ud800", "a\u202e", "m" * 201])
@pytest.mark.parametrize("task", [{"verifier": "math", **ANSWER}, {"verifier": "environment", "env": "Grid-v0"}])
def test_required_modules_have_names_that_can_be_told(task: dict[str, Any], name: str) -> None:
    """What attempts wait for stands in logs and in labels of metrics: one half of a character made `/metrics` fail."""
    error = refusal(**task, requires=["numpy", name])

    assert error.path == "tasks[3].requires"
    assert "printable characters" in error.detail
    assert "more than 100" in refusal(**task, requires=["numpy"] * 101).detail


@pytest.mark.parametrize("verifier", ["composite", "classification", "exact_match", "math"])
def test_an_unknown_profile_is_refused_by_its_field(verifier: str) -> None:
    """With those that there are."""
    error = refusal(verifier=verifier, profile="nobody/paper")

    assert error.path == "tasks[3].profile"
    assert "use one of" in error.fix


@pytest.mark.parametrize(
    ("profile", "parameters", "path"),
    [
        ("open-rs/paper", {"answer": 5}, "tasks[3].parameters.answer"),
        ("dapo/code", {**ANSWER, "max_len": "x", "cache": 1}, "tasks[3].parameters.max_len"),
        ("dapo/code", {**ANSWER, "max_len": 1, "cache": 2}, "tasks[3].parameters.cache"),
        ("kimi/paper", {**ANSWER, "length_weight": "x"}, "tasks[3].parameters.length_weight"),
        ("d1-gsm8k/code", {"answer": ["a"]}, "tasks[3].parameters.answer"),
        ("open-rs/paper", {}, "tasks[3].parameters"),
        ("open-rs/paper", {**ANSWER, "colour": 1}, "tasks[3].parameters.colour"),
    ],
)
def test_faults_of_a_filled_profile_point_at_its_parameters(
    profile: str, parameters: dict[str, Any], path: str
) -> None:
    """Nobody wrote the terms that the profile stands for."""
    assert refusal(verifier="composite", profile=profile, parameters=parameters).path == path


def test_faults_beside_a_profile_keep_their_path() -> None:
    """What the task gives itself is found where it stands."""
    terms = [{"name": "accuracy", "verifier": "math", "task": {"answer": 5}}]

    error = refusal(verifier="composite", profile="open-rs/paper", parameters=ANSWER, terms=terms)

    assert error.path == "tasks[3].terms[0].task.answer"


@pytest.mark.parametrize("fields", [{"answer": "42"}, {"label": "cat"}, {}])
def test_without_a_verifier_the_default_is_named(fields: dict[str, Any]) -> None:
    """Fields of another verifier are unknown to it, which says little to whoever forgot to name theirs."""
    assert "a task without `verifier` is one of 'python'" in refusal(**fields).fix


@pytest.mark.parametrize(
    "fields",
    [
        {"verifier": "python", "label": "cat"},
        {"test": ["f()"]},
        {"tests": ["f()"], "limits": {"wall": 1}},
        {"tests": ["f()"], "limits": {"wall_s": "1"}},
        {"tests": ["f()"], "metadata": 3},
        {"tests": ["f()"], "gold": 3},
        {"tests": ["f()"], "id": ""},
        {"tests": "f()"},
    ],
)
def test_where_it_says_nothing_it_is_not(fields: dict[str, Any]) -> None:
    """Whoever names a verifier knows, a misspelled field was meant, and what every task has fits any verifier."""
    assert "without `verifier`" not in refusal(**fields).fix


@pytest.mark.parametrize("weights", [{"nope": 1}, {"accuracy": 0}])
def test_weights_are_refused_in_parts_of_a_composite_too(weights: dict[str, float]) -> None:
    """By a path into the part."""
    part = {"name": "a", "verifier": "math", "task": {**ANSWER, "weights": weights}}

    assert refusal(verifier="composite", terms=[part]).path.startswith("tasks[3].terms[0].task.weights")


TESTS = {"tests": ["f()"]}
CASES = {"cases": [{"stdin": "1", "stdout": "1"}]}
PART = {"name": "a", "verifier": "math", "task": ANSWER}


@pytest.mark.parametrize(
    ("fields", "path", "fix"),
    [
        ({"test": ["f()"]}, "test", "did you mean 'tests'?"),
        ({"Tests": ["f()"]}, "Tests", "did you mean 'tests'?"),
        ({**TESTS, "limits": {"wall": 1}}, "limits.wall", "did you mean 'wall_s'?"),
        ({**TESTS, "limits": {"qqq": 1}}, "limits.qqq", "use one of wall_s, cpu_s, memory_mb"),
        ({"cases": [{"stdin": "1", "stdot": "2"}]}, "cases[0].stdot", "did you mean 'stdout'?"),
        ({**TESTS, "colour": 1}, "colour", "use one of prompt, entry_point"),
        ({"verifier": "sql", "schem": "x", "gold_sql": "SELECT 1"}, "schem", "did you mean 'schema'?"),
        ({"verifier": "exact_match", "answer": ["4"]}, "answers", "there is an unknown one, 'answer'"),
        ({"verifier": "composite", "terms": [{**PART, "wieght": 1}]}, "terms[0].wieght", "did you mean 'weight'?"),
        (
            {"verifier": "composite", "terms": [{**PART, "task": {**ANSWER, "weihgts": 1}}]},
            "terms[0].task.weihgts",
            "did you mean 'weights'?",
        ),
        ({"verifier": "pyhton"}, "verifier", "did you mean 'python'?"),
        ({"verifier": "composite", "terms": [{**PART, "verifier": "maht"}]}, "terms[0].verifier", "'math'?"),
        ({"verifier": "composite", "profile": "open-rs/papr"}, "profile", "did you mean 'open-rs/paper'?"),
        ({"verifier": "math", **ANSWER, "profile": "nobody-knows-it"}, "profile", "use one of"),
        (
            {"verifier": "composite", "profile": "open-rs/paper", "parameters": {"anser": "4"}},
            "parameters.anser",
            "did you mean 'answer'?",
        ),
        ({"verifier": "composite", "terms": [PART], "decides": ["A"]}, "decides[0]", "did you mean 'a'?"),
        ({"verifier": "math", **ANSWER, "weights": {"acuracy": 1}}, "weights.acuracy", "did you mean 'accuracy'?"),
        ({**TESTS, "scoring": "al"}, "scoring", "did you mean 'all'?"),
        ({**CASES, "compare": "token"}, "compare", "did you mean 'tokens'?"),
        ({"verifier": "instructions", "checks": [{"check": "verify_keyword"}]}, "checks[0].check", "verify_keywords'?"),
        ({"verifier": "optimum", "model": {"sens": "max"}}, "model.sense", "there is an unknown one, 'sens'"),
    ],
)
def test_of_an_unknown_name_the_nearest_is_told_or_those_there_are(fields: dict[str, Any], path: str, fix: str) -> None:
    """Wherever a name is refused: of a field, however deep, a verifier, a profile, a term, a choice."""
    error = refusal(**fields)

    assert error.path == f"tasks[3].{path}"
    assert fix in f"{error.detail} ({error.fix})"


@pytest.mark.parametrize(
    ("fields", "fix"),
    [
        ({"verifier": "math", **ANSWER, "weights": {"accuracy": "1"}}, "write a number without quotes"),
        ({"verifier": "solver", "gold_objective": "11"}, "write a number without quotes or 'unbounded'"),
        ({"tests": "f(1) == 1"}, "write a list [...]"),
        ({**TESTS, "limits": {"files": "16"}}, "write a whole number without quotes"),
        ({**TESTS, "limits": {"files": 16.5}}, "write a whole number"),
        ({**TESTS, "limits": {"stop_on_fail": "yes"}}, "write true or false without quotes"),
        ({**TESTS, "limits": [1]}, "write an object {...}"),
        ({**TESTS, "metadata": "x"}, "write an object {...}"),
        ({**TESTS, "gold": 3}, "write text in quotes"),
        ({**TESTS, "limits": {"wall_s": 0}}, "write a number above 0.0"),
        ({**TESTS, "limits": {"files": 3}}, "write a number of at least 16"),
        ({**TESTS, "pass_threshold": 1e400}, "write a finite number"),
        ({**TESTS, "id": ""}, "write 1 or more characters"),
        ({"verifier": "multiple_choice", "answer": "B", "letters": "a"}, "write text that the pattern matches"),
    ],
)
def test_how_to_write_a_value_is_told(fields: dict[str, Any], fix: str) -> None:
    """By what is wrong with what is there."""
    assert refusal(**fields).fix == fix


@pytest.mark.parametrize("name", ["x" * 1_000_000, "tests" * 100_000])
@pytest.mark.parametrize(
    "where", ["task", "compare", "entry_point", "limits", "verifier", "profile", "weights", "parameters"]
)
def test_huge_names_are_neither_compared_nor_repeated(name: str, where: str) -> None:
    """A name of a megabyte costs a refusal of a few thousand characters."""
    ways: dict[str, dict[str, Any]] = {
        "task": {**TESTS, name: 1},
        "compare": {**CASES, "compare": name},
        "entry_point": {**TESTS, "entry_point": f"{name}!"},
        "limits": {**TESTS, "limits": {name: 1}},
        "verifier": {"verifier": name},
        "profile": {"verifier": "math", **ANSWER, "profile": name},
        "weights": {"verifier": "math", **ANSWER, "weights": {name: 1}},
        "parameters": {"verifier": "composite", "profile": "open-rs/paper", "parameters": {name: "4"}},
    }

    assert len(str(refusal(**ways[where]))) < 3000


_JUNK = (None, True, -7, 0.5, "nothing of the kind", [], ["nope"], {}, {"nope": 7})
_INTERNAL = re.compile(r"<\w+\.\w+|\b[A-Z]\w*\.[A-Z][A-Z_]+\b|validation error|Enum\b|[Pp]ydantic|\bself\b")


@pytest.mark.parametrize("verifier", REGISTRY.names)
def test_no_refusal_tells_of_what_is_inside(verifier: str) -> None:
    """Whichever field is wrong, and however: no class, member of an enum or word of the validation library is named."""
    told = {
        str(error)
        for example in examples_of(REGISTRY.get(verifier))
        for field in (*REGISTRY.get(verifier).task_model.model_fields, "no_such_field")
        for junk in _JUNK
        if (error := _refusal_of({**example, field: junk})) is not None
    }

    assert told
    assert not [message for message in told if _INTERNAL.search(message)]


def _refusal_of(document: dict[str, Any]) -> InvalidRequest | None:
    try:
        REGISTRY.parse_task(document)
    except InvalidRequest as error:
        return error
    return None


MODEL = {
    "sense": "maximize",
    "variables": [{"name": "x"}, {"name": "y", "high": 2}],
    "objective": {"terms": {"x": 1}},
    "constraints": [{"terms": {"x": 1}, "sense": "<=", "rhs": 4}],
}
ROW = MODEL["constraints"][0]
LAKE = {"verifier": "environment", "env": "FrozenLake-v1"}
SOLVER = {"verifier": "solver", "gold_objective": 1}
SQL = {"verifier": "sql", "gold_sql": "SELECT 1"}


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        (
            {"model": {**MODEL, "objective": {"terms": {"z": 1}}}},
            "model.objective.terms.z",
            "use one of x, y .`variables`",
        ),
        ({"model": {**MODEL, "objective": {"x": 5}}}, "model.objective.x", 'terms, constant.*{"x": 5}'),
        ({"model": {**MODEL, "constraints": [{**ROW, "terms": {"z": 1}}]}}, "model.constraints[0].terms.z", "x, y"),
        ({"model": {**MODEL, "constraints": [{"x": 1, "sense": "<=", "rhs": 4}]}}, "model.constraints[0].x", "terms"),
        ({"model": {**MODEL, "constraints": [{**ROW, "terms": {"x": 1e400}}]}}, "model.constraints[0].terms.x", "fin"),
        ({"model": {**MODEL, "variables": [{"name": "x"}] * 2}}, "model.variables[1].name", "twice"),
        ({"model": {**MODEL, "variables": [{"name": "x", "low": 3, "high": 2}]}}, "model.variables[0].low", "above"),
        ({}, "model", "exactly one of"),
        ({"model": MODEL, "lp": "min x"}, "lp", "there are model and lp"),
        ({"model": MODEL, "forbid": ["os"]}, "forbid", "not read for answer 'values'"),
        ({"model": MODEL, "scoring": "all"}, "scoring", "weighted sum"),
        ({"lp": "min x", "mps": "x"}, "mps", "there are lp and mps"),
        ({**SQL, "schema": "x", "database_base64": "x"}, "database_base64", "there are schema and database_base64"),
        ({**SQL, "database": "x", "database_base64": "x"}, "database", "there are database_base64 and database"),
        (SQL, "schema", "there is no database"),
        ({**SOLVER, "returned_by": "f"}, "returned_by", "not read with objective 'marker'"),
        ({**SOLVER, "solution_overlap": "values"}, "solution_overlap", "not read without gold_solution"),
        ({**SOLVER, "gold_solution": {"x": 1e400}}, "gold_solution.x", "finite"),
        (LAKE, "source", "nothing says when the episode is verified"),
        ({**LAKE, "success_return": 1, "source": "x"}, "success_return", "one of the two"),
        ({**LAKE, "success_return": 1, "illegal": "noop"}, "noop_action", "required"),
        ({**LAKE, "success_return": 1, "noop_action": 1}, "noop_action", "not read with `illegal: fail`"),
        ({**LAKE, "success_return": 1, "progress": True}, "progress", "no source"),
        ({**LAKE, "success_return": 1, "player": "policy", "answer_tag": "a"}, "answer_tag", "policy"),
        ({**LAKE, "success_return": 1, "info": True}, "info", "not read for `player: actions`"),
        ({**LAKE, "success_return": 1, "return_range": [1, 0]}, "return_range", "lower"),
        ({**LAKE, "success_return": 1, "kwargs": {"render_mode": "human"}}, "kwargs", "render_mode"),
        ({**LAKE, "success_return": 1, "action_names": {"a": float("nan")}}, "action_names", "no JSON"),
    ],
)
def test_faults_between_fields_are_told_by_the_field(fields: dict[str, Any], path: str, said: str) -> None:
    """With what is allowed there, or what to do about it."""
    error = refusal(**{"verifier": "optimum", **fields})

    assert error.path == f"tasks[3].{path}"
    assert re.search(said, f"{error.detail} ({error.fix})")
