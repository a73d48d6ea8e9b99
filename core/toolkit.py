"""Where the CUDA toolkit lies. Apart from the settings, so that warm interpreters, which ask, need not import those."""

from collections.abc import Mapping

CUDA_HOME = "CUDA_HOME"
"""The variable by which jails are told where the CUDA toolkit lies, if it is not in its usual place."""
USUAL_CUDA_ROOT = "/usr/local/cuda"


def cuda_root(environ: Mapping[str, str]) -> str:
    """Return the CUDA toolkit's folder, as the environment of a warm interpreter tells it."""
    return environ.get(CUDA_HOME) or USUAL_CUDA_ROOT
