"""`python -m assay.service.worker_main`: a worker process started by `serve`."""

import logging
import sys

from assay.interrupts import raise_interrupts
from assay.service.launch import read_orders
from assay.service.leash import end_with
from assay.service.logs import configure_logging
from assay.service.worker import run_worker


def main() -> int:
    """Run a worker as ordered; return the exit status."""
    orders = read_orders()
    configure_logging(orders.settings.log_level)
    end_with(orders.parent_pid)
    raise_interrupts()
    try:
        return run_worker(orders.settings, orders.redis_url, assembler=orders.assembler, name=orders.name)
    finally:
        logging.shutdown()


if __name__ == "__main__":
    sys.exit(main())
