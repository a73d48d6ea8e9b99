"""The Docker backend against a real engine: the same verdicts, closed containers, and no attempt lost with them."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engines import own_containers, processes_of
from waiting import wait_for

from assay.errors import IsolationUnavailable
from assay.outcomes import Outcome
from assay.sandboxes.backends import open_pool
from assay.sandboxes.containers.backend import remove_orphans
from assay.sandboxes.containers.engine import Engine, connect
from assay.sandboxes.containers.ownership import LABEL, labels_of, this_machine
from assay.sandboxes.jails import JailPool
from assay.schema import Attempt, BatchOptions, Result
from assay.settings import Settings, required_neighbours
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.results import Place, build_result

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
IMAGE = "assay-jail:test"
CASES = ROOT / "tests" / "cases" / "worked-example"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """The engine's SDK; skipped where no engine answers, unless ASSAY_REQUIRE names `docker`."""
    try:
        connect().close()
    except IsolationUnavailable as error:
        if "docker" in required_neighbours():
            raise
        pytest.skip(str(error))
    import docker  # here: it may be missing where these tests are skipped

    made = docker.from_env()
    yield made
    made.close()


@pytest.fixture(scope="module")
def settings(client: Any) -> Settings:
    """Settings for this backend, with an image of the tree as it is, by its id: another tree's may take the name."""
    del client
    built = subprocess.run([ROOT / "script" / "build-image", IMAGE], check=True, stdout=subprocess.PIPE, text=True)
    return Settings(sandbox="docker", docker_image=built.stdout.split()[-1], slots=2)


@pytest.fixture(scope="module")
def pool(settings: Settings) -> Iterator[JailPool]:
    """Two slots of jails in a container."""
    made = open_pool(settings)
    yield made
    made.close()


def judge(pool: JailPool, completion: str, **fields: Any) -> Result:
    """Judge a completion as a worker does."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", **fields})
    evaluation = Evaluator(registry, pool).evaluate(task, completion)
    attempt = Attempt(task_id="t", completion=completion)
    return build_result(Place("local", 0, "0"), task, attempt, evaluation, BatchOptions())


HELD = """
import array
import socket

ours, theirs = socket.socketpair()
ours.setblocking(False)
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [ours.fileno()] * 100))]
under_way = 0
try:
    while True:
        ours.sendmsg([b"x"], rights)
        under_way += 100
except OSError:
    pass

def sq(x):
    return x * x if under_way else 0
"""
"""Keeps as many descriptors under way as its user may; the answers are right."""

THREADED = """
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(sq, range(40))) == [x * x for x in range(40)]
"""


def test_descriptors_under_way_do_not_hold_up_tests(pool: JailPool) -> None:
    """All jails here have one user id: what a completion, or a neighbour, sends and nobody takes is no test's loss."""
    result = judge(pool, HELD, entry_point="sq", tests=[THREADED])

    assert (result.outcome, result.message) == (Outcome.PASSED, "")


def look_inside(pool: JailPool, source: str) -> dict[str, Any]:
    """Run a program in a jail that prints a JSON object; returns it."""
    result = judge(pool, source, verifier="run", stdout="-", limits={"wall_s": 30})
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_worked_example_has_its_rewards(pool: JailPool) -> None:
    """The four attempts are judged as on the host."""
    task = json.loads((CASES / "task.json").read_text())
    attempts = [json.loads(line) for line in (CASES / "group.jsonl").read_text().splitlines()]

    results = [judge(pool, attempt["completion"], **task) for attempt in attempts]

    assert [result.reward for result in results] == [0.0, 0.5, 1.0, 0.5]


def test_results_name_the_image_and_its_python(pool: JailPool, settings: Settings, client: Any) -> None:
    """`sandbox` is the level; `versions` hold the image's digest and the version of the Python in it."""
    result = judge(pool, "print(1)", verifier="run")

    shown = client.containers.run(
        settings.docker_image, ["python", "--version"], remove=True, network_mode="none"
    ).decode()
    assert result.sandbox == "docker"
    assert result.versions["image"] == client.images.get(settings.docker_image).id
    assert f"Python {result.versions['python']}" == shown.strip()


def test_limits_hold_inside(pool: JailPool) -> None:
    """Time, memory and output are cut as on the host."""
    programs = {
        Outcome.TIMEOUT: "while True: pass",
        Outcome.MEMORY_EXCEEDED: "b = bytearray(300_000_000)\nb[::4096] = b'x' * len(b[::4096])\nwhile b: pass",
        Outcome.OUTPUT_EXCEEDED: "while True: print('x' * 10_000)",
    }
    limits = {"wall_s": 5, "cpu_s": 0.5, "memory_mb": 128}

    met = [judge(pool, program, verifier="run", limits=limits).outcome for program in programs.values()]

    assert met == list(programs)


def test_the_container_is_hardened(pool: JailPool, client: Any) -> None:
    """What the engine says of it: no network, capability, privilege, writable root, and bounds on everything."""
    del pool
    (container_id,) = own_containers(client)

    facts = client.api.inspect_container(container_id)

    host = facts["HostConfig"]
    assert facts["Config"]["User"] == "1000:1000"
    assert (host["NetworkMode"], host["CapDrop"], host["CapAdd"]) == ("none", ["ALL"], None)
    assert (host["Privileged"], host["ReadonlyRootfs"]) == (False, True)
    assert (host["IpcMode"], host["PidMode"], host["Devices"]) == ("private", "", None)
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert any(option.startswith("seccomp={") for option in host["SecurityOpt"])
    assert min(host["Memory"], host["PidsLimit"], len(host["CpusetCpus"])) > 0
    assert host["MemorySwap"] == host["Memory"]
    assert [(mount["Destination"], mount["RW"]) for mount in facts["Mounts"]] == [("/run/assay", False)]


def test_the_keeper_has_no_rights(pool: JailPool, client: Any) -> None:
    """What the kernel says of process 1: an ordinary user without capabilities, filtered, without a network."""
    del pool
    (container_id,) = own_containers(client)
    pid = client.api.inspect_container(container_id)["State"]["Pid"]

    lines = Path(f"/proc/{pid}/status").read_text().splitlines()

    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert status["Uid"].split() == ["1000"] * 4
    interfaces = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]


def test_a_jail_inside_is_closed(pool: JailPool) -> None:
    """What a candidate sees of itself: no capability, a filter, its own processes, and neither image nor container."""
    found = look_inside(
        pool,
        "import json, os, socket\n"
        "status = dict(line.rstrip().split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line)\n"
        "def writable(folder):\n"
        "    try: open(folder + '/x', 'w').close()\n"
        "    except OSError: return False\n"
        "    return True\n"
        "print(json.dumps({'status': status, 'uid': os.getuid(),\n"
        "    'processes': [n for n in os.listdir('/proc') if n.isdigit()] == [str(os.getpid())],\n"
        "    'paths': [p for p in ('/run/assay', '/.dockerenv', '/sys', '/data') if os.path.exists(p)],\n"
        "    'writable': [f for f in ('/', '/usr', '/opt/assay', '/etc') if writable(f)],\n"
        "    'names': [n for _, n in socket.if_nameindex()]}))\n",
    )

    assert (found["status"]["CapEff"], found["status"]["NoNewPrivs"]) == ("0" * 16, "1")
    assert (found["status"]["Seccomp"], found["uid"], found["processes"]) == ("2", 1000, True)
    assert int(found["status"]["Seccomp_filters"]) >= 3  # the container's, its host's, its own
    assert (found["paths"], found["writable"], found["names"]) == ([], [], ["lo"])


def test_killing_the_container_costs_no_attempt_its_result(pool: JailPool, client: Any) -> None:
    """An attempt whose container is killed under it is judged again in another one."""
    (container_id,) = own_containers(client)
    results: list[Result] = []
    source = "import time\ntime.sleep(3)\nprint('done')"
    attempt = threading.Thread(target=lambda: results.append(judge(pool, source, verifier="run", stdout="done\n")))
    attempt.start()
    wait_for(lambda: "assay-stdio_pro" in processes_of(client, container_id).values())

    client.api.kill(container_id)
    attempt.join()

    (after,) = own_containers(client)
    assert results[0].outcome is Outcome.PASSED
    assert after != container_id


def test_a_dead_interpreter_or_host_retires_the_container(pool: JailPool, client: Any) -> None:
    """When something of ours dies in a container, attempts go on in another one, and the old one ends."""
    judge(pool, "print(1)", verifier="run")
    (container_id,) = own_containers(client)
    first = client.api.inspect_container(container_id)["State"]["Pid"]
    for pid, name in processes_of(client, container_id).items():
        if pid != first and name != "assay-keeper":
            os.kill(pid, signal.SIGKILL)

    outcomes = [judge(pool, "print(1)", verifier="run").outcome for _ in range(4)]

    assert outcomes == [Outcome.PASSED] * 4
    wait_for(lambda: len(own_containers(client)) == 1)
    assert own_containers(client) != [container_id]


def test_a_container_is_recycled(settings: Settings, client: Any) -> None:
    """After its attempts another container takes over, and the old one ends with its last host."""
    own = open_pool(settings.model_copy(update={"recycle_after": 1, "slots": 2}))
    before = own_containers(client)

    outcomes = [judge(own, "print(1)", verifier="run").outcome for _ in range(25)]

    fresh = [one for one in own_containers(client) if one not in before]
    wait_for(lambda: len([one for one in own_containers(client) if one in before]) < len(before))
    own.close()
    assert outcomes == [Outcome.PASSED] * 25
    assert len(fresh) == 1


def test_a_closed_pool_leaves_nothing(settings: Settings, client: Any) -> None:
    """Its containers are gone when `close` returns, or are being removed."""
    before = own_containers(client)

    open_pool(settings).close()

    wait_for(lambda: own_containers(client) == before)


WORKER = """
import sys
from assay.sandboxes.backends import open_pool
from assay.settings import Settings
from assay.verifiers.run import RunTask, RunVerifier
pool = open_pool(Settings(sandbox="docker", docker_image=sys.argv[1], slots=1))
with pool.slot() as slot:
    print("judging", flush=True)
    RunVerifier().judge(RunTask(id="t", verifier="run"), "import time; time.sleep(600)", slot)
"""


def test_a_container_ends_with_its_worker(settings: Settings, client: Any) -> None:
    """A worker that is killed in mid-attempt leaves no container, without anybody's help."""
    worker = subprocess.Popen([sys.executable, "-c", WORKER, settings.docker_image], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()
    assert own_containers(client, worker.pid)

    worker.kill()
    worker.wait()
    worker.stdout.close()

    label = {"label": f"{LABEL}={worker.pid}"}
    wait_for(lambda: not client.api.containers(all=True, filters=label))


def test_orphans_are_removed(settings: Settings, client: Any) -> None:
    """A container whose worker is gone is removed, one whose worker lives is not."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    left = labels_of(gone.pid, this_machine())
    gone.wait()
    ids = {
        name: client.containers.create(settings.docker_image, ["sleep", "600"], labels=labels, network_mode="none").id
        for name, labels in {"left": left, "kept": labels_of(os.getpid(), this_machine())}.items()
    }
    engine = Engine(client)

    removed = remove_orphans(engine)

    engine.remove(ids["kept"])
    assert ids["left"] in removed
    assert ids["kept"] not in removed


def test_a_missing_image_is_explained(settings: Settings) -> None:
    """Without the image no worker starts; the message says how to build it."""
    with pytest.raises(IsolationUnavailable, match=r"no image 'no-such-image'; build it \(script/build-image"):
        open_pool(settings.model_copy(update={"docker_image": "no-such-image"}))


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # the SDK leaves its socket to the collector
def test_an_engine_that_does_not_answer_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without an engine no worker starts; the message says how to get one."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")

    with pytest.raises(IsolationUnavailable, match="start the engine"):
        open_pool(Settings(sandbox="docker"))
    gc.collect()


def test_a_runtime_that_the_engine_lacks_is_explained(settings: Settings, client: Any) -> None:
    """gVisor has to be named in the engine's configuration first."""
    if "runsc" in client.info()["Runtimes"]:
        pytest.skip("this engine has it")

    with pytest.raises(IsolationUnavailable, match=r"no runtime 'runsc'.*daemon\.json"):
        open_pool(settings.model_copy(update={"docker_runtime": "runsc"}))


def test_an_image_of_another_version_is_refused(settings: Settings, client: Any) -> None:
    """What an image holds must be the worker's own code, or nothing runs in it."""
    changed = client.containers.create(
        settings.docker_image,
        [
            "sh",
            "-c",
            "for file in /opt/assay/lib/python3*/site-packages/assay/sandboxes/zygote.py; do echo >> $file; done",
        ],
        user="0:0",
        network_mode="none",
    )
    changed.start()
    changed.wait()
    image = changed.commit(conf={"User": "1000:1000"}).id
    changed.remove()

    try:
        with pytest.raises(IsolationUnavailable, match="another version of Assay"):
            open_pool(settings.model_copy(update={"docker_image": image}))
    finally:
        client.images.remove(image)
