"""What the warm interpreter `modelling` imports: all libraries but rare ones, as far as they are here."""

from assay.verifiers.optimisation.libraries import LIBRARIES, preload


def warm() -> None:
    """Import them."""
    preload(library for library in LIBRARIES if not library.rare)
