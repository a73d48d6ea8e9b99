"""`assay serve`: the whole service on this machine, private Redis and workers included."""

import argparse

from assay.cli.exits import Exit
from assay.cli.options import Commands, add_command, add_sandbox_options, settings_from

_ABOUT = """Run the service. Starts the HTTP API, a private Redis (unless ASSAY_REDIS_URL names one) and workers.
Refuses to bind beyond loopback without ASSAY_API_KEYS. Ends on SIGTERM or Ctrl-C, losing nothing."""


def add_parser(commands: Commands) -> None:
    """Add `serve` to the command line."""
    parser = add_command(commands, "serve", run, _ABOUT)
    parser.add_argument("--host", metavar="ADDRESS", help="address to bind to; default: 127.0.0.1")
    parser.add_argument("--port", type=int, metavar="N", help="port to bind to; 0 picks a free one")
    parser.add_argument("--workers", type=int, metavar="N", help="worker processes to start")
    parser.add_argument("--data-dir", metavar="FOLDER", help="folder of the private Redis and archived results")
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to end; return the exit status."""
    settings = settings_from(arguments)
    # Here, not at the top: the service's libraries are an extra that the other commands do without.
    from assay.service.logs import configure_logging
    from assay.service.serve import serve

    configure_logging(settings.log_level)
    return Exit.OUR_FAULT if serve(settings) else Exit.OK
