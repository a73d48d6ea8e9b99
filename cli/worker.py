"""`assay worker`: one worker process that takes chunks from a Redis elsewhere."""

import argparse

from assay.cli.exits import Exit
from assay.cli.options import Commands, add_command, add_sandbox_options, settings_from
from assay.errors import InvalidRequest

_ABOUT = """Run one worker of a service elsewhere. ASSAY_REDIS_URL names that service's Redis.
Refuses to start where attempts cannot be isolated, and says what is missing."""


def add_parser(commands: Commands) -> None:
    """Add `worker` to the command line."""
    parser = add_command(commands, "worker", run, _ABOUT)
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Work until told to end; return the exit status."""
    settings = settings_from(arguments)
    if settings.redis_url is None:
        raise InvalidRequest(
            "a worker needs the service's Redis", path="redis_url", fix="set ASSAY_REDIS_URL, or use `assay serve`"
        )
    # Here, not at the top: the service's libraries are an extra that the other commands do without.
    from assay.service.logs import configure_logging
    from assay.service.worker import run_worker

    configure_logging(settings.log_level)
    return Exit.OUR_FAULT if run_worker(settings, settings.redis_url.get_secret_value()) else Exit.OK
