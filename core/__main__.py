"""Makes `python -m assay` the command line (the one module of core that looks upwards)."""

import sys

from assay.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
