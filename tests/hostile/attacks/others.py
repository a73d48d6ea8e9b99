"""Attacks on another attempt that runs at the same time, in another slot."""

from attack import Attack

_VICTIM = """
import socket
secret = "another attempt's"
open("/tmp/victim", "w").write(secret)
open("/dev/shm/victim", "w").write(secret)
segment = libc.shmget(0x7B55, 4096, 0o1666)
queue = libc.mq_open(b"/victim", os.O_RDWR | os.O_CREAT, 0o666, None)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0victim")
abstract.listen()
try:
    tcp = socket.socket()
    tcp.bind(("127.0.0.1", 47_117))
    tcp.listen()
except OSError:
    pass
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
