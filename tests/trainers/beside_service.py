"""Runs a command beside a service of its own, whose address it finds in ASSAY_URL: python beside_service.py COMMAND…"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.service.serve import embedded
from assay.settings import Settings


def main() -> int:
    """Return the command's exit status."""
    with (
        TemporaryDirectory() as folder,
        embedded(Settings(port=0, data_dir=Path(folder), slots=2, log_level="error")) as url,
    ):
        return subprocess.run(sys.argv[1:], env={**os.environ, "ASSAY_URL": url}).returncode


if __name__ == "__main__":
    sys.exit(main())
