"""What a source names that a reader of results may want to look at: telemetry, and never a reason to refuse.

Names are matched in the source without its comments; strings and dead code count. Whoever hides a name is not found,
and whoever names one in a string is: no reward hangs on it.
"""

import re
from collections.abc import Mapping

from assay.verifiers.kernels.source_length import normalised

KINDS: Mapping[str, str] = {
    "stream": r"cu(?:da)?StreamCreate\w*|c10::cuda::getStreamFromPool|(?:torch|cupy)\.cuda\.[sS]tream",
    "graph": r"cu(?:da)?GraphLaunch|cu(?:da)?StreamBeginCapture\w*|CUDAGraph",
    "persisting_l2": r"\w*[aA]ccessPolicyWindow\w*|cudaLimitPersistingL2CacheSize|CU_LIMIT_PERSISTING\w*|evict_last",
    "allocation": r"cu(?:da)?(?:Malloc|MemAlloc)\w*",
    "library": r"cublas\w*|cudnn\w*|cutlass\w*|cblas_\w*|torch\.(?:matmul|mm|bmm|conv\dd|nn\.functional)\b",
    "loading": r"dlopen|dlsym|ctypes|load_inline|cpp_extension|LoadLibrary\w*",
    "thread": r"pthread_create|std::(?:jthread|thread|async)|threading\b|fork|clone3?|omp_\w+",
    "clock": r"clock_gettime|gettimeofday|cudaEvent\w*|elapsed_time|perf_counter\w*|rdtsc",
    "file": r"fopen|openat?|/proc/\w+|shm_open|mmap",
    "assembly": r"asm|__asm__",
}
"""What is looked for, by kind."""
_LOOKED_FOR = re.compile("|".join(f"(?P<{kind}>(?<!\\w)(?:{names})(?!\\w))" for kind, names in KINDS.items()))


def find_mentions(source: str, *, is_python: bool) -> tuple[str, ...]:
    """Return the kinds of what a source names, in the order of `KINDS`. Linear in the text."""
    found = {match.lastgroup for match in _LOOKED_FOR.finditer(normalised(source, is_python=is_python))}
    return tuple(kind for kind in KINDS if kind in found)
