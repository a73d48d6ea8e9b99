"""Landlock: rules that a process sets for itself and all it starts, without any privilege and without namespaces.

Every version of the interface ("ABI") adds rights that can be governed: 1 files, 2 moves between folders, 3 truncation,
4 TCP, 5 commands to devices, 6 signals and abstract unix sockets of processes outside, 7 control of the audit log.
Whatever is governed and not allowed is refused. Rules cannot be taken back, and processes of one set of rules cannot
look into or trace those outside it.

Not governed by any version used here: the attributes of files (mode, owner, times), the existence of a path, unix
sockets that have a path, and everything that is no file.
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntFlag

from assay.sandboxes import syscalls

SCOPED_SIGNALS = 6
"""The version from which on signals stay inside: before it only user ids can keep them from others' processes."""
_LOG_NOTHING = 0b1  # from version 7 on: what untrusted code is refused does not fill the machine's audit log
_TCP = 0b11
_SCOPES = 0b11


class Right(IntFlag):
    """LANDLOCK_ACCESS_FS_*."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


READ = Right.READ_FILE | Right.READ_DIR | Right.EXECUTE
"""What programs and libraries need."""
OWN = READ | Right.WRITE_FILE | Right.REMOVE_DIR | Right.REMOVE_FILE | Right.MAKE_DIR | Right.MAKE_REG | (
    Right.MAKE_FIFO | Right.MAKE_SYM | Right.REFER | Right.TRUNCATE
)  # fmt: skip
"""What an attempt may do in its own folder: everything but devices and sockets."""
DEVICE = Right.READ_FILE | Right.WRITE_FILE | Right.TRUNCATE
"""What an attempt may do with /dev/null and its like."""
_OF_FILES = Right.EXECUTE | Right.WRITE_FILE | Right.READ_FILE | Right.TRUNCATE | Right.IOCTL_DEV
_FIRST = (Right.MAKE_SYM << 1) - 1
_SINCE = ((2, Right.REFER), (3, Right.TRUNCATE), (5, Right.IOCTL_DEV))


@dataclass(frozen=True)
class Rule:
    """Rights on a file, or on all that lies beneath a folder; links are followed."""

    path: str
    rights: Right


@dataclass(frozen=True)
class Governed:
    """What one version of the interface can govern."""

    files: Right
    network: int
    scopes: int
    flags: int


def governed_by(version: int) -> Governed:
    """Return all that a version can govern."""
    files = Right(_FIRST)
    for since, right in _SINCE:
        files |= right if version >= since else Right(0)
    return Governed(
        files,
        _TCP if version >= 4 else 0,
        _SCOPES if version >= SCOPED_SIGNALS else 0,
        _LOG_NOTHING if version >= 7 else 0,
    )


def confine(version: int, rules: Iterable[Rule]) -> None:
    """Refuse this process, from now on, everything that can be governed, but for what `rules` allow.

    Rules for paths that do not exist allow nothing. Raises OSError if the kernel refuses.
    """
    all_of_it = governed_by(version)
    ruleset = syscalls.landlock_create_ruleset(all_of_it.files, all_of_it.network, all_of_it.scopes)
    try:
        for rule in rules:
            _allow(ruleset, rule, all_of_it.files)
        syscalls.landlock_restrict_self(ruleset, all_of_it.flags)
    finally:
        os.close(ruleset)


def keep_signals_inside(version: int) -> None:
    """Let this process, and all it starts, signal no process that it did not start. Needs SCOPED_SIGNALS."""
    ruleset = syscalls.landlock_create_ruleset(0, 0, _SCOPES)
    try:
        syscalls.landlock_restrict_self(ruleset, governed_by(version).flags)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, rule: Rule, governed: Right) -> None:
    try:
        path_fd = os.open(rule.path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rights = rule.rights & governed
        if not stat.S_ISDIR(os.fstat(path_fd).st_mode):
            rights &= _OF_FILES
        syscalls.landlock_allow_beneath(ruleset, path_fd, rights)
    finally:
        os.close(path_fd)
