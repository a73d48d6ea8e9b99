"""Attacks that leave something for the next attempt in the same slot: `first` plants it, the body looks for it."""

from attack import Attack


def _file(path: str) -> Attack:
    return Attack(
        f"a file left in {path}",
        f"return os.path.exists({path!r})",
        first=f"open({path!r}, 'w').close()\nreturn 'planted'",
    )


_KEYCTL_TIMEOUT = "call('keyctl', 15, key, 5)"
_KEYS = {"its thread": -1, "its process": -2, "the session": -3, "the user": -4, "the user's session": -5}
_KEPT_KEYS = {name: ring for name, ring in _KEYS.items() if ring <= -3}

ATTACKS = (
    *(_file(path) for path in ("left", "/tmp/left", "/dev/shm/left", "/var/tmp/left", "../left")),
    Attack(
        "a folder left in its path",
        "return os.path.isdir('planted')",
        first="os.makedirs('planted', exist_ok=True)\nos.chmod('planted', 0)\nreturn 1",
    ),
    Attack(
        "a program left for it to import",
        """
        sys.path.insert(0, "/tmp")
        try:
            import left_module
        except ImportError:
            return None
        return left_module.__file__
        """,
        first="open('/tmp/left_module.py', 'w').close()\nreturn 1",
    ),
    Attack(
        "a socket file left",
        "return os.path.exists('/tmp/left.sock')",
        first="import socket\nsocket.socket(socket.AF_UNIX).bind('/tmp/left.sock')\nreturn 1",
    ),
    Attack(
        "SysV shared memory left",
        "return libc.shmget(0x7A55, 0, 0) >= 0",
        first="return libc.shmget(0x7A55, 4096, 0o1666) >= 0",
    ),
    Attack("a SysV queue left", "return libc.msgget(0x7A55, 0) >= 0", first="return libc.msgget(0x7A55, 0o1666) >= 0"),
    Attack(
        "a SysV semaphore left",
        "return libc.semget(0x7A55, 0, 0) >= 0",
        first="return libc.semget(0x7A55, 1, 0o1666) >= 0",
    ),
    Attack(
        "a POSIX queue left",
        "return libc.mq_open(b'/left', os.O_RDONLY) >= 0",
        first="return libc.mq_open(b'/left', os.O_RDWR | os.O_CREAT, 0o666, None) >= 0",
    ),
    Attack(
        "POSIX shared memory left",
        """
        from multiprocessing.shared_memory import SharedMemory
        shared = SharedMemory("left")
        return bytes(shared.buf[:4]) == b"left"
        """,
        first="""
        from multiprocessing import resource_tracker
        from multiprocessing.shared_memory import SharedMemory
        resource_tracker.register = lambda *_: None
        shared = SharedMemory("left", create=True, size=4096)
        shared.buf[:4] = b"left"
        return "planted"
        """,
    ),
    *(
        Attack(
            f"a key left in the keyring of {name}",
            f"return call('keyctl', 10, {ring}, b'user', b'left', 0) > 0",
            first=f"key = call('add_key', b'user', b'left', b'x', 1, {ring})\n{_KEYCTL_TIMEOUT}\nreturn key",
        )
        for name, ring in _KEPT_KEYS.items()
    ),
    Attack(
        "an abstract socket left with a process that stays",
        """
        import socket
        socket.socket(socket.AF_UNIX).connect("\\0left")
        return "answered"
        """,
        first="""
        import socket
        sock = socket.socket(socket.AF_UNIX)
        sock.bind("\\0left")
        sock.listen()
        leave_behind()
        return "planted"
        """,
    ),
    Attack(
        "a listener left on loopback",
        """
        import socket
        return socket.create_connection(("127.0.0.1", 47_116), 1).fileno() >= 0
        """,
        first="""
        import socket
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 47_116))
        sock.listen()
        leave_behind()
        return "planted"
        """,
    ),
    Attack(
        "a hostname left",
        "return os.uname().nodename == 'left'",
        first="return f\"{call('sethostname', b'left', 4)} from sethostname\"",
        needs_root=True,
    ),
    Attack(
        "a mount left",
        "return os.path.exists('/mnt/left/mark')",
        first="""
        os.makedirs("/mnt/left", exist_ok=True)
        call("mount", b"none", b"/mnt/left", b"tmpfs", 0, 0)
        open("/mnt/left/mark", "w").close()
        return 1
        """,
        needs_root=True,
    ),
    Attack(
        "a process left that names itself",
        """
        return [pid for pid in filter(str.isdigit, os.listdir("/proc")) if read(f"/proc/{pid}/comm") == b"left\\n"]
        """,
        first="""
        leave_behind("left")
        time.sleep(0.05)
        return "planted"
        """,
    ),
)
