"""Exit statuses of every command."""

from enum import IntEnum


class Exit(IntEnum):
    """What a finished command tells its caller."""

    OK = 0
    """Done, nothing wrong."""
    FOUND_FAULTS = 1
    """Done, and something is wrong with what was judged."""
    REFUSED = 2
    """The arguments or the input are refused (argparse uses the same number)."""
    OUR_FAULT = 3
    """This side failed: no isolation, no service, a fault of ours."""
    BELOW = 4
    """Done, and the rewards are below what `--fail-under` asks for."""
    INTERRUPTED = 130
    """Ended by Ctrl-C."""
    UNREAD = 141
    """Whoever read the output, or the messages, has closed it: the command ended there (128 + SIGPIPE)."""
