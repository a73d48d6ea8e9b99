"""Libraries that only some rules need: loaded when a task of theirs first comes, and named where they are absent."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from assay.extras import install_extras


def require(module: str, distribution: str) -> ModuleType:
    """Return the module. Raises ValueError that names the missing distribution: the task is refused here."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ValueError(f"this host lacks {distribution}: {install_extras('text')}") from error


def check_installed(module: str, distribution: str) -> None:
    """Raise ValueError as `require` does, but load nothing: some of these libraries take seconds to import."""
    if find_spec(module) is None:
        raise ValueError(f"this host lacks {distribution}: {install_extras('text')}")
