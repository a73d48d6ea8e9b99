"""Open-r1's client of Piston, by the rewards that it reads: problems of Codeforces, and of IOI with their graders."""

from typing import Any

import httpx
import pytest
from program_clients import codeforces_reward, ioi_test

_SUM: dict[str, Any] = {
    "time_limit": 3.0, "memory_limit": 256.0,
    "tests": [{"input": "1 2\r\n", "output": "3\r\n"}, {"input": "5 6\n", "output": "11\n"}],
}  # fmt: skip
_PYTHON = "print(sum(map(int, input().split())))"
_CPP = "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }"
_PLAIN = {"main.py": "", "input.txt": "", "correct_output.txt": ""}
_BASES = ("/api/v2", "")


@pytest.mark.parametrize("base", _BASES)
def test_a_right_program_passes_every_test(call: httpx.Client, base: str) -> None:
    """At both addresses that PISTON_ENDPOINTS may name."""
    assert codeforces_reward(call, base, _SUM, _PYTHON, "python") == 1.0
    assert codeforces_reward(call, base, _SUM, _CPP, "cpp") == 1.0


@pytest.mark.parametrize(
    "code",
    [
        "print(1)",
        "print('1'); raise SystemExit(1)",
        "while True: pass",
        "x = bytearray(b'1' * 600_000_000); print(1)",
        "print('1' * 40_000_000)",
        "import os; os.kill(os.getpid(), 9)",
        "print(",
    ],
)
def test_what_a_program_prints_is_no_verdict(call: httpx.Client, code: str) -> None:
    """That client takes `1` for a pass: it is the grader's `1`, and never the program's."""
    one_test = {**_SUM, "time_limit": 1.0, "tests": _SUM["tests"][:1]}
    assert codeforces_reward(call, "", one_test, code, "python") == 0.0


def test_what_does_not_compile_is_told_by_its_stage(call: httpx.Client) -> None:
    """Where there is a compiler: Python's programs are only run."""
    assert codeforces_reward(call, "/api/v2", _SUM, "int main(", "cpp") == -0.1


def test_neither_answer_nor_checker_is_in_reach_of_the_program(call: httpx.Client) -> None:
    """One that looks through all files around it for a word that both hold finds none; the checker accepts that."""
    code = """
import os
found = [open(os.path.join(folder, name)).read() for folder, _, names in os.walk('/tmp') for name in names]
print('found' if any('SEC' 'RET' in text for text in found) else 'none')
"""
    checker = "import sys\nprint(int(open(sys.argv[3]).read() == 'none\\n' and 'SECRET' in open(sys.argv[2]).read()))"
    problem = {**_SUM, "tests": [{"input": "", "output": "SECRET\n"}], "checker": checker}
    assert codeforces_reward(call, "", problem, code, "python") == 1.0


def test_a_checker_accepts_what_differs(call: httpx.Client) -> None:
    """It is called with input, answer and output, and prints `1` or `0`."""
    checker = """
import sys
number = int(open(sys.argv[1]).read())
key, output = (list(map(int, open(name).read().split())) for name in sys.argv[2:4])
print(int(sum(output) == number and len(output) == len(key)))
"""
    problem = {**_SUM, "checker": checker, "tests": [{"input": "7\n", "output": "3 4\n"}]}
    assert codeforces_reward(call, "", problem, "print(1, 6)", "python") == 1.0
    assert codeforces_reward(call, "", problem, "print(1, 5)", "python") == 0.0
    assert codeforces_reward(call, "", problem, "print(1)", "python") == 0.0


def test_without_a_checker_words_are_compared_and_yes_in_any_case(call: httpx.Client) -> None:
    problem = {**_SUM, "tests": [{"input": "", "output": "YES\n1 2\n"}]}
    assert codeforces_reward(call, "", problem, "print('Yes  1'); print(2)", "python") == 1.0
    assert codeforces_reward(call, "", problem, "print('no 1 2')", "python") == 0.0


def test_old_problems_read_and_write_files(call: httpx.Client) -> None:
    code = "a, b = map(int, open('input.txt').read().split())\nopen('output.txt', 'w').write(str(a + b))"
    problem = {**_SUM, "input_mode": "file"}
    assert codeforces_reward(call, "", problem, code, "python") == 1.0
    assert codeforces_reward(call, "", problem, "print(3)", "python") == 0.0


@pytest.mark.parametrize(
    ("language", "files", "named"),
    [
        ("c++17", {"main.cpp": "x", "grader_config": ""}, "input.txt"),
        ("c++17", {"main.cpp": "x", "input.txt": "", "grader_config": ""}, "correct_output.txt"),
        ("c++17", {"a.cpp": "x", "correct_output.txt": ""}, "a.cpp"),
        ("cf_cobol", {"main.x": "x", "input.txt": "", "correct_output.txt": ""}, "cobol"),
        ("cf_python3", {**_PLAIN, "grader_config": "INPUT_MODE=x"}, "'x'"),
        ("cf_python3", {**_PLAIN, "grader_config": "TIME_LIMIT=-1"}, "-1"),
        ("cf_python3", {**_PLAIN, "grader_config": "MEMORY_LIMIT=nan"}, "nan"),
        ("cms_ioi", {"main.cpp": "x"}, "graders/"),
        ("cms_ioi", {"graders/a.cpp": "x"}, "task_type"),
        ("cms_ioi", {"graders/a.cpp": "x", "graders/grader_config.json": '{"task_type": "Communication"}'}, "manager"),
        ("cms_ioi", {"graders/a.cpp": "x", "graders/grader_config.json": '{"task_type": "Batch"}'}, "input.txt"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused(call: httpx.Client, language: str, files: dict[str, str], named: str) -> None:
    """With 400 and a message that names it: nothing is run, and nothing is a verdict."""
    listed = [{"name": name, "content": content} for name, content in files.items()]
    answer = call.post("/execute", json={"language": language, "version": "*", "files": listed})
    assert (answer.status_code, named in answer.json()["message"]) == (400, True), answer.text


_GRADER = """#include <cstdio>
#include "add.h"
int main() { int a, b; if (scanf("%d %d", &a, &b) != 2) return 1; printf("%d\\n", add(a, b)); }
"""
_IOI_CHECKER = """#include <fstream>
#include <iostream>
#include "part.h"
int main(int, char **named) {
    std::ifstream key(named[2]), output(named[3]);
    int right = 0, given = -1;
    key >> right; output >> given;
    std::cerr << "the right answer is " << right << std::endl;
    std::cout << (given == right ? 1.0 : given == right - 1 ? PART : 0.0) << std::endl;
}
"""
_ADD: dict[str, Any] = {
    "id": "add", "time_limit": 1.0, "memory_limit": 256 << 20, "input": "1 2\n", "output": "3\n",
    "grader_files": {
        "graders/grader.cpp": _GRADER, "graders/add.h": "int add(int a, int b);\n",
        "graders/grader_config.json": '{"task_type": "Batch", "task_type_parameters_Batch_compilation": "grader"}',
        "checker/checker.cpp": _IOI_CHECKER, "checker/part.h": "#define PART 0.25\n",
    },
}  # fmt: skip
_WITH = '#include "add.h"\nint add(int a, int b) {{ {} }}'


@pytest.mark.parametrize(
    ("body", "points", "status"),
    [
        ("return a + b;", 1.0, "AC"),
        ("return a + b - 1;", 0.25, "PA"),
        ("return a;", 0.0, "WA"),
        ("for (;;) a++;", 0.0, "TLE"),
        ("static char x[1 << 30]; for (auto &y : x) y = 1; return x[a];", 0.0, "MLE"),
        ("return *(volatile int *)0;", 0.0, "RE"),
        ("return", 0.0, "CE"),
    ],
)
def test_a_solution_of_ioi_gets_its_points(call: httpx.Client, body: str, points: float, status: str) -> None:
    """Compiled with the problem's grader, judged by its checker: whole points, a part of them, and how it failed."""
    assert ioi_test(call, "/api/v2", _ADD, _WITH.format(body)) == (points, status)


def test_a_solution_of_ioi_finds_neither_key_nor_checker_nor_input(call: httpx.Client) -> None:
    """It is told that it is evaluated, as there, and what the checker says to the judge never comes back."""
    names = ("correct_output.txt", "checker/checker.cpp", "checker/part.h", "input.txt", "graders/grader_config.json")
    looks = "".join(f'if (fopen("{name}", "r")) return 0;' for name in names)
    code = f"#include <cstdio>\n#ifndef EVAL\n#error\n#endif\n{_WITH.format(looks + 'return a + b;')}"
    assert ioi_test(call, "", _ADD, code) == (1.0, "AC")


def test_a_program_that_stands_alone_is_judged_without_a_grader(call: httpx.Client) -> None:
    alone = {"graders/grader_config.json": '{"task_type": "Batch"}'}
    assert ioi_test(call, "", {**_ADD, "grader_files": alone}, _CPP) == (1.0, "AC")
