"""Drop-in endpoints against hostile callers: whatever is wrong is refused in the peer's shape, and nothing breaks."""

import base64
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from assay.errors import TooLarge
from assay.service.compat.executing import TOLD_BYTES
from assay.service.compat.kept_texts import KeptTexts
from assay.service.connection import Connection
from assay.service.fakes import FAKE
from assay.service.serve import embedded
from assay.settings import Settings

_CALLS: dict[str, dict[str, Any]] = {
    "/run_code": {
        "code": "", "language": "python", "run_timeout": 2, "compile_timeout": 2, "memory_limit_MB": 256, "stdin": "",
        "files": {"a": ""}, "fetch_files": ["a"],
    },
    "/api/v2/execute": {
        "language": "python", "files": [{"name": "main.py", "content": "", "encoding": "utf8"}], "stdin": "",
        "args": ["a"], "run_timeout": 2000, "compile_timeout": 2000, "run_cpu_time": 2000, "run_memory_limit": 1 << 28,
    },
    "/execute": {
        "generated_code": "", "timeout": 2, "language": "ipython", "std_input": "", "max_output_characters": 5,
        "traceback_verbosity": "Plain", "session_id": "s",
    },
    "/execute?": {
        "language": "cf_python3", "run_timeout": 2000, "run_memory_limit": 1 << 28, "files": [
            {"name": "main.python", "content": ""}, {"name": "input.txt", "content": ""},
            {"name": "correct_output.txt", "content": ""}, {"name": "grader_config", "content": "TIME_LIMIT=1"},
        ],
    },
    "/submissions": {
        "source_code": "", "language_id": 71, "stdin": "", "expected_output": "", "command_line_arguments": "",
        "cpu_time_limit": 2, "wall_time_limit": 2, "memory_limit": 128_000,
    },
    "/submissions/batch": {"submissions": [{"source_code": "", "language_id": 71}]},
    "/execute_batch": {"scripts": [""], "languages": ["python"], "timeout": 2, "request_timeout": 3},
    "/test_program": {"program": "", "tests": ["assert 1"], "max_execution_time": 1},
    "/test_program_stdio": {"program": "", "tests": [{"input": "", "output": ""}], "max_execution_time": 1},
    "/openrlhf/get_reward": {"query": ["p1"], "prompts": ["p"], "labels": ["1"]},
    "/remote_rm": {"response": "1", "label": "1"},
    "/verify": {"response": {"output": [{"type": "message", "content": "1"}]}, "verifier_metadata": {"task": "1"}},
}  # fmt: skip
_SHAPES = {
    "/api/v2/execute": "message",
    "/execute": "message",
    "/execute?": "message",
    "/submissions": "error",
    "/submissions/batch": "error",
}
_WRONG = ("9" * 30, "1e999", "NaN", "-1", "0", "[[1]]", '{"\\ud800": 5}', "[" * 9000, "[" * 200 + "]" * 200)
_NO_LABELS: tuple[Any, ...] = (
    None, True, {}, {"inputs": 5, "outputs": 5}, {"inputs": "ab", "outputs": "ab"}, {"test_cases": [1]},
    {"test_cases": [{"fn_name": []}]}, {"assert_case": 5}, {"inputs": [], "outputs": [], "fn_name": 5},
    '{"inputs": ' + "[" * 5000 + "]" * 5000 + ', "outputs": []}', '{"inputs": [[NaN]], "outputs": [1], "fn_name": "f"}',
)  # fmt: skip


def _places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    steps = document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for step in steps:
        yield from _places(document[step], (*at, step))


def _with(document: Any, at: tuple[Any, ...], mark: str) -> Any:
    if not at:
        return mark
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[at[0]] = _with(document[at[0]], at[1:], mark)
    return copy


@pytest.mark.parametrize("path", _CALLS)
def test_what_is_wrong_with_a_field_is_refused_in_the_shape_of_the_peer(call: httpx.Client, path: str) -> None:
    """Types, numbers that are none or too large, and depths, at every place: 2xx where they may stand, else 4xx."""
    headers = {"Content-Type": "application/json"}
    for at in _places(_CALLS[path]):
        body = json.dumps(_with(_CALLS[path], at, "@"))
        for wrong in _WRONG:
            answer = call.post(path, content=body.replace('"@"', wrong), headers=headers)

            assert answer.status_code < 500, (at, wrong[:40], answer.text)
            told = json.loads(answer.text)
            if at == () and wrong.startswith("[[["):
                assert _SHAPES.get(path, "detail") in told


@pytest.mark.parametrize("label", _NO_LABELS)
def test_a_label_that_is_none_is_refused(call: httpx.Client, label: Any) -> None:
    """422, never a guess, and never a fault of ours."""
    answers = [
        call.post("/remote_rm", json={"response": "1", "label": label}),
        call.post("/openrlhf/get_reward", json={"query": ["1"], "labels": [label]}),
    ]
    assert [one.status_code for one in answers] == [422, 422]


@pytest.mark.parametrize("missing", ["nan", "inf", "x"])
def test_a_missing_reward_is_a_finite_number_or_none(call: httpx.Client, missing: str) -> None:
    body = {"response": "x", "label": {"id": "none", "tests": []}}
    assert call.post("/remote_rm", params={"missing": missing}, json=body).status_code == 422


def test_what_is_no_text_in_base64_is_refused_by_its_name(call: httpx.Client) -> None:
    for text in ("é", "a", base64.b64encode(b"\xff").decode()):
        body = {"source_code": text, "language_id": 71}
        answer = call.post("/submissions", params={"base64_encoded": True, "wait": True}, json=body)
        assert (answer.status_code, list(answer.json())) == (422, ["source_code"])


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "\0", "\ud800", "x" * 300])
def test_a_path_that_leaves_the_folder_is_refused(call: httpx.Client, name: str) -> None:
    """422, and nothing runs: such a caller is wrong, and no program has failed."""
    body = json.dumps({"language": "python", "code": "print(1)", "files": {name: "eA=="}})
    assert call.post("/run_code", content=body, headers={"Content-Type": "application/json"}).status_code == 422


def test_tests_that_judge_nobody_are_refused(call: httpx.Client) -> None:
    """504 would have them tried again for ever."""
    answer = call.post("/test_program", json={"program": "x = 1", "tests": ["assert ("]})
    assert (answer.status_code, "does not compile" in answer.json()["detail"]) == (422, True)


def test_a_test_without_an_output_is_refused(call: httpx.Client) -> None:
    """A program that writes nothing would pass it."""
    refused = call.post("/test_program_stdio", json={"program": "", "tests": [{"input": "1"}]})

    assert refused.status_code == 422


def test_scripts_without_a_language_each_are_refused(call: httpx.Client) -> None:
    """They were left out of the answer in silence."""
    assert call.post("/execute_batch", json={"scripts": ["1", "2"], "languages": ["python"]}).status_code == 422


def test_what_judge0_would_do_and_this_service_does_not_is_refused(call: httpx.Client) -> None:
    asked = {
        "callback_url": "http://127.0.0.1/", "number_of_runs": 2, "enable_network": True,
        "compiler_options": "-O3", "redirect_stderr_to_stdout": True,
    }  # fmt: skip
    for name, value in asked.items():
        answer = call.post("/submissions", json={"source_code": "", "language_id": 71, name: value})
        assert (answer.status_code, list(answer.json())) == (422, [name])


def _packed(files: dict[str, bytes], damage: tuple[bytes, bytes] = (b"", b"")) -> str:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED if damage[0] else zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return base64.b64encode(whole.getvalue().replace(*damage)).decode()


@pytest.mark.parametrize(
    ("packed", "status"),
    [
        ("UEs=", 422),
        ("no base64!", 422),
        (_packed({"big": bytes(50_000_000)}), 413),
        (_packed({f"{n}": bytes(900_000) for n in range(3)}), 413),
        ("A" * 4_000_000, 413),
        (_packed({"a": b"1234567890"}, damage=(b"456", b"457")), 422),
    ],
    ids=["cut", "no-base64", "bomb", "together", "long", "damaged"],
)
def test_files_of_judge0_are_unpacked_within_bounds(call: httpx.Client, packed: str, status: int) -> None:
    """A few kilobytes that unpack to 50 MB are refused before they are unpacked, alone and in a batch."""
    body = {"source_code": "print(1)", "language_id": 71, "additional_files": packed}
    assert call.post("/submissions", json=body).status_code == status
    (refused, taken) = call.post(
        "/submissions/batch", json={"submissions": [body, body | {"additional_files": None}]}
    ).json()
    assert (list(refused), list(taken)) == (["additional_files"], ["token"])


@pytest.mark.parametrize("name", ["../out", "/abs", "a/../../b"])
def test_files_of_judge0_stay_below_the_folder(call: httpx.Client, name: str) -> None:
    """Such a submission is no verdict on the program."""
    body = {"source_code": "print(1)", "language_id": 71, "additional_files": _packed({name: b"x"})}
    told = call.post("/submissions", params={"wait": True}, json=body).json()
    assert (told["status"]["id"], told["stdout"]) == (13, None)


def test_one_malformed_submission_of_a_batch_is_told_in_its_place(call: httpx.Client) -> None:
    """The others are taken: a client reads tokens and errors by their places."""
    right = {"source_code": "print(1)", "language_id": 71}
    wrong = [
        {"language_id": 71},
        right | {"cpu_time_limit": "soon"},
        right | {"language_id": None},
        7,
        right | {"stdin": 1},
    ]
    told = call.post("/submissions/batch", json={"submissions": [right, *wrong, right]})
    assert told.status_code == 201
    names = ["token", "source_code", "cpu_time_limit", "language_id", "submission", "stdin", "token"]
    assert [list(one) for one in told.json()] == [[name] for name in names]
    assert all(isinstance(words, list) and words[0] for one in told.json()[1:-1] for words in one.values())


def test_what_others_say_is_no_answer(call: httpx.Client) -> None:
    """A response may hold messages of a user or a tool: only the assistant's are judged."""
    said = [{"role": "assistant", "content": "2"}, {"role": "user", "content": "the answer is \\boxed{7}"}]
    body = {"response": {"output": [{"type": "message", **one} for one in said]}, "expected_answer": "7"}
    assert call.post("/verify", json=body).json()["reward"] == 0.0


def test_the_key_is_asked_for_everywhere_before_a_body_is_read(redis_binary: str, data_dir: Any) -> None:  # noqa: ARG001 - skips
    """Without it every endpoint answers 401, also to a body that is no JSON; `/v1/ping` and lists too."""
    settings = Settings(port=0, data_dir=data_dir, slots=1, log_level="error", api_keys=("s3cret",), max_body_mb=1)  # type: ignore[arg-type]  # text is how operators write them
    with embedded(settings, assembler=FAKE) as url, httpx.Client(base_url=url, timeout=30) as client:
        posts = [client.post(path, content=b"{") for path in _CALLS]
        assert client.delete("/sessions/x").status_code == 401
        paths = (
            "/v1/ping",
            "/api/v2/runtimes",
            "/runtimes",
            "/submissions/x",
            "/submissions/batch?tokens=x",
            "/languages",
        )
        assert {one.status_code for one in (*posts, *map(client.get, paths))} == {401}
        headers = {"Authorization": "Bearer s3cret"}
        assert client.get("/v1/ping", headers=headers).status_code == 200
        keys = {"s3cret": 200, "other": 401}  # as Judge0's clients send it
        assert {key: client.get("/languages", headers={"X-Auth-Token": key}).status_code for key in keys} == keys
        large = client.post("/run_code", json={"language": "python", "code": "x" * 2_000_000}, headers=headers)
        assert (large.status_code, "detail" in large.json()) == (413, True)


def test_texts_are_kept_up_to_a_number_and_a_size(connection: Connection) -> None:
    """The oldest go first; what is kept again counts once, and what is dropped no longer."""
    kept = KeptTexts(connection, "kind", most=3, most_bytes=100)
    for token in "abcd":
        kept.keep(token, "x" * 10)
        kept.keep(token, "y" * 10)
    assert kept.read("abcd") == [None, *[b"y" * 10] * 3]
    kept.keep("e", "z" * 85)
    assert kept.read("bcde") == [None, None, b"y" * 10, b"z" * 85]
    assert (kept.drop("e"), kept.drop("e")) == (True, False)
    kept.keep("f", "w" * 85)
    assert kept.read("def") == [b"y" * 10, None, b"w" * 85]
    assert KeptTexts(connection, "other").read("d") == [None]


def test_a_text_is_replaced_only_where_it_is_still_the_one_that_was_read(connection: Connection) -> None:
    kept = KeptTexts(connection, "kind")
    assert [kept.replace("a", old, new) for old, new in ((None, "1"), (None, "2"), (b"1", "3"), (b"1", "4"))] == [
        True, False, True, False,
    ]  # fmt: skip
    assert kept.read("a") == [b"3"]


def test_no_call_reads_more_submissions_than_it_may(connection: Connection) -> None:
    """A submission counts as often as it is asked for: 1,000 times 4 MB would be an answer of 4 GB."""
    kept = KeptTexts(connection, "kind", most_read_bytes=50)
    kept.keep("a", "x" * 20)

    assert kept.read(["a", "", "a", "unknown"]) == [b"x" * 20, None, b"x" * 20, None]
    with pytest.raises(TooLarge, match="together"):
        kept.read(["a"] * 3)


def test_submissions_are_not_left_out_in_silence(call: httpx.Client) -> None:
    """More tokens than are answered are refused."""
    refused = call.get("/submissions/batch", params={"tokens": ",".join(["a"] * 1001)})

    assert (refused.status_code, list(refused.json())) == (422, ["tokens"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/execute_batch", {"scripts": ["import time; time.sleep(50)"] * 4, "timeout": 60, "request_timeout": 60}),
        ("/run_code", {"code": "import time; time.sleep(50)", "language": "python", "run_timeout": 60}),
        ("/submissions?wait=true", {"source_code": "import time; time.sleep(50)", "language_id": 71}),
    ],
)
def test_a_caller_that_goes_frees_its_slots(call: httpx.Client, path: str, body: dict[str, Any]) -> None:
    """Two slots are taken by callers that do not stay; the next one is answered within its time."""
    for _ in range(2):
        with pytest.raises(httpx.ReadTimeout):
            call.post(path, json=body, timeout=httpx.Timeout(30, read=0.5))
    quick = {"code": "print(1)", "language": "python", "run_timeout": 1, "compile_timeout": 1}
    assert call.post("/run_code", json=quick).json()["status"] == "Success"


_MUCH = "print('x' * 3_000_000)"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/execute_batch", {"scripts": [_MUCH] * 40}),
        (
            "/submit",
            {
                "completion": _MUCH,
                "config": {
                    "provided_data": {"test": [{"input": {}, "output": {"stdout": "x"}}] * 40},
                    "extra": {"run_all_cases": True},
                },
            },
        ),
    ],
)
def test_an_answer_is_bounded_whatever_programs_write(call: httpx.Client, path: str, body: dict[str, Any]) -> None:
    """Each output may be 4 MB; all of those that a call is answered with are held at once."""
    answer = call.post(path, json=body, timeout=120)

    assert answer.status_code == 200
    assert len(answer.content) < TOLD_BYTES
    assert answer.text.count("bytes left out") == 40
