"""Worlds that are thrown away: workers under attack, and controls, the same programs where nothing stops them."""

import hashlib
import json
import os
import secrets
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attack import Attack, Sighting, compose, sight
from backends import ORDINARY_USER, Backend

import assay

_STANDING = ("descriptors", "mounts", "shared memory", "ipc")  # there are some on every machine
_ALL_CAPABILITIES = (1 << 41) - 1  # as of Linux 5.9
_SCRIPT = Path(__file__).with_name("throwaway.py")

Control = Callable[[Attack], Sighting]
"""Runs an attack's program where nothing stops it, and says what was seen."""


@dataclass(frozen=True)
class Order:
    """What `throwaway.py` is to do; written to a file for it."""

    secret: str
    places: dict[str, Any]
    hits: str
    data_dir: str
    environment: dict[str, str]
    apart: bool = True
    uid: int | None = None
    needs: tuple[str, ...] = ()
    open_way: bool = False
    """Whether folders that are closed to other users are to be opened where `needs` lie below them."""
    opener: str = ""
    settings: dict[str, object] = field(default_factory=dict)
    controls: tuple[str, ...] = ()
    beside: str | None = None
    as_user: int | None = None


def make_order(folder: Path, **chosen: Any) -> Path:
    """Plant secrets below `folder` and write an order that names them; returns the order's file."""
    os.chmod(folder, 0o755)
    mark = secrets.token_hex(16)
    secret = f"assay-hostile-{mark}"
    planted = {name: _plant(folder / name, secret) for name in ("data", "home", "settings")}
    hits = folder / "hits"
    hits.touch()
    sockets = folder / "sockets"
    sockets.mkdir()
    sockets.chmod(0o777)
    apart = chosen.get("apart", True)
    places = {
        **planted, "digest": hashlib.sha256(mark.encode()).hexdigest(), "apart": apart,
        "abstract": f"@hostile-{mark[:8]}", "abstract_datagram": f"@hostile-datagram-{mark[:8]}",
        "socket_file": str(sockets / "service.sock"), "ipc_key": int(mark[:6], 16) + 1,
        "shm_name": f"hostile-{mark[:8]}", "queue_name": f"/hostile-{mark[:8]}",
    }  # fmt: skip
    environment = {
        "ASSAY_API_KEYS": secret, "ASSAY_REDIS_URL": f"redis://:{secret}@127.0.0.1:6379", "SECRET": secret,
        "HOME": str(Path(planted["home"]).parent), "ASSAY_CONFIG": "",
    }  # fmt: skip
    order = Order(secret, places, str(hits), str(Path(planted["data"]).parent), environment, **chosen)
    file = folder / "order.json"
    file.write_text(json.dumps(asdict(order)))
    return file


def _plant(folder: Path, secret: str) -> str:
    folder.mkdir()
    file = folder / "secret"
    file.write_text(f"key = {secret!r}\n")
    return str(file)


class World:
    """A worker in namespaces of its own, with neighbours, and its pool of jails."""

    def __init__(self, backend: Backend, folder: Path) -> None:
        self.backend = backend
        self._hits = folder / "hits"
        order = make_order(
            folder,
            apart=backend.apart,
            uid=backend.uid,
            needs=_needs(folder),
            open_way=backend.open_way or backend.uid is not None,
            opener=backend.opener,
            settings=dict(backend.settings),
        )
        self._errors = (folder / "errors").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, str(_SCRIPT), str(order)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
        )  # fmt: skip
        self._receive()

    def run(self, attack: Attack, *, hidden: bool, after: str) -> dict[str, Any]:
        """Run an attack, and then the honest program `after` in the same slot; adds what was seen from outside."""
        self._hits.write_text("")
        sources = [compose(attack.first)] if attack.first else []
        report = self.ask(
            do="run",
            sources=[*sources, attack.program],
            beside=compose(attack.beside) if attack.beside else None,
            limits=dict(attack.limits),
            hidden=hidden,
            after=after,
        )
        return {**report, "hits": self._hits.read_text().split()}

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Have the worker do something. Raises AssertionError with what it said if it died."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._receive()

    def close(self) -> None:
        """End it all."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
        self._errors.close()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait(30)
            self._errors.seek(0)
            said = self._errors.read()[-3000:]
            self.close()
            raise AssertionError(f"the worker died: {said}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _needs(folder: Path) -> tuple[str, ...]:
    """Folders that a worker reads: the interpreter, its packages, Assay, this suite, its order."""
    paths = {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), str(Path(__file__).parent), str(folder)}
    paths.update(str(Path(path).resolve()) for path in assay.__path__)
    for name in ("sandboxes", "verifiers"):
        module = __import__(f"assay.{name}", fromlist=["__path__"])
        paths.update(str(Path(path).resolve()) for path in module.__path__)
    return tuple(sorted(paths))


def warm_up(world: World) -> None:
    """Have every jail of every slot made that attacks will use."""
    one = Attack("warm", "time.sleep(0.3)", beside="title('victim')\ntime.sleep(60)")
    world.run(one, hidden=False, after="pass")
    world.ask(do="judge", task={"id": "t", "tests": ["f() == 1"]}, completion="def f(): return 1")


def growth(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return what there is more of, or anything at all of what was not counted before."""
    more: dict[str, Any] = {}
    for name, count in after.items():
        if name == "processes":
            more[name] = list((Counter(count) - Counter(before.get(name, []))).elements())
        else:
            more[name] = max(0, count - before.get(name, count if name in _STANDING else 0))
    return {name: extra for name, extra in more.items() if extra}


def run_control(attack: Attack, folder: Path) -> Sighting:
    sources = [compose(attack.first)] if attack.first else []
    order = make_order(
        folder,
        needs=_needs(folder),
        controls=(*sources, attack.program),
        beside=compose(attack.beside) if attack.beside else None,
        as_user=ORDINARY_USER if attack.as_user and os.getuid() == 0 else None,
    )
    done = subprocess.run(
        [sys.executable, str(_SCRIPT), str(order)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)
    seen = sight(report["runs"][-1]["stdout"], effects_of(report, (folder / "hits").read_text().split()))
    refused = (
        seen.word == "STOPPED" and not seen.through and ("[Errno 1]" in seen.detail or "[Errno 13]" in seen.detail)
    )
    missing = ~int(report["capabilities"], 16) & _ALL_CAPABILITIES
    if attack.needs_root and refused and (os.getuid() != 0 or missing):
        return Sighting("ABSENT", f"the tests' own user may not do that ({seen.detail}; lacks {missing:#x})", ())
    return seen


def effects_of(report: dict[str, Any], hits: list[str]) -> tuple[str, ...]:
    """Name what can be seen from outside: services reached, processes hit, processes that stayed."""
    hurt = tuple(f"{name} is {state}" for name, state in report["states"].items() if state not in ("S", "R", "D", "I"))
    broken = tuple(f"a fault: {run['message']}" for run in report["runs"] if run.get("outcome") == "infra_error")
    forged = ("forged",) if report["runs"][-1].get("forged") else ()
    supervisor = tuple(effect for effect in hurt if effect != "supervisor is Z" or not report["runs"][-1]["stdout"])
    return (
        *(f"reached {hit}" for hit in hits),
        *supervisor,
        *(f"{name} stays" for name in report["alive"]),
        *forged,
        *broken,
    )
