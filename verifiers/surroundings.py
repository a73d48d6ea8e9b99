"""What kind of jail an attempt needs, read off its texts: guessing too much costs a millisecond, too little a library.

Texts are searched, not parsed: they are hostile, and this runs in the worker.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SCIENCE = re.compile(r"\b(?:numpy|np|scipy|pandas|pd|sklearn|sympy|networkx)\b")
_NETWORK = re.compile(
    r"\b(?:\w*socket\w*|https?|httpx|urllib\d?|requests|aiohttp|asyncio|ssl|xmlrpc|ftplib|smtplib|poplib|imaplib|telnetlib"
    r"|flask|fastapi|tornado|twisted|anyio|trio|redis|__import__|importlib|ctypes)\b"
)


@dataclass(frozen=True)
class Surroundings:
    """A flavour of warm interpreter, and whether inet sockets must work on a loopback of the attempt's own."""

    flavour: str
    network: bool

    @property
    def of_programs(self) -> str:
        """The flavour for a program that runs by itself: smaller where nothing is called in it from outside."""
        return "programs" if self.flavour == "bare" else self.flavour


def surroundings_for(texts: Iterable[str]) -> Surroundings:
    """Return what an attempt with these texts (completion, prompt, tests) needs."""
    kept = tuple(texts)
    science = any(_SCIENCE.search(text) for text in kept)
    return Surroundings("numeric" if science else "bare", any(_NETWORK.search(text) for text in kept))
