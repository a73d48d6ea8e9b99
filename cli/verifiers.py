"""`assay verifiers`: what can be verified here, and what each verifier's tasks look like."""

import argparse
import json

from assay.cli.exits import Exit
from assay.cli.options import Commands, add_command
from assay.errors import InvalidRequest

_ABOUT = """List the verifiers, or describe one: formula, terms with ranges, fields, profiles, example."""


def add_parser(commands: Commands) -> None:
    """Add `verifiers` to the command line."""
    parser = add_command(commands, "verifiers", run, _ABOUT)
    parser.add_argument("name", nargs="?", metavar="NAME")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--schema", action="store_true", help="print the JSON schema of NAME's tasks instead")
    what.add_argument("--docs", action="store_true", help="print the whole reference, docs/verifiers.md")


def run(arguments: argparse.Namespace) -> int:
    """Print names and versions, one entry, one schema or the whole reference; return the exit status."""
    # Here, not at the top: commands that only talk to a service need no verifiers.
    from assay.verifiers.builtin import default_registry
    from assay.verifiers.described import described_schema
    from assay.verifiers.reference import render, render_entry

    registry = default_registry()
    if arguments.schema and arguments.name is None:
        raise InvalidRequest("--schema is of one verifier", path="NAME", fix="name one")
    if arguments.docs and arguments.name is not None:
        raise InvalidRequest("--docs is of all verifiers", path="NAME", fix="name none")
    if arguments.docs:
        print(render(registry), end="")
    elif arguments.schema:
        print(json.dumps(described_schema(registry.get(arguments.name).task_model), indent=2))
    elif arguments.name is not None:
        print(render_entry(registry, arguments.name), end="")
    else:
        for name in registry.names:
            verifier = registry.get(name)
            about = (verifier.task_model.__doc__ or "").strip().splitlines()
            print(f"{name}\t{verifier.version}\t{about[0] if about else ''}")
    return Exit.OK
