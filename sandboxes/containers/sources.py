"""A digest of Assay's own code: what runs in a container must be what the worker was built with."""

import hashlib
import importlib
from pathlib import Path

_PACKAGES = {"assay": "*.py", "assay.sandboxes": "**/*.py", "assay.verifiers": "**/*.py"}


def source_digest() -> str:
    """Return a digest of every module of the packages that run inside a container."""
    digest = hashlib.sha256()
    for package, pattern in _PACKAGES.items():
        for folder in importlib.import_module(package).__path__:
            for path in sorted(Path(folder).glob(pattern)):
                digest.update(f"{package} {path.relative_to(folder)}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
