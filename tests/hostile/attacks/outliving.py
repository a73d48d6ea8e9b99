"""Attacks that want to outlive their attempt: each leaves a process named `outlive…`, which only the outside sees."""

from attack import Attack

_QUIET = "os.dup2(os.open(os.devnull, os.O_RDWR), 1); os.dup2(1, 2)"
_STAY = "title('outlive'); {quiet}\nwhile True: time.sleep(1)".replace("{quiet}", _QUIET)


def _outlive(name: str, child: str, *, start: str = "os.fork()") -> Attack:
    lines = "\n            ".join(child.splitlines())
    body = f"""
        if {start} == 0:
            {lines}
        time.sleep(0.1)
    """
    return Attack(name, body)


_HOP = f"""
{_QUIET}
os.setsid()
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
title("outlive-hop")
os.fork()
os.fork()
deadline = time.monotonic() + 30
while time.monotonic() < deadline:
    if os.fork():
        os._exit(0)
    time.sleep(0.001 * (os.getpid() % 5))
os._exit(0)
"""
_IGNORE = f"""
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue
{_STAY}
"""

_PROGRAM = f"""
{_QUIET}
os.setsid()
import shutil
os.symlink(shutil.which("sleep"), "outlive")
os.execv("outlive", ["outlive", "30"])
"""
_ADOPT = f"libc.prctl(36, 1, 0, 0, 0)\nif not os.fork() and os.fork(): os._exit(0)\n{_STAY}"

ATTACKS = (
    _outlive("a child that stays", _STAY),
    _outlive("a child in a session of its own", f"os.setsid()\n{_STAY}"),
    _outlive("a double-forked daemon", f"os.setsid()\nif os.fork(): os._exit(0)\n{_STAY}"),
    _outlive("a child that ignores every signal", _IGNORE),
    _outlive("a child that stops itself", f"title('outlive'); {_QUIET}\nos.kill(os.getpid(), 19)\n{_STAY}"),
    _outlive("a child that never stays the same process", _HOP),
    _outlive("a child that becomes another program", _PROGRAM),
    _outlive("a child that keeps the output open", "title('outlive')\ntime.sleep(30)\nos._exit(0)"),
    _outlive("a sibling by CLONE_PARENT", _STAY, start="call('clone', 0x8000 | 17, 0, 0, 0, 0)"),
    _outlive("a child without a signal at its end", _STAY, start="call('clone', 0, 0, 0, 0, 0)"),
    _outlive("a child that shares its folder", _STAY, start="call('clone', 0x200 | 17, 0, 0, 0, 0)"),
    _outlive("a child that is traced", f"libc.ptrace(0, 0, 0, 0)\n{_STAY}"),
    _outlive("a tree of children", f"for _ in range(4): os.fork()\n{_STAY}"),
    _outlive("an adopter of its own", _ADOPT),
    _outlive("a child whose parent's death is to pass it by", f"libc.prctl(1, 0, 0, 0, 0)\nos.setsid()\n{_STAY}"),
)
