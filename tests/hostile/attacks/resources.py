"""Attacks on what is shared by everybody: memory, processes, descriptors, disk, output, time.

A control shows that nothing but the jail's limits stops them; what they want is bounded, so that controls do no harm.
"""

from attack import Attack

_LIMITS = {
    "wall_s": 5,
    "cpu_s": 5,
    "memory_mb": 96,
    "processes": 16,
    "disk_mb": 16,
    "files": 64,
    "output_bytes": 1_000_000,
}


def _greedy(name: str, body: str, *ends: str, **limits: float) -> Attack:
    return Attack(name, body, limits={**_LIMITS, **limits}, ends=ends)


ATTACKS = (
    _greedy(
        "descriptors",
        """
        kept = []
        while len(kept) < 1000:
            kept.append(os.open("/dev/null", os.O_RDONLY))
        return f"{len(kept)} open"
        """,
    ),
    _greedy(
        "descriptors in flight",
        """
        import array, socket
        held = []
        while len(held) < 2000:
            pair = socket.socketpair()
            for _ in range(200):
                pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 100))])
                held += [0] * 100
        return f"{len(held)} in flight"
        """,
    ),
    _greedy(
        "processes",
        """
        children = []
        while len(children) < 100:
            pid = os.fork()
            if pid == 0:
                time.sleep(10)
                os._exit(0)
            children.append(pid)
        for pid in children:
            os.kill(pid, 9)
        return f"{len(children)} alive"
        """,
    ),
    _greedy(
        "threads",
        """
        import threading
        stop = threading.Event()
        threading.stack_size(65_536)
        try:
            for count in range(100):
                threading.Thread(target=stop.wait).start()
        except RuntimeError as error:
            raise OSError(str(error))
        finally:
            stop.set()
        return "100 alive"
        """,
    ),
    _greedy(
        "a fork bomb",
        """
        started = time.monotonic()
        read_end, write_end = os.pipe()
        owner = os.getpid()
        while time.monotonic() < started + 0.7:
            try:
                if os.fork() == 0:
                    os.write(write_end, b"x")
            except OSError:
                time.sleep(0.001)
        if os.getpid() != owner:
            os._exit(0)
        os.set_blocking(read_end, False)
        born = len(os.read(read_end, 65_536))
        return born if born > 60 else None
        """,
        "timeout",
    ),
    _greedy(
        "memory",
        """
        kept = [b"x" * 2**20 for _ in range(250)]
        return f"{len(kept)} MB"
        """,
        "memory_exceeded",
    ),
    _greedy(
        "memory of many children",
        """
        for _ in range(6):
            if os.fork() == 0:
                kept = b"x" * (40 * 2**20)
                time.sleep(2)
                os._exit(0)
        for _ in range(6):
            if os.waitstatus_to_exitcode(os.wait()[1]):
                raise OSError("a child was ended")
        return "240 MB"
        """,
        "memory_exceeded",
    ),
    _greedy(
        "memory in anonymous files",
        """
        for _ in range(20):
            fd = os.memfd_create("hog")
            for _ in range(10):
                os.write(fd, bytes(2**20))
        return "200 MB"
        """,
        "memory_exceeded",
    ),
    _greedy(
        "memory in SysV segments",
        """
        libc.shmat.restype = ctypes.c_void_p
        for number in range(200):
            segment = libc.shmget(0, 2**20, 0o1600)
            address = libc.shmat(segment, None, 0) if segment >= 0 else None
            if address in (None, ctypes.c_void_p(-1).value):
                raise OSError(ctypes.get_errno(), "shmget")
            ctypes.memset(address, 1, 2**20)
            libc.shmdt(ctypes.c_void_p(address))
        return "200 MB"
        """,
        "memory_exceeded",
    ),
    _greedy(
        "memory in pipes",
        """
        import fcntl
        for _ in range(100):
            read_end, write_end = os.pipe()
            fcntl.fcntl(write_end, 1031, 2**20)
            os.set_blocking(write_end, False)
            os.write(write_end, bytes(2**20))
        return "100 MB"
        """,
        "memory_exceeded",
    ),
    _greedy(
        "memory in SysV messages",
        """
        message = ctypes.create_string_buffer((1).to_bytes(8, "little") + bytes(8000))
        for number in range(12_000):
            queue = libc.msgget(0, 0o600)
            if queue < 0 or libc.msgsnd(queue, message, ctypes.c_size_t(8000), 0o4000) < 0:
                raise OSError(ctypes.get_errno(), "msgget or msgsnd")
            libc.msgsnd(queue, message, ctypes.c_size_t(8000), 0o4000)
        return "190 MB"
        """,
        "memory_exceeded",
    ),
    _greedy(
        "memory in SysV semaphores",
        """
        for number in range(100):
            if libc.semget(0, 32_000, 0o600) < 0:
                raise OSError(ctypes.get_errno(), "semget")
        return "200 MB"
        """,
        "memory_exceeded",
    ),
    _greedy(
        "memory in socket buffers",
        """
        import socket
        def fill():
            kept = []
            for _ in range(100):
                for end in (pair := socket.socketpair()):
                    end.setblocking(False)
                    try:
                        while True:
                            end.send(bytes(2**16))
                    except BlockingIOError:
                        kept.append(pair)
            return kept
        try:
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("0")
        except OSError:
            pass
        done, waiting = os.pipe(), os.pipe()
        for _ in range(8):
            if os.fork() == 0:
                kept = fill()
                os.write(done[1], b"x")
                os.read(waiting[0], 1)
                os._exit(0)
        full = 0
        while full < 8:
            full += len(os.read(done[0], 8))
        return "240 MB"
        """,
        "memory_exceeded",
        "timeout",
    ),
    _greedy(
        "memory in POSIX queues",
        """
        import struct
        attributes = struct.pack("4q", 0, 10, 8192, 0) + bytes(32)
        for number in range(5):
            queue = libc.mq_open(f"/hog{number}".encode(), os.O_RDWR | os.O_CREAT, 0o600, attributes)
            if queue < 0:
                raise OSError(ctypes.get_errno(), "mq_open")
            libc.mq_unlink(f"/hog{number}".encode())
        return "5 queues"
        """,
    ),
    _greedy(
        "disk",
        """
        with open("big", "wb", buffering=0) as file:
            for _ in range(64):
                file.write(bytes(2**20))
        return "64 MB"
        """,
    ),
    _greedy(
        "disk in many files",
        """
        for number in range(40):
            with open(f"part{number}", "wb", buffering=0) as file:
                if file.write(bytes(2**20)) < 2**20:
                    raise OSError("the disk is full")
        return "40 MB"
        """,
    ),
    _greedy(
        "disk in deleted files",
        """
        kept = []
        for number in range(40):
            kept.append(open("gone", "wb", buffering=0))
            os.unlink("gone")
            if kept[-1].write(bytes(2**20)) < 2**20:
                raise OSError("the disk is full")
        return "40 MB"
        """,
    ),
    _greedy(
        "disk by fallocate", "os.posix_fallocate(os.open('big', os.O_RDWR | os.O_CREAT), 0, 2**26)\nreturn '64 MB'"
    ),
    _greedy(
        "a huge sparse file",
        "os.truncate(os.open('sparse', os.O_RDWR | os.O_CREAT), 2**40)\nreturn os.stat('sparse').st_size",
    ),
    _greedy("inodes", "for number in range(1000): open(f'f{number}', 'w').close()\nreturn '1,000 files'"),
    _greedy("inodes by links", "for number in range(1000): os.symlink('nowhere', f'l{number}')\nreturn '1,000 links'"),
    _greedy(
        "deep folders",
        """
        for _ in range(1000):
            os.mkdir("deeper")
            os.chdir("deeper")
        return "1,000 folders deep"
        """,
    ),
    _greedy(
        "a flood of output",
        """
        for _ in range(300):
            os.write(1, b"y" * 100_000)
        return "30 MB"
        """,
        "output_exceeded",
    ),
    _greedy(
        "a flood of output on both streams by many",
        """
        for _ in range(3):
            if os.fork() == 0:
                for _ in range(100):
                    os.write(1, b"n" * 100_000)
                    os.write(2, b"y" * 100_000)
                os._exit(0)
        for _ in range(3):
            os.wait()
        return "60 MB"
        """,
        "output_exceeded",
    ),
    _greedy(
        "processor time",
        """
        started = time.process_time()
        while time.process_time() < started + 1.5:
            pass
        return "1.5 s"
        """,
        "timeout",
        cpu_s=0.5,
    ),
    _greedy(
        "processor time of grandchildren",
        """
        if os.fork() == 0:
            if os.fork() == 0:
                started = time.process_time()
                while time.process_time() < started + 1.5:
                    pass
                os._exit(0)
            os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
        return "1.5 s" if os.waitstatus_to_exitcode(os.wait()[1]) == 0 else None
        """,
        "timeout",
        cpu_s=0.5,
    ),
    _greedy("time", "time.sleep(1.5)\nreturn '1.5 s'", "timeout", wall_s=0.5),
    _greedy(
        "a stop that no one ends",
        """
        if os.fork() == 0:
            owner = os.getppid()
            time.sleep(1.5)
            os.kill(owner, 18)
            os._exit(0)
        os.kill(os.getpid(), 19)
        return "1.5 s"
        """,
        "timeout",
        wall_s=0.5,
    ),
    _greedy(
        "a crash that keeps its memory",
        """
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        if hard == 0:
            return None
        return f"a core of up to {hard} bytes"
        """,
    ),
)
