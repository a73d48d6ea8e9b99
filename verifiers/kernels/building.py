"""From source to a kernel that may be run: compiled in a jail, and past the gate of its kind."""

from dataclasses import dataclass, field
from importlib.metadata import version

from assay.details import ArtifactRecord
from assay.errors import InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.devices.interface import Artifact, Form
from assay.sandboxes.devices.runner_program import ENTRY, LOOP_SOURCE, SERVE
from assay.sandboxes.interface import Slot
from assay.schema import Usage
from assay.verifiers.kernels.abi import cuda_trampoline, trampoline
from assay.verifiers.kernels.answers import Offered
from assay.verifiers.kernels.compile import CompileLimits, Compiler, Job
from assay.verifiers.kernels.device_gate import DeviceRules, check_cubin
from assay.verifiers.kernels.device_launches import fit, launch_of, read_program, triton_request
from assay.verifiers.kernels.devices import device_arch
from assay.verifiers.kernels.gate import GateRefused
from assay.verifiers.kernels.mentions import find_mentions
from assay.verifiers.kernels.modules import pack_module
from assay.verifiers.kernels.native_gate import CUDA_LIBRARIES, NativeRules, check_native
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.probe import probe_task
from assay.verifiers.kernels.records import Facts, record_artifact
from assay.verifiers.kernels.task import Backend, KernelTask, Language
from assay.verifiers.kernels.toolchain import NATIVE, Toolchain

CPU_S_PER_WALL_S = 2.0
"""Processor seconds of a compiler, which starts several programs, by its wall seconds."""
USUAL_GPU = "sm_90"
"""What CUDA is compiled for where neither the task nor a device here says otherwise."""


@dataclass(frozen=True)
class Built:
    """A kernel, or why there is none."""

    kernel: Kernel | None
    outcome: Outcome | None = None
    message: str = ""
    usage: Usage = field(default_factory=Usage)
    record: ArtifactRecord | None = None
    """What is known of the compiled kernel, for results."""


@dataclass(frozen=True)
class Builder:
    """Builds kernels of tasks. Thread-safe."""

    compiler: Compiler = field(default_factory=Compiler)
    cuda_device: str = "0"
    """As the settings name it."""

    def build(self, task: KernelTask, offered: Offered, slot: Slot) -> Built:
        """Compile what was offered. Raises InfraFault and Inconclusive."""
        if offered.language is Language.TORCH:
            return _take_module(task, offered.source)
        compiled = self.compiler.compile(job_of(task, offered, self.cuda_device), slot)
        if compiled.artifact is None:
            return Built(None, compiled.outcome, compiled.message, compiled.usage)
        try:
            kernel, facts = self._admit(task, offered, compiled.artifact.data, slot)
        except GateRefused as refused:
            return Built(None, refused.outcome, str(refused), compiled.usage)
        return Built(kernel, usage=compiled.usage, record=_record(offered, kernel.artifact, facts))

    def reference(self, task: KernelTask, slot: Slot) -> Kernel:
        """Build the task's reference. Raises TaskFault if it cannot be."""
        built = self.build(task, _reference_of(task), slot)
        if built.kernel is None:
            raise TaskFault(f"the reference cannot be built: {built.outcome}: {built.message[:2000]}")
        return built.kernel

    def probe(self, backend: Backend, slot: Slot) -> Kernel:
        """Build the kernel by which a device is known to be in order. Raises InfraFault if it cannot be."""
        try:
            return self.reference(probe_task(backend), slot)
        except TaskFault as fault:
            raise InfraFault(f"a kernel of ours cannot be built: {fault}") from fault

    def versions(self, task: KernelTask, slot: Slot) -> dict[str, str]:
        """Return the compilers that are used."""
        toolchain = self.compiler.toolchain(slot)
        if task.backend is Backend.CPU:
            torch = _torch_version(task)
            return {"gcc": toolchain.gcc, **({"torch": torch} if torch else {})}
        languages = {task.language, task.reference.language}
        used = {Language.TRITON: toolchain.triton, Language.TORCH: _torch_version(task)}
        return {"nvcc": toolchain.nvcc, **{name: used[name] for name in used if name in languages}}

    def _admit(self, task: KernelTask, offered: Offered, data: bytes, slot: Slot) -> tuple[Kernel, Facts]:
        """Let what was compiled past the gate of its kind; return what that has read, too. Raises GateRefused."""
        if offered.plan is None:
            read = check_native(data, _native_rules(task, offered, self.compiler.toolchain(slot)))
            return Kernel(Artifact(Form.SHARED_OBJECT, data)), read
        steps, is_triton = offered.plan, offered.language is Language.TRITON
        if is_triton:
            program = read_program(data)
            data, steps = program.cubin, (launch_of(program, steps[0], task.shapes),)
        entries = {step.kernel for step in steps}
        rules = DeviceRules(
            entries, _arch(task, self.cuda_device), writable_globals=task.policy.allows_writable_globals
        )
        facts = check_cubin(data, rules)
        return Kernel(Artifact(Form.CUBIN, data), fit(task.abi, steps, facts.kernels, adds_pointers=is_triton)), facts


def _native_rules(task: KernelTask, offered: Offered, toolchain: Toolchain) -> NativeRules:
    machine = toolchain.processor.partition("-")[0]
    if offered.language is Language.CUDA:
        return NativeRules((task.abi.entry, ENTRY), machine, libraries=CUDA_LIBRARIES)
    return NativeRules((task.abi.entry, SERVE), machine)


def _torch_version(task: KernelTask) -> str:
    return version("torch") if Language.TORCH in task.requires else ""


def _take_module(task: KernelTask, source: str) -> Built:
    """Return a module as it is: it is run for what it says when it is loaded."""
    size, most = len(source.encode("utf-8", "surrogatepass")), task.policy.most_source_bytes
    if size > most or "\0" in source or not _is_text(source):
        told = f"the source has {size} bytes; at most {most} are taken" if size > most else "the source is no text"
        return Built(None, Outcome.COMPILE_ERROR, told)
    kernel = Kernel(Artifact(Form.MODULE, pack_module(task.abi, source)))
    return Built(kernel, record=_record(Offered(source, Language.TORCH), kernel.artifact, None))


def _record(offered: Offered, artifact: Artifact, facts: Facts) -> ArtifactRecord:
    named = find_mentions(offered.source, is_python=offered.language.is_python)
    return record_artifact(artifact.form, artifact.content, facts, named)


def _is_text(source: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in source)


def _reference_of(task: KernelTask) -> Offered:
    return Offered(task.reference.source, task.reference.language, task.reference_launches)


def _arch(task: KernelTask, cuda_device: str) -> str:
    return task.arch or (NATIVE if task.backend is Backend.CPU else device_arch(cuda_device) or USUAL_GPU)


def job_of(task: KernelTask, offered: Offered, cuda_device: str = "0") -> Job:
    """Return how a source is compiled: with the task's flags, if it is in the task's language."""
    policy, arch = task.policy, _arch(task, cuda_device)
    limits = CompileLimits(
        wall_s=policy.compile_s,
        cpu_s=policy.compile_s * CPU_S_PER_WALL_S,
        memory_mb=policy.compile_mb,
        source_bytes=policy.most_source_bytes,
    )
    flags = policy.flags if offered.language is task.language else ()
    return Job(offered.language, offered.source, arch, flags, limits, _glue(task, offered, arch))


def _glue(task: KernelTask, offered: Offered, arch: str) -> str:
    """Return what of ours is compiled beside a source."""
    if offered.plan is None:
        if offered.language is Language.CUDA:
            return cuda_trampoline(task.abi, ENTRY)
        return trampoline(task.abi, ENTRY) + LOOP_SOURCE
    return triton_request(task.abi, offered.plan[0], arch) if offered.language is Language.TRITON else ""
