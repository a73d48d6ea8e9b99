"""What the warm interpreter `modelling` imports: every library, as far as they are here."""

from assay.verifiers.optimisation.libraries import LIBRARIES, preload


def warm() -> None:
    """Import them."""
    preload(LIBRARIES)
