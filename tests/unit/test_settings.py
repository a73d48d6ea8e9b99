"""Settings: file, environment, overrides, and refusals that name the setting."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from assay.errors import InvalidRequest
from assay.settings import (
    Settings,
    data_folder_of_tests,
    load_settings,
    override,
    required_neighbours,
    unknown_variables,
)


def test_defaults_stand_without_file_and_environment() -> None:
    """Nothing set means the documented defaults."""
    assert load_settings({}) == Settings()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    """A variable beats the same key of the file; other keys of the file stand."""
    file = tmp_path / "assay.toml"
    file.write_text("port = 1\nworkers = 2\n")

    settings = load_settings({"ASSAY_PORT": "3"}, file)

    assert (settings.port, settings.workers) == (3, 2)


def test_the_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    """ASSAY_CONFIG names the file."""
    file = tmp_path / "assay.toml"
    file.write_text("slots = 5\n")

    assert load_settings({"ASSAY_CONFIG": str(file)}).slots == 5


def test_keys_are_separated_by_commas_and_hidden() -> None:
    """Several keys are possible; none shows when settings are printed."""
    settings = load_settings({"ASSAY_API_KEYS": "first-key, second-key ,"})

    assert [key.get_secret_value() for key in settings.api_keys] == ["first-key", "second-key"]
    assert "first-key" not in repr(settings)


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"ASSAY_PORT": "many"}, "port"),
        ({"ASSAY_SLOTS": "-1"}, "slots"),
        ({"ASSAY_INSECURE": "perhaps"}, "insecure"),
        ({"ASSAY_LOG_LEVEL": "loud"}, "log_level"),
    ],
)
def test_senseless_values_are_refused(environ: dict[str, str], name: str) -> None:
    """The refusal names the setting and its variable."""
    with pytest.raises(InvalidRequest) as caught:
        load_settings(environ)

    assert caught.value.path == name
    assert f"ASSAY_{name.upper()}" in caught.value.fix


@pytest.mark.parametrize(
    ("key", "fix"), [("slotz", "did you mean slots?"), ("xyzzy", "see the settings in the README")]
)
def test_unknown_keys_of_the_file_are_refused(tmp_path: Path, key: str, fix: str) -> None:
    """A misspelt setting is not ignored: the refusal names the file, the key and the setting it resembles."""
    file = tmp_path / "assay.toml"
    file.write_text(f"{key} = 1\n")

    with pytest.raises(InvalidRequest) as caught:
        load_settings({}, file)

    assert str(caught.value) == f"{file}: {key} is not a setting ({fix})"


@pytest.mark.parametrize("text", [None, "port ="])
def test_unreadable_files_are_refused(tmp_path: Path, text: str | None) -> None:
    """A missing or malformed file is named."""
    file = tmp_path / "assay.toml"
    if text is not None:
        file.write_text(text)

    with pytest.raises(InvalidRequest, match=r"assay\.toml"):
        load_settings({}, file)


def test_overrides_are_checked_and_keep_the_rest() -> None:
    """Options replace single values, secrets stay, senseless ones are refused."""
    settings = load_settings({"ASSAY_API_KEYS": "one", "ASSAY_PORT": "4"})

    changed = override(settings, {"slots": 9})

    assert (changed.slots, changed.port, changed.api_keys) == (9, 4, settings.api_keys)
    with pytest.raises(InvalidRequest, match="slots"):
        override(settings, {"slots": -2})


def test_every_setting_is_described() -> None:
    """Each has one sentence that the table of settings shows."""
    fields = Settings.model_fields
    assert issubclass(Settings, BaseModel)

    assert [name for name, field in fields.items() if not (field.description or "").endswith(".")] == []


def test_required_neighbours_are_a_list_of_names() -> None:
    """ASSAY_REQUIRE holds names separated by commas."""
    assert required_neighbours({"ASSAY_REQUIRE": "redis,jail"}) == {"redis", "jail"}
    assert required_neighbours({}) == frozenset()


def test_the_folder_of_published_data_may_be_named() -> None:
    """ASSAY_TEST_DATA is for tests alone, and is no misspelt setting."""
    assert data_folder_of_tests({"ASSAY_TEST_DATA": "/data"}) == Path("/data")
    assert data_folder_of_tests({"ASSAY_TEST_DATA": ""}) is None
    assert unknown_variables({"ASSAY_TEST_DATA": "/data"}) == []


def test_unknown_variables_are_told_with_the_nearest_name() -> None:
    """A misspelt ASSAY_* variable is described, with the setting it resembles; known and foreign ones are not."""
    environ = {"ASSAY_WORKER": "2", "ASSAY_XYZZY": "1", "ASSAY_PORT": "1", "ASSAY_REQUIRE": "redis", "PATH": "/bin"}

    assert unknown_variables(environ) == [
        "ASSAY_WORKER is not a setting; did you mean ASSAY_WORKERS?",
        "ASSAY_XYZZY is not a setting; see the settings in the README",
    ]
