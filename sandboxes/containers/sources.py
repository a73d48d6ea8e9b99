"""A digest of Assay's own code: what runs in a container must be what the worker was built with."""

import hashlib
import importlib
from pathlib import Path

_PACKAGES = ("assay", "assay.sandboxes", "assay.sandboxes.containers", "assay.verifiers", "assay.verifiers.split")


def source_digest() -> str:
    """Return a digest of every module of the packages that run inside a container."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for folder in importlib.import_module(package).__path__:
            for path in sorted(Path(folder).glob("*.py")):
                digest.update(f"{package}.{path.stem}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
