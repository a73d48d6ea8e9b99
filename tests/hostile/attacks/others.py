"""Attacks on another attempt that runs at the same time, in another slot."""

from attack import Attack

_VICTIM = """
import socket
secret = "another attempt's"
for path in ("victim", "/tmp/victim", "/dev/shm/victim"):
    try:
        open(path, "w").write(secret)
    except OSError:
        continue  # there is no such folder in its jail
segment = libc.shmget(0x7B55, 4096, 0o1666)
queue = libc.mq_open(b"/victim", os.O_RDWR | os.O_CREAT, 0o666, None)
kept = []
for family, address in ((socket.AF_UNIX, "\\0victim"), (socket.AF_INET, ("127.0.0.1", 47_117))):
    try:
        sock = socket.socket(family)
        sock.bind(address)
        sock.listen()
    except OSError:
        continue  # nor such sockets
    kept.append(sock)
import fcntl
locked = open(ctypes.__file__)
fcntl.flock(locked, fcntl.LOCK_EX)
title("victim")
time.sleep(60)
"""

_LOCK = """
import fcntl
file = open(ctypes.__file__)
try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    return "the other attempt's lock is felt"
"""


def _beside(name: str, body: str) -> Attack:
    return Attack(name, body, beside=_VICTIM)


ATTACKS = (
    _beside("another attempt's file", "return 'another' in open('/tmp/victim').read()"),
    _beside(
        "another attempt's folder",
        """
        import glob
        pids = range(1, 40_000)
        here = os.path.dirname(os.path.dirname(os.getcwd()))
        guesses = [*glob.glob("../../*/work/victim"), *glob.glob("/tmp/*/*/work/victim")]
        guesses += [f"{here}/{pid}-{serial}/work/victim" for pid in pids for serial in range(3)]
        for path in (*guesses, *(f"/proc/{pid}/cwd/victim" for pid in pids)):
            try:
                if b"another" in read(path):
                    return path
            except OSError:
                continue
        """,
    ),
    _beside("another attempt's shared memory", "return 'another' in open('/dev/shm/victim').read()"),
    _beside("another attempt's SysV shared memory", "return libc.shmget(0x7B55, 0, 0) >= 0"),
    _beside("another attempt's queue", "return libc.mq_open(b'/victim', os.O_RDONLY) >= 0"),
    _beside(
        "another attempt's abstract socket",
        "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0victim')\nreturn 'answered'",
    ),
    _beside(
        "another attempt's listener",
        "import socket\nreturn socket.create_connection(('127.0.0.1', 47_117), 1).fileno() >= 0",
    ),
    _beside(
        "another attempt's processes",
        """
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if read(f"/proc/{pid}/comm") == b"victim\\n":
                    found.append(pid)
            except OSError:
                continue
        return found
        """,
    ),
    _beside(
        "another attempt's life",
        """
        ended = []
        for pid in range(2, 40_000):
            try:
                if pid != os.getpid() and read(f"/proc/{pid}/comm") == b"victim\\n":
                    os.kill(pid, 9)
                    ended.append(pid)
            except OSError:
                continue
        return ended
        """,
    ),
    _beside("a lock on a shared file", _LOCK),
)
