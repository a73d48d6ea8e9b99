"""What importing Assay costs and needs, and that it can be interrupted."""

import fcntl
import signal
import subprocess
import sys

import pytest

from assay.cli.exits import Exit
from assay.sandboxes.flavours import modules_of
from assay.sandboxes.interface import Role

SERVICE_LIBRARIES = "{'fastapi', 'uvicorn', 'redis', 'rq', 'docker', 'prometheus_client'}"


def loaded_after(module: str, libraries: str) -> str:
    """Which of `libraries` a fresh interpreter has loaded once it has imported `module`."""
    program = f"import sys, {module}; print(sorted({libraries} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["assay", "assay.cli.commands", "assay.clients.client", "assay.verifiers.evaluate"])
def test_the_base_install_needs_no_service_libraries(module: str) -> None:
    """Command line, clients and verifiers import without the `service` extra."""
    assert loaded_after(module, SERVICE_LIBRARIES) == "[]"


def test_clients_need_no_numpy() -> None:
    """Talking to a service loads numpy only for advantages."""
    assert loaded_after("assay.clients.client", "{'numpy', 'pandas', 'scipy'}") == "[]"


@pytest.mark.parametrize(
    "flavour",
    [
        "bare", "digits", "duckdb", "environments", "highs", "kernel", "languages", "math", "modelling", "numeric",
        "programs", "pytest", "solvers", "sqlite", "torch",
    ],
)  # fmt: skip
def test_warm_interpreters_need_no_models_of_tasks(flavour: str) -> None:
    """What they import every attempt's fork pays for, so pydantic is not among it."""
    modules = {module for role in Role for module in modules_of(role, flavour)}

    assert loaded_after(", ".join(["assay.sandboxes.zygote", *sorted(modules)]), "{'pydantic'}") == "[]"


def test_python_m_assay_is_the_command_line() -> None:
    """`python -m assay` does what `assay` does."""
    done = subprocess.run([sys.executable, "-m", "assay", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("assay ")


def test_ctrl_c_while_the_command_line_loads_is_quiet() -> None:
    """An interrupt in the middle of the imports ends with status 130 and without a traceback."""
    loading = [sys.executable, "-X", "importtime", "-m", "assay", "--help"]  # tells on stderr what it has loaded
    command = ["env", "--default-signal=INT", *loading]  # a job of a shell's background would have it ignored
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)  # so it waits for us where we stop reading
        for line in process.stderr:
            if "pydantic" in line:
                break

        process.send_signal(signal.SIGINT)

        rest = process.stderr.read()
    assert process.returncode == Exit.INTERRUPTED
    assert "Traceback" not in rest
