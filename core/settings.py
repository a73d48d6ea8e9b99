"""Every setting, read once from a TOML file and `ASSAY_*` variables (the variables win).

This is the only module that reads the environment.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from assay.errors import InvalidRequest, plain
from assay.levels import Level
from assay.spelling import nearest
from assay.toolkit import CUDA_HOME, USUAL_CUDA_ROOT

_PREFIX = "ASSAY_"
NUMERIC_TUNING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Variables of OpenBLAS that jails are given too if the operator has set them."""
_DRIVER_PATHS = ("LD_LIBRARY_PATH", "PYTHONPATH")
"""Variables by which processes on a CUDA device find the driver, and cupy, as this one would."""
_ELSEWHERE = frozenset({"ASSAY_CONFIG", "ASSAY_REQUIRE", "ASSAY_TEST_DATA"})  # read below, but no settings of a service

_LISTS = frozenset({"api_keys", "timing_cores"})

LogLevel = Annotated[
    Literal["debug", "info", "warning", "error", "critical"],
    BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
]


class Settings(BaseModel):
    """Settings of a service, a worker or a one-off score; units are in the names, MB = 2^20 bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address the HTTP service binds to.")
    port: int = Field(8700, ge=0, le=65535, description="Port of the HTTP service; 0 picks a free one.")
    api_keys: tuple[SecretStr, ...] = Field(
        (),
        description="Bearer keys (comma-separated); required as soon as the service binds beyond loopback.",
    )
    redis_url: SecretStr | None = Field(None, description="External Redis; unset starts a private one.")
    data_dir: Path = Field(Path("assay-data"), description="Folder for the private Redis and archived results.")
    workers: int = Field(1, ge=0, le=256, description="Worker processes started by `assay serve`.")
    slots: int = Field(0, ge=0, le=1024, description="Attempts a worker runs at once; 0 means twice the usable cores.")
    queue_limit: int = Field(200_000, ge=1, description="Attempts that may wait before new ones are answered 429.")
    max_body_mb: int = Field(256, ge=1, description="Largest request body, after decompression.")
    max_task_mb: int = Field(64, ge=1, description="Largest task.")
    max_completion_bytes: int = Field(1_000_000, ge=1, description="Largest completion.")
    max_wall_s: float = Field(600.0, gt=0, description="Largest `limits.wall_s` a task may ask for.")
    max_cpu_s: float = Field(1800.0, gt=0, description="Largest `limits.cpu_s`.")
    max_memory_mb: int = Field(16_384, ge=1, description="Largest `limits.memory_mb`.")
    max_processes: int = Field(1024, ge=1, description="Largest `limits.processes`.")
    max_output_bytes: int = Field(50_000_000, ge=0, description="Largest `limits.output_bytes`; a worker holds them.")
    max_disk_mb: int = Field(4096, ge=1, description="Largest `limits.disk_mb`; it is memory.")
    max_files: int = Field(100_000, ge=16, description="Largest `limits.files`.")
    max_attempt_wall_s: float = Field(3600.0, gt=0, description="Largest `limits.attempt_wall_s`.")
    result_ttl_s: int = Field(86_400, ge=60, description="How long finished batches stay readable.")
    insecure: bool = Field(False, description="Run completions without isolation; flags every result `insecure`.")
    sandbox: Literal["auto", "local", "docker", "landlock"] = Field(
        "auto",
        description="Where attempts run: jails on this machine (`local`), jails in containers (`docker`), `landlock`; "
        "`auto` takes `local`, or `docker` where the machine allows no jails and an engine answers, or `landlock` "
        "where neither is to be had and `ASSAY_LEAST_CONFINEMENT` allows it.",
    )
    least_confinement: Level = Field(
        Level.NAMESPACES, description="The weakest confinement that a worker may run at; see docs/sandbox.md."
    )
    docker_image: str = Field("assay-jail", description="Image of the containers that jails run in.")
    docker_runtime: Literal["runc", "runsc"] = Field("runc", description="Container runtime; `runsc` is gVisor.")
    cuda_root: Path | None = Field(
        None, description=f"Folder of the CUDA toolkit that compiles kernels; unset means `{USUAL_CUDA_ROOT}`."
    )
    cuda_device: str = Field(
        "0",
        pattern=r"^([0-9]{1,3}|(GPU|MIG)-[0-9A-Za-z/-]{1,80})$",
        description="The CUDA device that kernels are timed on, by number or UUID (`GPU-…`, `MIG-…`).",
    )
    cuda_lock_mhz: int | None = Field(
        None, ge=100, le=10_000, description="Where its clock is locked while kernels are timed; unset leaves it alone."
    )
    cuda_require_lock: bool = Field(False, description="Refuse to time on it where its clock cannot be locked.")
    timing_cores: tuple[int, ...] = Field(
        (),
        description="Cores that kernels are timed on and nothing else is run on (comma-separated); unset means all.",
    )
    device_dir: Path | None = Field(
        None,
        description="Folder of the locks of devices that kernels are timed on: one for all workers of a machine, and "
        "writable by their user alone; unset means `assay-devices` in the temporary folder.",
    )
    recycle_after: int = Field(1000, ge=1, description="Attempts after which a jail is replaced by a fresh one.")
    retries: int = Field(2, ge=0, le=10, description="Fresh tries after a fault of ours before `infra_error`.")
    models: Path | None = Field(
        None, description="TOML file of the model endpoints that tasks may name; see docs/models.md."
    )
    model_calls: int = Field(
        64,
        ge=1,
        le=1024,
        description="Attempts for which a worker asks models at once; calls of `/v1/score` have a quarter on top.",
    )
    databases: Path | None = Field(None, description="Folder of the database files that tasks of `sql` may name.")
    log_level: LogLevel = Field("info", description="Least severe level that is logged.")


def load_settings(environ: Mapping[str, str] | None = None, file: Path | None = None) -> Settings:
    """Read settings from `file` (TOML) and then from `ASSAY_*` variables. Raises InvalidRequest naming the setting."""
    source = os.environ if environ is None else environ
    values: dict[str, object] = {}
    chosen = file or (Path(source["ASSAY_CONFIG"]) if source.get("ASSAY_CONFIG") else None)
    if chosen is not None:
        values.update(_read_file(chosen))
    for name in Settings.model_fields:
        text = source.get(f"{_PREFIX}{name.upper()}")
        if text:
            values[name] = _listed(text) if name in _LISTS else text
    return _validate(values)


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Describe every `ASSAY_*` variable that nothing reads, with the name it was probably meant to be."""
    source = os.environ if environ is None else environ
    known = {*_ELSEWHERE, *(f"{_PREFIX}{name.upper()}" for name in Settings.model_fields)}
    descriptions = []
    for name in sorted(name for name in source if name.startswith(_PREFIX) and name not in known):
        descriptions.append(f"{name} is not a setting; {_advice(name, known)}")
    return descriptions


def override(settings: Settings, values: Mapping[str, object]) -> Settings:
    """Return `settings` with some values replaced (command-line options). Raises InvalidRequest naming the setting."""
    return _validate({**settings.model_dump(), **values})


def _read_file(file: Path) -> Mapping[str, object]:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"cannot read settings file {file}: {error}", path=str(file)) from error
    for name in values:
        if name not in Settings.model_fields:
            fix = _advice(name, Settings.model_fields)
            raise InvalidRequest(f"{name} is not a setting", path=str(file), fix=fix)
    return values


def _advice(name: str, known: Iterable[str]) -> str:
    """Return what to do about a name that is none of the `known`."""
    meant = nearest(name, sorted(known))
    return "see the settings in the README" if meant is None else f"did you mean {meant}?"


def _validate(values: Mapping[str, object]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InvalidRequest(plain(first["msg"]), path=name, fix=f"see {_PREFIX}{name.upper()}") from error


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def service_address(environ: Mapping[str, str] | None = None) -> tuple[str, str | None]:
    """Return what clients need: the service's address, in ASSAY_URL ('' if unset), and the key, in ASSAY_API_KEY."""
    source = os.environ if environ is None else environ
    return source.get("ASSAY_URL", ""), source.get("ASSAY_API_KEY")


def required_neighbours(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Names in ASSAY_REQUIRE: what tests must have here instead of skipping (CI sets `redis,jail,…`)."""
    source = os.environ if environ is None else environ
    return frozenset(_listed(source.get("ASSAY_REQUIRE", "")))


def data_folder_of_tests(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder in ASSAY_TEST_DATA: published problems and conformity files, for tests alone; None: unset."""
    folder = (os.environ if environ is None else environ).get("ASSAY_TEST_DATA")
    return Path(folder) if folder else None


def jail_tuning(settings: Settings, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that warm interpreters get on top of the usual ones."""
    toolkit = {} if settings.cuda_root is None else {CUDA_HOME: str(settings.cuda_root)}
    return {**numeric_tuning(environ), **toolkit}


def driver_paths(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables by which processes on a CUDA device find what they load."""
    source = os.environ if environ is None else environ
    return {name: source[name] for name in _DRIVER_PATHS if name in source}


def model_key(name: str, environ: Mapping[str, str] | None = None) -> SecretStr | None:
    """Return the API key in the variable that a table of the models file names; None where it is not set."""
    text = (os.environ if environ is None else environ).get(name)
    return SecretStr(text) if text else None


def numeric_tuning(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return those of NUMERIC_TUNING that the operator has set: jails need them too where a processor needs them."""
    source = os.environ if environ is None else environ
    return {name: source[name] for name in NUMERIC_TUNING if name in source}
