"""Options that several commands share, and the settings that come of them."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from assay.cli.records.entries import Reading
from assay.cli.records.mapping import field_map
from assay.cli.remarks import remark
from assay.clients.formats import Format
from assay.settings import Settings, load_settings, override, unknown_variables

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
_OWN = "assay"
Run = Callable[[argparse.Namespace], int]


def add_command(commands: Commands, name: str, run: Run, text: str) -> argparse.ArgumentParser:
    """Add one command that `run` carries out, with `text` as its description."""
    parser = commands.add_parser(name, help=text.split(".")[0], description=text)
    parser.set_defaults(run=run)
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings; ASSAY_* variables win")
    return parser


def add_sandbox_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command in which attempts run."""
    parser.add_argument(
        "--insecure",
        action="store_true",
        default=None,
        help="run completions WITHOUT isolation; every result is flagged `insecure`",
    )
    parser.add_argument("--slots", type=int, metavar="N", help="attempts run at once; default: twice the usable cores")


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what records of the files mean."""
    names = ", ".join(Format)
    parser.add_argument(
        "--format",
        type=_format,
        metavar="NAME",
        help=f"how the records were published: {names}; {_OWN}: tasks of Assay. Default: what the first record shows",
    )
    parser.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="where a field lies in a record (completion=response, task_id=info.id); again for each",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a field that every record has, as JSON or text (verifier=math); again for each",
    )
    parser.add_argument(
        "--json-field",
        action="append",
        default=[],
        metavar="NAME",
        help="the text of this field is JSON, as cells of CSV are (tests); again for each",
    )


def reading_from(arguments: argparse.Namespace) -> Reading:
    """Return how the options say that records are read. Raises InvalidRequest naming the one that is wrong."""
    fields = field_map(arguments.field, arguments.set, arguments.json_field)
    is_own = arguments.format == _OWN
    return Reading(None if is_own else arguments.format, fields, finds_format=not is_own)


def _format(name: str) -> Format | str:
    if name == _OWN:
        return name
    try:
        return Format(name)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{name!r} is not known (choose from {', '.join(Format)}, {_OWN})") from None


def settings_from(arguments: argparse.Namespace) -> Settings:
    """Load settings from file and environment, then let the command's own options win; warn of unknown variables."""
    for description in unknown_variables():
        remark(f"warning: {description}")
    given = {
        name: value for name, value in vars(arguments).items() if name in Settings.model_fields and value is not None
    }
    return override(load_settings(file=arguments.config), given)
