"""What the warm interpreter `solvers` imports: the libraries that most programs call, as far as they are here."""

from assay.verifiers.optimisation.libraries import LIBRARIES, preload


def warm() -> None:
    """Import them."""
    preload(library for library in LIBRARIES if library.light)
