"""What a kernel for a ready task must be called and take: its prototypes and default sizes, in the schema of tasks."""

from typing import Any  # Any: a JSON schema is JSON

from assay.verifiers.kernels.abi import Abi, prototype
from assay.verifiers.kernels.ready import NAMES, ready


def show_ready(schema: dict[str, Any]) -> None:
    """Add to the schema of the field that names a ready task `ready`: what each is, in order of names.

    Of each: its `name`, its prototypes in `c` and in `cuda` (types of its device code), and the default `sizes`.
    """
    schema["ready"] = [_shown(name) for name in NAMES]


def _shown(name: str) -> dict[str, str]:
    document = ready(name, "cpu")
    abi = Abi.model_validate(document["abi"])
    sizes = (
        ", ".join(f"{axis} {extent}" for axis, extent in shape["axes"].items()) for shape in document["public_shapes"]
    )
    return {
        "name": name, "c": prototype(abi), "cuda": prototype(abi, is_cuda=True), "sizes": "; ".join(sizes),
    }  # fmt: skip
