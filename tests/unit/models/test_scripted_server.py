"""The scripted server: says what it is told, fails as it is told, and is a program of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.errors import InvalidRequest
from assay.verifiers.models.scripted_server import Rule, ScriptedServer, main, read_script

SCRIPT = r"""
[[rules]]
match = 'END (\w+)'
reply = '{"nonce": "\1", "score": 80}'

[[rules]]
model = "small"
times = 1
status = 429
headers = { Retry-After = "0" }

[[rules]]
reply = '\boxed{42}'
"""


def ask(server: ScriptedServer, text: str, model: str = "big") -> httpx.Response:
    """Ask as any client would."""
    body = {"model": model, "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": text}]}
    return httpx.post(f"{server.base_url}/chat/completions", json=body, trust_env=False)


def text_of(response: httpx.Response) -> Any:
    """What the model said."""
    return response.json()["choices"][0]["message"]["content"]


def test_the_first_rule_that_matches_answers(tmp_path: Path) -> None:
    """By text and model, as often as it may; groups of the pattern stand in the reply."""
    file = tmp_path / "script.toml"
    file.write_text(SCRIPT)

    with ScriptedServer(read_script(file).rules) as server:
        score = text_of(ask(server, "BEGIN ab12\nx\nEND ab12"))
        busy, then = ask(server, "hello", "small"), ask(server, "hello", "small")
        other = ask(server, "hello")

        assert [request.user for request in server.requests][1:] == ["hello"] * 3
        assert server.requests[0].system == "s"

    assert score == '{"nonce": "ab12", "score": 80}'
    assert (busy.status_code, busy.headers["Retry-After"]) == (429, "0")
    assert text_of(then) == text_of(other) == "\\boxed{42}"


def test_what_no_rule_matches_is_not_found() -> None:
    """A script says all that is said."""
    with ScriptedServer([Rule(match="only this", reply="x")]) as server:
        assert ask(server, "that").status_code == 404


def test_a_script_may_be_json(tmp_path: Path) -> None:
    """Told by the file's name."""
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"rules": [{"reply": "x", "delay_s": 0.01}]}))

    assert read_script(file).rules == (Rule(reply="x", delay_s=0.01),)


@pytest.mark.parametrize(
    "text",
    [
        "[[rules]]\nreply = '\\1'",
        "",
        "[[rules]]\nmatch = '('",
        "[[rules]]\nreply = 1",
        "[[rules]]\nanswer = ''",
        "[[rules",
        "rules = 3",
    ],
)
def test_a_broken_script_is_refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With a word about what is wrong."""
    file = tmp_path / "script.toml"
    file.write_text(text)

    with pytest.raises(InvalidRequest):
        read_script(file)
    assert main(["--script", str(file)]) == 2
    assert capsys.readouterr().err.startswith("scripted_server: ")


def test_it_is_a_program_of_its_own(tmp_path: Path) -> None:
    """It tells its address, serves, and ends with an interrupt."""
    file = tmp_path / "script.toml"
    file.write_text("[[rules]]\nreply = 'Hi.'\n")
    server = [sys.executable, "-m", "assay.verifiers.models.scripted_server", "--script", str(file), "--port", "0"]
    command = ["env", "--default-signal=INT", *server]  # a job of a shell's background would have it ignored
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            body = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}
            answer = httpx.post(f"{url}/chat/completions", json=body, trust_env=False)
            process.send_signal(2)

            assert process.wait(20) == 130
        finally:
            process.kill()  # else leaving would wait for it without end
    assert text_of(answer) == "Hi."
