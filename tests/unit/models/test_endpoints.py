"""The operator's table of endpoints."""

from pathlib import Path

import pytest

from assay.cli.commands import run
from assay.errors import InvalidRequest
from assay.settings import Settings
from assay.verifiers.models.endpoints import read_endpoints
from assay.verifiers.models.interface import NoModels
from assay.verifiers.models.opening import open_models

KEY = "sk-very-secret-0123456789"
TABLE = """
[small]
base_url = "http://127.0.0.1:8000/v1/"
model = "small-7b"

[big]
base_url = "https://models.example/v1"
model = "big-1"
api_key_env = "BIG_KEY"
timeout_s = 120
retries = 4
max_concurrency = 8
temperature = 0.0
max_tokens = 512
token_field = "max_completion_tokens"
parameters = { reasoning_effort = "low" }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the table."""
    return tmp_path / "models.toml"


def test_a_table_is_read_with_its_keys(file: Path) -> None:
    """Addresses, parameters and the key in the variable; nothing shows the key."""
    file.write_text(TABLE)

    known = read_endpoints(file, {"BIG_KEY": KEY})

    assert list(known) == ["small", "big"]
    assert known["small"].endpoint.url == "http://127.0.0.1:8000/v1/chat/completions"
    assert known["small"].key is None
    assert known["big"].endpoint.fields() == {
        "reasoning_effort": "low", "model": "big-1", "temperature": 0.0, "max_completion_tokens": 512,
    }  # fmt: skip
    assert known["big"].key is not None
    assert known["big"].key.get_secret_value() == KEY
    assert KEY not in repr(known)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("[small]", '["a b"]', "models.a b"), ("[small]", "small = 1\n[other]", "models.small"),
        ('model = "small-7b"', "", "models.small.model"), ('model = "small-7b"', f'api_key = "{KEY}"', "models.small"),
        ("timeout_s = 120", "timeout_s = 0", "models.big.timeout_s"), ("retries = 4", "retries = 11", "models.big"),
        ("temperature = 0.0", "temperature = nan", "models.big.temperature"),
        ("temperature = 0.0", "temperature = -1", "models.big.temperature"),
        ("127.0.0.1:8000", f"user:{KEY}@127.0.0.1", "models.small"), ("http://127", "ftp://127", "models.small"),
        ("8000/v1/", f"8000/v1?key={KEY}", "models.small"), ("http://127.0.0.1:8000/v1/", "/v1", "models.small"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:port", "models.small"),
        ("reasoning_effort", "messages", "models.big"), ("reasoning_effort", "stream", "models.big"),
        ('reasoning_effort = "low"', "at = 2026-01-01", "models.big"),
        ("[small]", "[small", "models"), (TABLE, "", "models"),
    ],
    ids=str,
)  # fmt: skip
def test_a_broken_table_is_refused(file: Path, old: str, new: str, path: str) -> None:
    """The refusal names the endpoint, and shows no secret that stands in the wrong place."""
    assert old in TABLE
    file.write_text(TABLE.replace(old, new))

    with pytest.raises(InvalidRequest) as caught:
        read_endpoints(file, {"BIG_KEY": KEY})

    assert caught.value.path.startswith(path)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "é", "x" * 5000])
def test_a_key_that_no_header_carries_is_refused(file: Path, key: str) -> None:
    """Nor is one that is missing; the variable is named by the table, the key is not shown."""
    file.write_text(TABLE)

    with pytest.raises(InvalidRequest) as caught:
        read_endpoints(file, {"BIG_KEY": key})

    assert caught.value.path == "models.big.api_key_env"
    assert not key or key not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(file: Path) -> None:
    """Where a process is put together, before it takes any work."""
    with pytest.raises(InvalidRequest, match="cannot read the models file"):
        open_models(Settings(models=file))


def test_without_a_file_nobody_is_asked() -> None:
    """The setting is unset by default."""
    assert isinstance(open_models(Settings()), NoModels)


def test_doctor_tells_which_endpoints_there_are(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With their models, without asking them; a broken table is named."""
    monkeypatch.setenv("ASSAY_MODELS", str(file))
    monkeypatch.setenv("BIG_KEY", KEY)
    file.write_text(TABLE)
    run(["doctor"])
    good = capsys.readouterr().out
    file.write_text("[x]")
    run(["doctor"])

    assert "ok      models: small (small-7b), big (big-1)" in good
    assert KEY not in good
    assert "MISSING models: models.x.base_url" in capsys.readouterr().out
