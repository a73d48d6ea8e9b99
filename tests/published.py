"""Published problems, databases and conformity files that are too large for the repository: where tests find them.

They lie in the folder that ASSAY_TEST_DATA names, by default `shared` beside the checkout.
"""

from pathlib import Path

import pytest

from assay.settings import data_folder_of_tests, required_neighbours

FOLDER = data_folder_of_tests() or Path(__file__).parents[2] / "shared"
CASES, DATA = FOLDER / "cases", FOLDER / "data"


def present(path: Path) -> Path:
    """Return a path in the folder; skip whoever asks if it is not there, unless ASSAY_REQUIRE names `shared`."""
    if not path.exists() and "shared" not in required_neighbours():
        pytest.skip(f"no {path}: set ASSAY_TEST_DATA to the folder of published data")
    return path
