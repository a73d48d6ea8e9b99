"""Records in the shapes in which data sets are published, written by hand, become tasks."""

import base64
import gzip
import json
import pickle
import zlib
from typing import Any

import pytest
from published import DATA, present

from assay.cli.local import builtin_registry
from assay.clients.formats import Format, formats_of, task_of_record
from assay.errors import InvalidRequest

ONE_CALL = {"inputs": [[1, 2]], "outputs": [[3]], "fn_name": "add"}
CALLED = {"entry_point": "add", "cases": [{"args": [1, 2], "expected": 3}], "style": "calls"}
ECHOED = [{"stdin": "1\n", "stdout": "1\n"}]


def _packed(text: str) -> str:
    """Return tests as LiveCodeBench packs its hidden ones."""
    return base64.b64encode(zlib.compress(pickle.dumps(text))).decode()


PACKED = _packed('[{"input": "2", "output": "2", "testtype": "stdin"}]')

HUMANEVAL = {
    "task_id": "HumanEval/0", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n",
    "test": "def check(candidate): ...",
}  # fmt: skip
GOOGLE = {"task_id": 2, "text": "Write f", "code": "g", "test_list": ["assert f()"], "test_setup_code": "import re"}
APPS = {
    "problem_id": 7, "question": "Add.", "solutions": '["def add(a, b): return a + b"]', "starter_code": "",
    "input_output": json.dumps(ONE_CALL), "difficulty": "interview",
}  # fmt: skip
TACO = {
    "question": "Echo.", "solutions": [], "starter_code": "", "raw_tags": "[]", "time_limit": "12.0 seconds",
    "memory_limit": "1024.0 megabytes", "input_output": '{"inputs": ["1\\n"], "outputs": ["1\\n"]}',
}  # fmt: skip
CODECONTESTS = {
    "name": "1_A. Echo", "public_tests": {"input": ["1\n"], "output": ["1\n"]},
    "private_tests": {"input": [], "output": []}, "generated_tests": {"input": [], "output": []},
    "solutions": {"language": [2, 3], "solution": ["int main() {}", "print(input())"]},
    "time_limit": {"seconds": 2, "nanos": 0}, "memory_limit_bytes": 256000000,
}  # fmt: skip
LIVECODEBENCH = {
    "question_id": "abc1", "question_content": "Echo.", "starter_code": "", "metadata": "{}",
    "public_test_cases": '[{"input": "1\\n", "output": "1\\n", "testtype": "stdin"}]', "private_test_cases": PACKED,
}  # fmt: skip
FUNCTIONAL = LIVECODEBENCH | {
    "public_test_cases": '[{"input": "1\\n2", "output": "3", "testtype": "functional"}]', "private_test_cases": "[]",
    "metadata": '{"func_name": "add"}',
}  # fmt: skip
BIGCODEBENCH = {
    "task_id": "BigCodeBench/0", "complete_prompt": "import numpy as np\ndef task_func():\n",
    "instruct_prompt": "Write.", "canonical_solution": "    return 1", "entry_point": "task_func",
    "test": "import unittest", "libs": "['numpy', 'json']",
}  # fmt: skip
KODCODE = {
    "question_id": "Prefill_1", "question": "Write f.", "solution": "def f(): ...", "test_info":
    [{"function_name": "f"}], "test": "from solution import f",
}  # fmt: skip
GSM8K = {"question": "How many?", "answer": "Two and two.\n#### 1,204"}
MATH = {"problem": "p", "solution": r"So \boxed{\frac{1}{2}}.", "level": "Level 1", "type": "Algebra"}
NL4OPT = {"en_question": "Most?", "en_answer": "1,160.0"}
OPEN_R1 = {
    "problem_id": "p1", "gold_standard_solution": "print(input())",
    "verification_info": '{"language": "python", "test_cases": [{"input": "1\\n", "output": "1\\n", '
    '"type": "stdin_stdout"}]}',
}  # fmt: skip
VERL = {
    "data_source": "openai/gsm8k", "prompt": [{"role": "user", "content": "How many?"}], "ability": "math",
    "reward_model": {"style": "rule", "ground_truth": "4"}, "extra_info": {"split": "train", "index": 3},
}  # fmt: skip
SUDOKU = {"Puzzle": "1030002101033000", "Solution": "1234432121433412"}
COUNTDOWN = {"nums": [3, 8, 5], "target": 39}
REASONING_GYM = {"question": "1 + 2", "answer": "3", "metadata": {"source_dataset": "chain_sum", "source_index": 0}}
RECORDS: dict[Format, dict[str, Any]] = {
    Format.HUMANEVAL: HUMANEVAL, Format.MBPP: GOOGLE, Format.APPS: APPS, Format.TACO: TACO,
    Format.CODECONTESTS: CODECONTESTS, Format.LIVECODEBENCH: LIVECODEBENCH, Format.BIGCODEBENCH: BIGCODEBENCH,
    Format.KODCODE: KODCODE, Format.GSM8K: GSM8K, Format.MATH: MATH, Format.NL4OPT: NL4OPT, Format.OPEN_R1: OPEN_R1,
    Format.VERL: VERL, Format.SUDOKU: SUDOKU, Format.COUNTDOWN: COUNTDOWN, Format.REASONING_GYM: REASONING_GYM,
}  # fmt: skip


def test_every_format_has_a_record_here() -> None:
    """None is forgotten."""
    assert set(RECORDS) == set(Format)


@pytest.mark.parametrize("name", list(Format))
def test_records_become_valid_tasks_and_show_their_format(name: Format) -> None:
    """The verifiers take the task, its id is the same each time, and no other format claims the record."""
    task = task_of_record(name, RECORDS[name])

    assert builtin_registry().parse_task(task).id
    assert task == task_of_record(name, dict(RECORDS[name]))
    assert formats_of(RECORDS[name]) == (name,)


@pytest.mark.parametrize(
    ("name", "asked"), [("gsm8k", "question"), ("math", "problem"), ("countdown", "prompt"), ("verl", "prompt")]
)
def test_two_questions_with_one_answer_are_two_tasks(name: str, asked: str) -> None:
    """A group of both would be compared as if they were attempts at one."""
    row: dict[str, Any] = {"answer": "3", "nums": [1, 2], "target": 3, "reward_model": {"ground_truth": "3"}}
    ids = [task_of_record(Format(name), {**row, asked: text})["id"] for text in ("1 + 2?", "5 - 2?", "1 + 2?")]

    assert ids[0] == ids[2] != ids[1]


@pytest.mark.parametrize(
    ("name", "record", "wanted"),
    [
        ("humaneval", HUMANEVAL, {"test_code": "def check(candidate): ...", "gold": "    return x\n"}),
        ("mbpp", HUMANEVAL, {"id": "HumanEval/0", "entry_point": "f"}),
        ("mbpp", GOOGLE, {"id": "2", "tests": ["import re\nassert f()"], "style": "assert", "gold": "g"}),
        ("mbpp", GOOGLE | {"test": "g()"}, {"tests": ["import re\nassert f()", "g()"]}),
        ("apps", APPS, {"id": "7", **CALLED, "gold": "def add(a, b): return a + b"}),
        ("apps", APPS | {"input_output": ""}, {"cases": []}),
        ("apps", APPS | {"input_output": {"inputs": [["1", "a"]], "outputs": [["1", "a"]], "fn_name": "f"}},
         {"cases": [{"args": ["1", "a"], "expected": ["1", "a"]}]}),
        ("apps", APPS | {"language": "ts"}, {"verifier": "calls", "language": "ts", "entry_point": "add",
                                             "cases": CALLED["cases"], "gold": None, "prompt": None}),
        ("taco", TACO | {"language": "rust"}, {"verifier": "stdio", "language": "rust", "cases": ECHOED}),
        ("livecodebench", FUNCTIONAL | {"language": "javascript"}, {"verifier": "calls", "language": "javascript"}),
        ("open-r1", {"verification_info": {"language": "javascript", "test_cases": [
            {"fn_name": "add", "type": "function_call", "input": [1, 2], "output": [3]}]}},
         {"verifier": "calls", "language": "javascript", "entry_point": "add", "cases": CALLED["cases"]}),
        ("taco", TACO, {"cases": ECHOED, "limits": {"wall_s": 12.0, "cpu_s": 12.0, "memory_mb": 1024}}),
        ("codecontests", CODECONTESTS, {"cases": ECHOED, "gold": "print(input())", "language": "python"}),
        ("livecodebench", LIVECODEBENCH, {"cases": [*ECHOED, {"stdin": "2", "stdout": "2"}]}),
        ("livecodebench", FUNCTIONAL, CALLED),
        ("bigcodebench", BIGCODEBENCH, {
            "requires": ["numpy"],
            "test_file": "import numpy as np\nfrom solution import task_func\n\nimport unittest",
        }),
        ("kodcode", KODCODE, {"id": "Prefill_1", "entry_point": "f", "gold": "def f(): ..."}),
        ("gsm8k", GSM8K, {"answer": "1,204", "gold": GSM8K["answer"]}),
        ("math", MATH, {"answer": r"\frac{1}{2}", "gold": MATH["solution"]}),
        ("math", {"problem": "p", "answer": "4"}, {"answer": "4"}),
        ("nl4opt", NL4OPT, {"gold_objective": 1160.0, "verifier": "solver"}),
        ("nl4opt", {"en_answer": "No Best Solution"}, {"gold_objective": None}),
        ("sudoku", SUDOKU, {"solution": SUDOKU["Solution"], "gold": "<answer>1234432121433412</answer>"}),
        ("sudoku", {"id": "a", "puzzle": "1030002101033000"}, {"id": "a", "solution": None, "gold": None}),
        ("countdown", COUNTDOWN, {"numbers": [3, 8, 5], "target": 39, "gold": None}),
        ("countdown", {"input": "3,8,5", "output": "39"}, {"numbers": [3, 8, 5], "target": 39}),
        ("countdown", COUNTDOWN | {"solution": "(8+5)*3"}, {"gold": "<answer>(8+5)*3</answer>"}),
        ("reasoning-gym", REASONING_GYM, {"dataset": "chain_sum", "gold": "<answer>3</answer>"}),
        ("open-r1", OPEN_R1, {"id": "p1", "verifier": "stdio", "cases": ECHOED, "gold": "print(input())"}),
        ("open-r1", {"verification_info": {"test_cases": [
            {"fn_name": "add", "type": "function_call", "input": [1, 2], "output": [3]}]}}, CALLED),
        ("verl", VERL, {"answers": ["4"], "profile": "verl-gsm8k/hardened",
                        "metadata": {"data_source": "openai/gsm8k", "index": 3}}),
        ("verl", {"data_source": "searchR1_nq", "reward_model": {"ground_truth": {"target": ["a", "b"]}}},
         {"answers": ["a", "b"], "profile": "search-r1/hardened"}),
        ("verl", {"data_source": "taco", "reward_model": json.dumps({"ground_truth": json.dumps(ONE_CALL)})}, CALLED),
    ],
)  # fmt: skip
def test_what_a_record_says_is_in_its_task(name: str, record: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Tests, answers and golds are where the verifier looks for them."""
    task = task_of_record(Format(name), record)

    assert {key: task.get(key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("name", "record", "path"),
    [
        ("humaneval", {"task_id": "a", "prompt": "", "entry_point": "f"}, "test"),
        ("apps", {"input_output": "{"}, "input_output"),
        ("gsm8k", {"question": "q"}, "answer"),
        ("math", {"problem": "p", "solution": r"\boxed{1"}, "answer"),
        ("nl4opt", {"en_answer": "many"}, "en_answer"),
        ("nl4opt", {"en_answer": "inf"}, "en_answer"),
        ("nl4opt", {"en_answer": "nan"}, "en_answer"),
        ("codecontests", CODECONTESTS | {"public_tests": {"input": ["1"], "output": []}}, "public_tests"),
        ("codecontests", CODECONTESTS | {"time_limit": {"seconds": "some"}}, ""),
        ("codecontests", CODECONTESTS | {"memory_limit_bytes": "9" * 400}, ""),
        ("livecodebench", LIVECODEBENCH | {"private_test_cases": _packed("[" * 100_000)}, ""),
        ("livecodebench", LIVECODEBENCH | {"private_test_cases": "???"}, "private_test_cases"),
        ("verl", {"data_source": "x", "reward_model": {}}, "ground_truth"),
        ("sudoku", {"Solution": "1"}, "puzzle"),
        ("countdown", {"nums": [1, "x"], "target": 3}, "numbers"),
        ("countdown", {"nums": [1, 2]}, "output"),
        ("reasoning-gym", {"question": "q", "answer": "a", "metadata": {}}, "source_dataset"),
    ],
)
def test_a_record_of_another_form_is_refused(name: str, record: dict[str, Any], path: str) -> None:
    """The refusal names the field."""
    with pytest.raises(InvalidRequest) as caught:
        task_of_record(Format(name), record)

    assert caught.value.path == path


def test_a_pickle_that_does_more_than_hold_a_text_is_never_loaded() -> None:
    """Hidden tests come as a pickle; one that would call something is refused, and nothing is called."""
    evil = base64.b64encode(zlib.compress(b"cos\nsystem\n(S'touch /tmp/no'\ntR.")).decode()

    with pytest.raises(InvalidRequest, match="GLOBAL"):
        task_of_record(Format.LIVECODEBENCH, LIVECODEBENCH | {"private_test_cases": evil})


def test_tasks_of_assay_are_of_no_format() -> None:
    """A record with a verifier or an id is read as it is."""
    assert formats_of({"id": "a", "question": "", "answer": "#### 1"}) == ()
    assert formats_of({"question": "", "solution": ""}) == ()


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "file", "count"),
    [
        ("humaneval", "HumanEval.jsonl.gz", 164),
        ("mbpp", "mbpp_mxeval_v1.jsonl", 974),
        ("gsm8k", "gsm8k_test.jsonl", 1319),
        ("math", "math500_test.jsonl", 500),
        ("nl4opt", "orlm_NL4OPT.jsonl", 245),
        ("nl4opt", "orlm_IndustryOR.jsonl", 100),
        ("countdown", "d1_countdown3_test.jsonl", 256),
        ("reasoning-gym", "gym_reasoning_gym_example.jsonl", 5),
    ],
)
def test_published_files_are_read(name: str, file: str, count: int) -> None:
    """Every record of a file that is here becomes a valid task, and shows its format."""
    data = present(DATA / file).read_bytes()
    lines = (gzip.decompress(data) if file.endswith(".gz") else data).splitlines()
    registry = builtin_registry()

    tasks = [registry.parse_task(task_of_record(Format(name), json.loads(line))) for line in lines]

    assert len(tasks) == count
    assert formats_of(json.loads(lines[0])) in ((Format(name),), ())  # MATH-500 has no answer that tells
