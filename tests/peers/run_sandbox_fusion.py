"""The official client of SandboxFusion against the service at ASSAY_URL: prints what it was told as JSON."""

import asyncio
import base64
import json
import os
from typing import Any

import sandbox_fusion as fusion

WORDS = fusion.SummaryMapping(
    Success="success", Failed="failed", CompileFailed="compile failed", CompileTimeout="compile timeout",
    RunFailed="run failed", RunTimeout="run timeout",
)  # fmt: skip
PROGRAMS: dict[str, dict[str, Any]] = {
    "right": {"code": "print(1)", "language": "python"},
    "raises": {"code": "1 / 0", "language": "python"},
    "late": {"code": "while 1: pass", "language": "python", "run_timeout": 1},
    "loud": {"code": "print('x' * 20_000_000)", "language": "python"},
    "large": {"code": "x = bytearray(900_000_000)", "language": "python"},
    "killed": {"code": "import os; os.kill(os.getpid(), 9)", "language": "python"},
    "unreadable": {"code": "def f(:", "language": "python"},
    "compiled": {"code": "int main(){}", "language": "cpp"},
    "uncompiled": {"code": "int main(", "language": "cpp"},
    "slow to compile": {
        "code": "template<int N,int P>struct T{enum{v=T<N-1,2*P>::v+T<N-1,2*P+1>::v};};template<int P>struct T<0,P>"
        "{enum{v=0};};int main(){return T<20,1>::v;}",
        "language": "cpp", "compile_timeout": 1,
    },
}  # fmt: skip


def summary(program: dict[str, Any]) -> str:
    """The word that the client has for what became of a program; it raises for an answer that it cannot read."""
    return str(fusion.summary_run_code_result(fusion.run_code(fusion.RunCodeRequest(**program), max_attempts=1), WORDS))


async def awaited() -> list[str]:
    """Fifty programs at once, each with an output of its own."""
    asked = [fusion.RunCodeRequest(code=f"print({number})", language="python") for number in range(50)]
    return [one.run_result.stdout for one in await asyncio.gather(*map(fusion.run_code_async, asked))]


def submitted(completion: str) -> bool:
    """Whether common OJ data accepts a completion."""
    cases = [
        {"input": {"stdin": "3"}, "output": {"stdout": "9"}},
        {"input": {"stdin": "4"}, "output": {"stdout": "16"}},
    ]
    config = fusion.TestConfig(
        dataset_type="CommonOJDataset", language="python",
        provided_data={"id": 1, "content": "", "test": cases, "canonical_solution": "", "labels": {}},
        extra={"run_all_cases": True},
    )  # fmt: skip
    asked = fusion.SubmitRequest(dataset="any", id=1, config=config, completion=completion)
    return bool(fusion.submit(asked, max_attempts=1).accepted)


def main() -> None:
    """Run programs alone, at once, with files, and submit answers."""
    fusion.set_endpoint(os.environ["ASSAY_URL"])
    beside = {"a.txt": base64.b64encode(b"beside").decode()}
    code = "open('b.txt', 'w').write(open('a.txt').read() * 2)"
    asked = fusion.RunCodeRequest(code=code, language="python", files=beside, fetch_files=["b.txt"])
    print(json.dumps({
        "words": {name: summary(program) for name, program in PROGRAMS.items()},
        "awaited": asyncio.run(awaited()),
        "fetched": base64.b64decode(fusion.run_code(asked).files["b.txt"]).decode(),
        "submitted": [submitted(f"```python\nprint(int(input()) {sign} 2)\n```") for sign in ("**", "+")],
    }))  # fmt: skip


if __name__ == "__main__":
    main()
