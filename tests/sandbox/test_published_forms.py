"""Tests in the forms in which data sets publish them, run as they are."""

import pytest

from assay.cli.inputs import Batch
from assay.cli.local import Scorer, build_jobs, builtin_registry
from assay.clients.formats import Format, task_of_record
from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.schema import BatchOptions
from assay.settings import Settings
from assay.verifiers.evaluate import Evaluator

BIGCODEBENCH = {
    "task_id": "BigCodeBench/0", "instruct_prompt": "Sum.", "libs": "['json']", "entry_point": "task_func",
    "complete_prompt": 'import json\nLIMIT = 5\ndef task_func(n):\n    """Sum."""\n',
    "canonical_solution": "    return json.loads(str(sum(range(n))))\n",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_a(self):\n"
    "        self.assertEqual(json.dumps(task_func(LIMIT)), '10')\n",
}  # fmt: skip
KODCODE = {
    "question": "Add one.", "solution": "def f(x):\n    return x + 1\n", "test_info": [{"function_name": "f"}],
    "test": "from solution import f\n\ndef test_one():\n    assert f(1) == 2\n",
}  # fmt: skip
APPS = {
    "question": "Add.", "starter_code": "class Solution:",
    "input_output": '{"inputs": [[1, 2]], "outputs": [[3]], "fn_name": "add"}',
    "solutions": '["class Solution:\\n    def add(self, a, b):\\n        return a + b"]',
}  # fmt: skip


@pytest.mark.jail
def test_golds_pass_in_the_forms_of_their_data_sets(pool: JailPool) -> None:
    """A unittest class below the prompt's names, a pytest file that imports the solution, a method by its name."""
    rows = {Format.BIGCODEBENCH: BIGCODEBENCH, Format.KODCODE: KODCODE, Format.APPS: APPS}
    tasks = [task_of_record(name, row) for name, row in rows.items()]
    attempts = [{"task_id": task["id"], "completion": task["gold"]} for task in tasks]
    registry = builtin_registry()
    scorer = Scorer(registry, Evaluator(registry, pool), pool.size)

    results = scorer.score(build_jobs(registry, Batch(tuple(tasks), tuple(attempts)), Settings()), BatchOptions())

    assert {result.task_id: (result.outcome, result.message) for result in results} == {
        task["id"]: (Outcome.PASSED, "") for task in tasks
    }
