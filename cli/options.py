"""Options that several commands share, and the settings that come of them."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from assay.cli.datasets import Dataset
from assay.settings import Settings, load_settings, override, unknown_variables

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
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


def add_format_option(parser: argparse.ArgumentParser) -> None:
    """Add `--format`, the name of a known data set."""
    names = ", ".join(Dataset)
    parser.add_argument("--format", type=_dataset, metavar="NAME", help=f"the files are a known data set: {names}")


def _dataset(name: str) -> Dataset:
    try:
        return Dataset(name)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{name!r} is not known (choose from {', '.join(Dataset)})") from None


def settings_from(arguments: argparse.Namespace) -> Settings:
    """Load settings from file and environment, then let the command's own options win; warn of unknown variables."""
    for description in unknown_variables():
        print(f"assay: warning: {description}", file=sys.stderr)
    given = {
        name: value for name, value in vars(arguments).items() if name in Settings.model_fields and value is not None
    }
    return override(load_settings(file=arguments.config), given)
