"""Compiling hostile sources in the jail: acceptance tests 26 to 29 and 31 of the kernel lane, and what C adds."""

from pathlib import Path

import pytest
from kernel_compiling import ENTRY, HONEST_C, HONEST_CUDA, Bench, open_bench

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.backends import open_pool
from assay.settings import Settings
from assay.verifiers.kernels.compile import Compiler
from assay.verifiers.kernels.device_gate import DeviceRules, check_cubin
from assay.verifiers.kernels.gate import GateRefused
from assay.verifiers.kernels.native_gate import NativeRules, check_native

pytestmark = pytest.mark.jail
FOREIGN = ("/etc/passwd", "../../../../etc/passwd", "/proc/self/environ", "/proc/self/maps", "/proc/self/cmdline")
PASSWD_WORDS = ("root", "nologin", "nonexistent", "1000", "/bin/sh")
RULES = DeviceRules(("scale",), "sm_90")


@pytest.mark.parametrize("path", FOREIGN)
def test_26_a_foreign_file_is_not_told(cuda: Bench, path: str) -> None:
    """Compile error; nothing of the file in the diagnostics."""
    compiled = cuda.cuda(f'#include "{path}"\n{HONEST_CUDA}')

    assert compiled.outcome is Outcome.COMPILE_ERROR
    assert not [word for word in PASSWD_WORDS if word in compiled.message]


@pytest.mark.parametrize(
    "source",
    [
        *(f'#include "{path}"\n' for path in FOREIGN),
        "#include_next <../../etc/passwd>\n",
        '#define P "/etc/passwd"\n#include P\n',
        'asm(".incbin \\"/etc/passwd\\"");\n',
        'asm(".include \\"/etc/passwd\\"");\n',
    ],
)
def test_26_a_foreign_file_is_not_told_nor_kept_by_c(bench: Bench, source: str) -> None:
    """Whichever of the tools reads it: no artifact, nothing of the file in the diagnostics."""
    compiled = bench.c(f"{source}{HONEST_C}")

    assert compiled.outcome is Outcome.COMPILE_ERROR
    assert compiled.artifact is None
    assert not [word for word in PASSWD_WORDS if word in compiled.message]


def test_26_what_the_source_may_ask_of_its_place_tells_nothing(bench: Bench) -> None:
    """`__FILE__` is a name of ours, and diagnostics tell no folder."""
    compiled = bench.c('#warning "here"\nconst char* f(void) { return __FILE__ __TIME__ __DATE__; }')

    assert compiled.artifact is not None
    assert b"kernel.c00:00:00Jan  1 1970" in compiled.artifact.data
    assert "/" not in compiled.message


def test_27_a_host_constructor_is_dropped(cuda: Bench) -> None:
    """It compiles, the gate lets it through, and the cubin holds nothing that a processor could run."""
    source = '#include <cstdio>\nstruct Loud { Loud() { puts("constructed"); } };\nLoud loud;\n'

    compiled = cuda.cuda(source + HONEST_CUDA)

    assert compiled.artifact is not None
    assert b"constructed" not in compiled.artifact.data
    assert [kernel.name for kernel in check_cubin(compiled.artifact.data, RULES).kernels] == ["scale"]


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("__device__ float kept[1024];", Outcome.VIOLATION),
        ("__device__ int once() { static int n; return n++; }", Outcome.VIOLATION),
        ("__managed__ int kept[4];", Outcome.VIOLATION),
        ("__device__ float kept[4] = {1, 2, 3, 4};", Outcome.COMPILE_ERROR),  # constant tables look alike
    ],
)
def test_28_writable_state_is_refused(cuda: Bench, state: str, outcome: Outcome) -> None:
    """Unless the task allows it; the message names the section."""
    use = "once()" if "once" in state else "kept[x[1]]++"
    compiled = cuda.cuda(f"{state}\n{ENTRY}scale(int* x) {{ x[0] = {use}; }}")

    assert compiled.artifact is not None
    with pytest.raises(GateRefused, match=r"\.nv\.global") as refused:
        check_cubin(compiled.artifact.data, RULES)
    assert refused.value.outcome is outcome
    assert check_cubin(compiled.artifact.data, DeviceRules(("scale",), "sm_90", writable_globals=True)).global_bytes > 0


def test_28_constant_tables_are_let_through(cuda: Bench) -> None:
    """What kernels cannot write is no state."""
    compiled = cuda.cuda(f"__constant__ int table[4] = {{1, 2}};\n{ENTRY}scale(int* x) {{ x[0] = table[x[1]]; }}")

    assert compiled.artifact is not None
    assert check_cubin(compiled.artifact.data, RULES).constant_bytes == 16


def test_29_kernels_launch_no_kernels(cuda: Bench) -> None:
    """Dynamic parallelism does not compile, and the flag for it cannot be had."""
    nested = f"__global__ void inner() {{}}\n{ENTRY}scale(int* x) {{ inner<<<1, 1>>>(); }}"

    compiled = cuda.cuda(nested)
    with_flag = cuda.cuda(nested, flags=("-rdc=true",))

    assert compiled.outcome is Outcome.COMPILE_ERROR
    assert "separate compilation" in compiled.message
    assert with_flag.outcome is Outcome.COMPILE_ERROR
    assert "not on the list" in with_flag.message


def test_31_equal_cuda_is_compiled_once(cuda: Bench) -> None:
    """The second time it comes from memory; compiled anew it is the same; another flag is another job."""
    source = HONEST_CUDA + "// 31"

    first, second = cuda.cuda(source), cuda.cuda(source)
    anew = Bench(cuda.pool, type(cuda.compiler)()).cuda(source)
    flagged = cuda.cuda(source, flags=("-O2",))

    assert first.artifact is not None
    assert (first.cached, second.cached, flagged.cached) == (False, True, False)
    assert first.artifact == second.artifact == anew.artifact


def test_31_equal_c_is_compiled_once(bench: Bench) -> None:
    """As CUDA is."""
    source = (
        f'{HONEST_C}static int own(void) {{ return __LINE__; }} int f(void) {{ return own(); }} asm(".byte 0"); // 31'
    )

    first, second = bench.c(source), bench.c(source)
    anew = Bench(bench.pool, type(bench.compiler)()).c(source)
    flagged = bench.c(source, flags=("-O1",))

    assert first.artifact is not None
    assert (first.cached, second.cached, flagged.cached) == (False, True, False)
    assert first.artifact == second.artifact == anew.artifact


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('#include <cstdio>\n{entry}scale(float* x) {{ printf("%f", x[0]); }}', "'vprintf'"),
        ("{entry}scale(float** x) {{ x[0] = (float*)malloc(4); }}", "'malloc'"),
        ("{entry}scale(int* x) {{ x[0] = 1; }}\n{entry}other(int* x) {{ x[0] = 2; }}", "nobody asked for: 'other'"),
        ("__global__ void scale(int* x) {{ x[0] = 1; }}", "no kernel 'scale'; it has '_Z5scalePi'"),
    ],
)
def test_other_cubins_are_refused(cuda: Bench, source: str, words: str) -> None:
    """What calls the driver, or has other kernels than the task asks for."""
    compiled = cuda.cuda(source.format(entry=ENTRY))

    assert compiled.artifact is not None, compiled.message
    with pytest.raises(GateRefused, match=words) as refused:
        check_cubin(compiled.artifact.data, RULES)
    assert refused.value.outcome is Outcome.COMPILE_ERROR  # models write such things honestly


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100a", "sm_120"])
def test_cubins_of_every_architecture_are_read(cuda: Bench, arch: str) -> None:
    """Static shared memory is told without what the system reserves."""
    body = "{ __shared__ float s[300]; s[threadIdx.x] = x[1]; __syncthreads(); x[0] = s[2]; }"

    compiled = cuda.cuda(f"{ENTRY}scale(float* x) {body}", arch=arch)

    assert compiled.artifact is not None, compiled.message
    assert check_cubin(compiled.artifact.data, DeviceRules(("scale",), arch)).kernels[0].shared_bytes == 1200


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("char a[1UL << 40]; char* scale(void) { return a; }", "at most 268435456"),
        ("static void scale(void) {}", "no function 'scale'"),
        ('__attribute__((visibility("hidden"))) void scale(void) {}', "no function 'scale'"),
        (
            'static void a(void) {} static void* r(void) { return a; } void scale(void) __attribute__((ifunc("r")));',
            "ifunc",
        ),
        ('__attribute__((target_clones("avx2", "default"))) void scale(float* x) { *x *= 2; }', "target_clones"),
    ],
)
def test_other_shared_objects_are_refused(bench: Bench, source: str, words: str) -> None:
    """What would take all memory, exports no entry, or runs code while it is loaded unseen."""
    compiled = bench.c(source)

    assert compiled.artifact is not None, compiled.message
    with pytest.raises(GateRefused, match=words) as refused:
        check_native(compiled.artifact.data, NativeRules(("scale",)))
    assert refused.value.outcome is Outcome.COMPILE_ERROR


@pytest.mark.parametrize(
    "source",
    [
        "int other(void); int scale(void) { return other(); }",
        "#include <omp.h>\nint scale(void) { return omp_get_thread_num(); }",
        'asm(".text\\n.quad scale"); void scale(void) {}',
    ],
)
def test_what_cannot_be_linked_does_not_compile(bench: Bench, source: str) -> None:
    """Functions that are nowhere, another library, relocations in code."""
    compiled = bench.c(source)

    assert compiled.outcome is Outcome.COMPILE_ERROR
    assert "ld" in compiled.message


def test_a_stack_is_never_executable(bench: Bench) -> None:
    """Not even for an assembler that asks for one."""
    compiled = bench.c('asm(".section .note.GNU-stack,\\"x\\",@progbits"); void scale(void) {}')

    assert compiled.artifact is not None
    check_native(compiled.artifact.data, NativeRules(("scale",)))


def test_without_a_toolkit_cuda_is_our_fault() -> None:
    """Where nvcc is not found, the message says how to get it, and no completion is blamed."""
    pool = open_pool(Settings(slots=1, sandbox="local", cuda_root=Path("/nonexistent")))
    try:
        with pytest.raises(InfraFault, match="ASSAY_CUDA_ROOT"):
            open_bench(pool, Compiler(), needs="gcc").cuda(HONEST_CUDA)
    finally:
        pool.close()


def test_a_toolkit_is_found_where_the_setting_says(tmp_path: Path) -> None:
    """Also through a link, in a folder that jails would not have seen."""
    nvcc = tmp_path / "toolkit-9.9" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\necho made up\necho Cuda compilation tools, release 9.9\n")
    nvcc.chmod(0o755)
    (tmp_path / "toolkit").symlink_to(tmp_path / "toolkit-9.9")
    pool = open_pool(Settings(slots=1, sandbox="local", cuda_root=tmp_path / "toolkit"))

    try:
        found = open_bench(pool, Compiler(), needs="gcc").toolchain
    finally:
        pool.close()

    assert found.nvcc == "Cuda compilation tools, release 9.9"
    assert found.cuda_root == str(tmp_path / "toolkit-9.9")


WAVES = 'extern "C" __global__ void waves(const double* x, double* y) { y[0] = sin(x[0]) + tan(x[1]) + sinf(x[2]); }\n'
WAVE_RULES = DeviceRules(("waves",), "sm_90")


def test_28_tables_of_the_mathematics_library_are_no_state(cuda: Bench) -> None:
    """Double sines read tables in memory that could be written: those very bytes are let through."""
    compiled = cuda.cuda(WAVES)

    assert compiled.artifact is not None, compiled.message
    assert check_cubin(compiled.artifact.data, WAVE_RULES).global_bytes == 0


@pytest.mark.parametrize(
    "state",
    [
        'extern "C" __device__ unsigned long long __cudart_i2opi_d[18] = {1, 2, 3};',  # the name, other bytes
        "__device__ int kept = 1;",  # beside the tables
    ],
)
def test_28_what_only_resembles_those_tables_is_state(cuda: Bench, state: str) -> None:
    """Neither their name nor their company makes a variable one of them."""
    name = "kept" if "kept" in state else "__cudart_i2opi_d[2]"
    compiled = cuda.cuda(state + WAVES.replace("y[0] =", f"{name} += 1; y[0] = {name} +"))

    assert compiled.artifact is not None, compiled.message
    with pytest.raises(GateRefused, match=r"\.nv\.global\.init"):
        check_cubin(compiled.artifact.data, WAVE_RULES)
