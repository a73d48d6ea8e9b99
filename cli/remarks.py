"""What a command says beside its results."""

import sys

from assay.terminals import harmless


def remark(text: str) -> None:
    """Say something on standard error, in a line that names the program."""
    print(f"assay: {harmless(text)}", file=sys.stderr, flush=True)
