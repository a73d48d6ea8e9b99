"""For each verifier a completion that passes the example of its task schema: the reference shows it, a test runs it."""

from collections.abc import Mapping

_THOUGHT = "<think>Let me look.</think>"

WORKED: Mapping[str, str] = {
    "calls": "const add = (a, b) => a + b;",
    "chain": 'model_id = [0, 1]\nsubtasks = ["Work it out.", "Check it, and box it."]\naccess_list = [[], [0]]',
    "classification": "<think>Golden fur, floppy ears.</think><answer>golden retriever</answer>",
    "composite": "<think>Small, brown, tail up.</think><answer>wren</answer>",
    "countdown": "<think>8 times 3 is 24.</think><answer>(8 + 5) * 3</answer>",
    "detection": f'{_THOUGHT}<answer>[{{"Position": [10, 10, 50, 50], "Confidence": 1}}]</answer>',
    "environment": '<answer>["down", "down", "right", "right", "down", "right"]</answer>',
    "execute": '{"code": "print(6 * 7)"}',
    "exact_match": "<think>The capital of France.</think><answer>Paris</answer>",
    "format": "<think>\nLet me look.\n</think>\n<answer>\n42\n</answer>",
    "grounded_qa": f"{_THOUGHT}<answer>B</answer><glue>[(4.0, 10.0)]</glue>",
    "gui": f"{_THOUGHT}<answer>[{{'action': 'click', 'point': [140, 220], 'input_text': 'no input text'}}]</answer>",
    "instructions": "The fog lifts over the harbour.",
    "judge": "I built a house of oak, with a door and a roof.",
    "json_schema": '{"age": 42}',
    "kernel": (
        "```c\n#include <stdint.h>\n"
        "void product(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {\n"
        "  for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) {\n    float sum = 0;\n"
        "    for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];\n    c[i * n + j] = sum;\n  }\n}\n```"
    ),
    "knights_knaves": f"{_THOUGHT}<answer>Ann is a knight. Bob is a knave.</answer>",
    "length": "",
    "math": "<think>Half of one.</think>The answer is \\boxed{0.5}.",
    "multiple_choice": f"{_THOUGHT}<answer>B</answer>",
    "optimum": 'All the wheat that there may be. <answer>{"wheat": 3, "rye": 1}</answer>',
    "plan": 'model_id = [0, 2]\nsubtasks = ["Solve it.", "Check it."]\naccess_list = [[], [0]]',
    "program": "abcba",
    "python": "def add(a, b):\n    return a + b",
    "reasoning_gym": "<answer>3</answer>",
    "regex": "It was on 2026-02-29.",
    "repetition": "No three words occur twice here.",
    "run": 'print("hello")',
    "simulator": "<reasoning>Slow down.</reasoning><answer>new_mpc_params = {'qv': 20, 'v_max': 3}</answer>",
    "solver": (
        "<think>Two crops.</think>\n<model>max 3w + 2r, w + r <= 4, w + 3r <= 6, w <= 3</model>\n<python>\n"
        "from scipy.optimize import linprog\n"
        "best = linprog([-3, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6], bounds=[(0, 3), (0, None)])\n"
        "print('OBJ:', -best.fun)\n</python>"
    ),
    "sql": ("<think>Bo is paid 20.</think>\n<answer>\n```sql\nSELECT name FROM crew WHERE pay < 21\n```\n</answer>"),
    "sudoku": "<answer>\n1234\n4321\n2143\n3412\n</answer>",
    "stdio": "```cpp\n#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }\n```",
    "temporal": f"{_THOUGHT}<answer>4 to 9</answer>",
    "text_overlap": "The cat sat on the mat.",
    "tool_call": (
        "<think>I need the weather.</think>\n<tool_call>\n"
        '{"name": "weather", "parameters": {"city": "Oslo", "days": 3}}\n</tool_call>'
    ),
    "tracking": f"{_THOUGHT}<answer>[[0, 0, 20, 20], [10, 0, 30, 20]]</answer>",
}
