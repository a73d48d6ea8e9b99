"""What a worker judges with, put together in one place so that tests can put together something else."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from assay.errors import InvalidRequest
from assay.sandboxes.devices.lease import HostLeases, Leases
from assay.schema import TaskBase
from assay.service.connection import Connection
from assay.service.device_leases import DeviceLeases
from assay.settings import Settings, override
from assay.verifiers.evaluate import Asked, CancelToken, Evaluation, Evaluator
from assay.verifiers.registry import Registry

_MOST_SLOTS = 1024  # what the setting allows


class Judge(Protocol):
    """Judges completions; as many calls run at once as the assembly has slots (of `ask`, `model_calls`)."""

    def ask(self, task: TaskBase, completion: str, cancel: CancelToken | None = None) -> Asked:
        """Ask the models that a task needs, which needs no slot; never raises."""
        ...

    def evaluate(
        self, task: TaskBase, completion: str, cancel: CancelToken | None = None, asked: Asked | None = None
    ) -> Evaluation:
        """Judge one completion, given what `ask` returned for it where its task asks models; never raises."""
        ...


@dataclass(frozen=True)
class Assembly:
    """A registry, a judge, how many attempts it takes at once (`reserved` of them interactive only), how to end it."""

    registry: Registry
    judge: Judge
    slots: int
    reserved: int
    close: Callable[[], None]
    model_calls: int = 1
    """For how many attempts of batches models are asked at once; interactive ones have a share on top."""
    languages: Callable[[], Mapping[str, str] | None] = lambda: None
    """Tells the languages of programs that are to be had, as far as is known, with their versions or ''; None: all."""
    cuda_device: str = "0"
    """On which kernels are timed, as the settings name it."""


@dataclass(frozen=True)
class Assembler:
    """Names, as `module:function`, what makes the registry (for the API) and the assembly (for a worker)."""

    registry: str = "assay.verifiers.builtin:default_registry"
    assembly: str = "assay.service.assembly:assemble"

    def make_registry(self) -> Registry:
        """Return the registry."""
        made = _find(self.registry)()
        assert isinstance(made, Registry)
        return made

    def make_assembly(self, settings: Settings) -> Assembly:
        """Return the assembly. Raises IsolationUnavailable where attempts cannot be isolated."""
        made = _find(self.assembly)(settings)
        assert isinstance(made, Assembly)
        return made


def check_files(settings: Settings) -> None:
    """Read what the settings of a worker name. Raises InvalidRequest naming what is missing or broken."""
    # Here, not at the top: the API loads none of what judges.
    from assay.verifiers.models.endpoints import read_endpoints

    if settings.models is not None:
        read_endpoints(settings.models)
    if settings.databases is not None and not settings.databases.is_dir():
        raise InvalidRequest(
            f"there is no folder {settings.databases}", path="databases", fix="make it, or leave ASSAY_DATABASES unset"
        )


def assemble(settings: Settings) -> Assembly:
    """Open the sandbox and return the real assembly. Raises IsolationUnavailable, and as `check_files`."""
    # Here, not at the top: the API knows assemblies by name only and must not load a sandbox.
    from assay.sandboxes.backends import open_pool, slot_count
    from assay.sandboxes.devices.cores import keep_off
    from assay.verifiers.builtin import default_registry
    from assay.verifiers.kernels.judging import open_measurer
    from assay.verifiers.languages.building import Builder
    from assay.verifiers.languages.offering import expect_languages
    from assay.verifiers.models.opening import open_models

    check_files(settings)
    keep_off(settings.timing_cores)
    builder, slots = Builder(), slot_count(settings)
    with ExitStack() as opened:
        leases = _leases(settings, opened)
        registry = default_registry(settings.databases, open_measurer(settings, leases), builder, settings.cuda_device)
        models = open_models(settings)
        opened.callback(models.close)
        pool = open_pool(override(settings, {"slots": min(_MOST_SLOTS, slots + reserve_for(slots))}))
        opened.callback(pool.close)
        kept = opened.pop_all()
    evaluator = Evaluator(registry, pool, retries=settings.retries, models=models)
    calls = settings.model_calls if settings.models else 1  # without any endpoint all that asks is answered at once
    here = not pool.origin
    return Assembly(
        registry,
        evaluator,
        pool.size,
        pool.size - slots,
        kept.close,
        calls,
        languages=lambda: expect_languages(builder.known(), here=here),
        cuda_device=settings.cuda_device,
    )


def _leases(settings: Settings, opened: ExitStack) -> Leases:
    """Return who lends devices: the Redis that other hosts' workers share with this one, if there is any."""
    if settings.redis_url is None:
        return HostLeases()
    connection = Connection(settings.redis_url.get_secret_value())
    opened.callback(connection.close)
    return DeviceLeases(connection)


def reserve_for(slots: int) -> int:
    """Return how many slots interactive calls get on top: a share, so that they never wait for a batch of loops.

    On top and not out of the batches' own, because a reserved slot costs memory while it idles, not throughput.
    """
    return max(1, slots // 4) if slots > 1 else 0


def _find(name: str) -> Callable[..., object]:
    module, _, attribute = name.partition(":")
    try:
        found: object = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidRequest(f"cannot find {name}: {error}", fix="name module:function") from error
    assert callable(found)
    return found
