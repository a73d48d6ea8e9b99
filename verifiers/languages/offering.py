"""Which languages can be had: what a look at one where attempts run comes to, and what is to be expected of others."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from assay.verifiers.languages.launcher_program import PATH
from assay.verifiers.languages.table import LANGUAGES, PYTHON, Language
from assay.verifiers.stdio import Run

_SHOWN = 300  # characters of what went wrong
_VERSION_BYTES = 100


@dataclass(frozen=True)
class Offer:
    """What is known of a language in a kind of jail: its version, or why it cannot be had."""

    version: str = ""
    """The line in which what compiles or runs it names itself."""
    refusal: str = ""
    """Empty where it can be had."""
    lasts: bool = True
    """Whether the same would come of another look."""


def refuse(language: Language, why: str, *, lasts: bool = True) -> Offer:
    """Return the offer of a language that cannot be had, with what installs it."""
    refusal = f"{language.name} is not to be had where attempts run ({why[:_SHOWN]}); {language.install}"
    return Offer(refusal=refusal, lasts=lasts)


def read_version(ran: Run) -> str:
    """Return the first line that a probe wrote, to standard output or else to standard error."""
    line = (ran.stdout.strip() or ran.stderr.strip()).partition(b"\n")[0]
    return line[:_VERSION_BYTES].decode("utf-8", "replace").strip()


def said_of(ran: Run) -> str:
    """Return what is to be told of a run that was to end otherwise."""
    return ran.message or ran.stdout[:_VERSION_BYTES].decode("utf-8", "replace")


def missing_tools(language: Language) -> list[str]:
    """Return what compiles or runs programs of the language and is not on this machine; nothing is started."""
    tools = (language.probe[0], *(line[0] for line in language.build), language.run[0])
    return [tool for tool in dict.fromkeys(tools) if "/" not in tool and shutil.which(tool, path=PATH) is None]


def expect_languages(known: Mapping[str, Offer], *, here: bool) -> dict[str, str]:
    """Return the languages that are to be had as far as can be told, with their versions where these are known.

    What was looked at is `known`. Of others the tools on this machine tell it, if attempts run `here`; else they are
    expected. Plain Python needs nothing.
    """
    versions = {}
    for name, language in LANGUAGES.items():
        offer = known.get(name) or Offer(refusal=", ".join(missing_tools(language)) if here else "")
        if not offer.refusal or name == PYTHON:
            versions[name] = offer.version
    return versions
