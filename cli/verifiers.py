"""`assay verifiers`: what can be verified here, and what each verifier's tasks look like."""

import argparse
import json

from assay.cli.exits import Exit
from assay.cli.options import Commands, add_command

_ABOUT = """List the verifiers, or print the JSON schema of one verifier's tasks."""


def add_parser(commands: Commands) -> None:
    """Add `verifiers` to the command line."""
    parser = add_command(commands, "verifiers", run, _ABOUT)
    parser.add_argument("name", nargs="?", metavar="NAME")


def run(arguments: argparse.Namespace) -> int:
    """Print names and versions, or one schema; return the exit status."""
    # Here, not at the top: commands that only talk to a service need no verifiers.
    from assay.verifiers.builtin import default_registry

    registry = default_registry()
    if arguments.name is None:
        for name in registry.names:
            verifier = registry.get(name)
            about = (verifier.task_model.__doc__ or "").strip().splitlines()
            print(f"{name}\t{verifier.version}\t{about[0] if about else ''}")
        return Exit.OK
    verifier = registry.get(arguments.name)
    print(json.dumps(verifier.task_model.model_json_schema(by_alias=False), indent=2))
    return Exit.OK
