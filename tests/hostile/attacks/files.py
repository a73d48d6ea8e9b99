"""Attacks by way of files: secrets that are to be read, places that are to be written, devices."""

from attack import Attack

_ROOTS = '("", "/proc/self/root", "/proc/1/root", "/proc/self/cwd/../../../..", "/tmp/../../..")'
_PLACES = "[*sys.path, sys.prefix, os.path.dirname(sys.executable), os.path.dirname(os.__file__)]"


def _reads(path: str) -> str:
    """Read a path directly, through every root, and by links."""
    return f"""
        path = {path}
        for root in {_ROOTS}:
            try:
                if is_secret(read(root + path)):
                    return root + path
            except OSError as error:
                failure = error
        raise failure
    """


def _opens_for_writing(paths: str) -> str:
    return f"""
        for path in {paths}:
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                failure = error
                continue
            return path
        raise failure
    """


ATTACKS = (
    Attack("the data folder", _reads("WORLD['data']")),
    Attack("the home folder", _reads("WORLD['home']")),
    Attack("the settings file", _reads("WORLD['settings']")),
    Attack("the shadow file", "return len(read('/etc/shadow'))", needs_root=True),
    Attack(
        "a lease on a file",  # whoever opens it waits for its holder: an owner's user id has the interpreter's too
        """
        import fcntl
        os.close(os.open("leased", os.O_WRONLY | os.O_CREAT, 0o600))
        fcntl.fcntl(os.open("leased", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
        return "leases are given"
        """,
    ),
    Attack(
        "secrets in the environment",
        """
        libc.getenv.restype = ctypes.c_char_p
        known = [*os.environb.values(), read("/proc/self/environ"), libc.getenv(b"ASSAY_API_KEYS") or b""]
        return any(is_secret(value) for value in known)
        """,
    ),
    Attack(
        "secrets in its own memory",
        """
        with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in maps:
                span, mode, *_ = line.split()
                low, high = (int(part, 16) for part in span.split("-"))
                if mode[0] != "r" or high - low > 1 << 27 or "vsyscall" in line:
                    continue
                try:
                    memory.seek(low)
                    if is_secret(memory.read(high - low)):
                        return line
                except (OSError, ValueError, OverflowError):
                    continue
        """,
    ),
    Attack(
        "secrets in any file outside the system's folders",
        """
        skipped = {"usr", "proc", "sys", "lib", "lib32", "lib64", "bin", "sbin", "mnt"}
        left = 20_000
        for top in sorted(os.listdir("/")):
            for folder, _, names in os.walk("/" + top) if top not in skipped else ():
                if "site-packages" in folder or "/lib/python" in folder:
                    continue
                for name in names:
                    left -= 1
                    path = f"{folder}/{name}"
                    try:
                        if left > 0 and os.path.isfile(path) and is_secret(read(path, 4096)):
                            return path
                    except OSError:
                        continue
        """,
    ),
    Attack("the size of a secret file", "return os.stat(WORLD['settings']).st_size"),
    Attack(
        "a symbolic link to a secret",
        "os.symlink(WORLD['data'], 'link')\nreturn is_secret(read('link'))",
    ),
    Attack(
        "a symbolic link in place of its own program",
        """
        os.unlink("solution.py")
        os.symlink(WORLD["data"], "solution.py")
        return is_secret(read("solution.py"))
        """,
    ),
    Attack(
        "a hard link to a secret",
        """
        try:
            os.link(WORLD["data"], os.path.join(os.path.dirname(WORLD["data"]), "hard"))
        except FileNotFoundError:
            os.link("/etc/passwd", "/tmp/hard")
        return "linked"
        """,
    ),
    Attack(
        "a hard link to a system file",
        """
        tried = (("/etc/passwd", "/etc/hard"), ("/usr/bin/env", "/usr/bin/hard"), ("/usr/bin/env", "hard"))
        for source, target in tried:
            try:
                os.link(source, target)
            except OSError as error:
                failure = error
                continue
            return target
        raise failure
        """,
        needs_root=True,
    ),
    Attack(
        "files written into the system",
        """
        for folder in ("/", "/usr", "/usr/lib", "/usr/bin", "/etc", "/var", "/opt", "/home", "/srv", "/root", "/run"):
            path = os.path.join(folder, "assay-hostile-was-here")
            try:
                with open(path, "w") as file:
                    file.write("x")
            except OSError as error:
                failure = error
                continue
            return path
        raise failure
        """,
        needs_root=True,
    ),
    Attack(
        "code planted in the interpreter",
        f"""
        for folder in {_PLACES}:
            for name in ("sitecustomize.py", "planted.pth", "json/planted.py", "__pycache__/os.cpython-311.pyc"):
                path = os.path.join(os.path.abspath(folder), name)
                try:
                    if not path.startswith("/tmp/"):
                        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
                        return path
                except OSError as error:
                    failure = error
        raise failure
        """,
        needs_root=True,
    ),
    Attack(
        "the interpreter opened for writing",
        _opens_for_writing("(sys.executable, os.__file__, ctypes.__file__, '/usr/bin/env', '/etc/passwd')"),
        needs_root=True,
    ),
    Attack(
        "a read-only file reopened for writing",
        """
        fd = os.open(os.__file__, os.O_RDONLY)
        os.close(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY))
        return "reopened"
        """,
        needs_root=True,
    ),
    Attack(
        "a system file made its own",
        """
        for path in (os.__file__, "/etc/passwd", "/usr/bin/env", "/usr"):
            try:
                os.chmod(path, 0o777)
            except OSError as error:
                failure = error
                continue
            if os.stat(path).st_mode & 0o777 == 0o777:  # some filters only say that it worked
                return path
            failure = PermissionError(errno.EPERM, "nothing changed")
        raise failure
        """,
        needs_root=True,
    ),
    Attack(
        "a setuid file that counts",
        """
        os.close(os.open("s", 66))
        os.chown("s", 0, 0)
        os.chmod("s", 0o4755)
        status = os.stat("s")
        return status.st_uid == 0 and status.st_mode & 0o4000
        """,
        needs_root=True,
    ),
    Attack(
        "file capabilities",
        """
        os.close(os.open("c", 66))
        os.setxattr("c", "security.capability", bytes([1, 0, 0, 2, 0, 0, 32, 0]) + bytes(12))
        return len(os.getxattr("c", "security.capability"))
        """,
        needs_root=True,
    ),
    Attack(
        "kernel settings opened for writing",
        _opens_for_writing(
            "[f'/proc/{name}' for name in ('sys/kernel/core_pattern', 'sysrq-trigger',"
            " 'sys/vm/overcommit_memory', 'sys/kernel/hostname', 'sys/net/ipv4/ip_forward', 'irq/0/smp_affinity')]"
        ),
        needs_root=True,
    ),
    Attack(
        "the next process's number",
        """
        last = read("/proc/sys/kernel/ns_last_pid").decode()
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(last)
        return "set"
        """,
        needs_root=True,
    ),
    Attack("a group of processes opened for writing", _opens_for_writing(
        "[f'/sys/fs/cgroup/{name}' for name in ('cgroup.procs', 'memory/cgroup.procs', 'memory/release_agent',"
        " 'unified/cgroup.procs')] + ['/sys/kernel/uevent_helper', '/sys/power/state', '/sys/kernel/mm/ksm/run']"),
        needs_root=True,
    ),
    Attack(
        "kernel memory",
        "if not os.path.exists('/proc/kcore'): raise Absent('no /proc/kcore')\nreturn len(read('/proc/kcore', 4096))",
        needs_root=True,
    ),
    Attack(
        "kernel addresses",
        "return sum(int(line.split()[0], 16) > 0 for line in read('/proc/kallsyms', 4096).splitlines()[:9])",
        needs_root=True,
    ),
    Attack("the kernel's log", "return len(os.read(os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK), 8192))",
           needs_root=True),
    Attack(
        "an oom score of its own",
        "with open('/proc/self/oom_score_adj', 'w') as file: file.write('-1000')\nreturn 1",
        needs_root=True,
    ),
    Attack("an autogroup of its own", "with open('/proc/self/autogroup', 'w') as file: file.write('-5')\nreturn 1",
           needs_root=True),
    Attack(
        "devices",
        """
        names = [line.split()[-1].decode() for line in read("/proc/partitions").splitlines()[2:]]
        names += ["mem", "port", "kmsg", "fuse", "kvm", "vsock", "userfaultfd", "loop-control", "net/tun", "ptmx",
                  "console", "tty", "hwrng", "cpu_dma_latency", "vhost-net", "btrfs-control", "nvidiactl", "dri/card0"]
        for name in names:
            try:
                os.close(os.open(f"/dev/{name}", os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
            except OSError as error:
                failure = error
                continue
            return name
        raise failure
        """,
    ),
    Attack(
        "a disk by a device node of its own",
        """
        import stat
        major, minor = (int(part) for part in read("/proc/partitions").splitlines()[2].split()[:2])
        os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(major, minor))
        return len(os.pread(os.open("/tmp/disk", os.O_RDONLY), 512, 0))
        """,
        needs_root=True,
    ),
    Attack(
        "the kernel's memory by a device node of its own",
        """
        call("mknodat", -100, b"/tmp/kmsg", 0o20600, os.makedev(1, 11))
        return os.open("/tmp/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        """,
        needs_root=True,
    ),
    Attack(
        "the machine's shared memory",
        "return is_secret(read('/dev/shm/' + WORLD['shm_name']))",
    ),
    Attack(
        "the machine's SysV shared memory",
        """
        libc.shmat.restype = ctypes.c_void_p
        segment = libc.shmget(WORLD["ipc_key"], 0, 0)
        address = libc.shmat(WORLD["shm"] if segment < 0 else segment, None, 0o10000)
        if address is None or address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "shmat")
        return is_secret(ctypes.string_at(address, 100))
        """,
    ),
    Attack(
        "the machine's SysV messages",
        """
        buffer = ctypes.create_string_buffer(200)
        if libc.msgrcv(WORLD["msg"], buffer, ctypes.c_size_t(100), 0, 0o4000) < 0:
            raise OSError(ctypes.get_errno(), "msgrcv")
        return is_secret(buffer.raw)
        """,
    ),
    Attack(
        "the machine's SysV semaphores",
        """
        import struct
        if libc.semop(WORLD["sem"], struct.pack("Hhh", 0, 1, 0o4000), ctypes.c_size_t(1)) < 0:
            raise OSError(ctypes.get_errno(), "semop")
        return "raised"
        """,
    ),
    Attack(
        "the machine's POSIX messages",
        """
        queue = libc.mq_open(WORLD["queue_name"].encode(), os.O_RDONLY | os.O_NONBLOCK)
        if queue < 0:
            raise OSError(ctypes.get_errno(), "mq_open")
        buffer = ctypes.create_string_buffer(8192)
        libc.mq_receive(queue, buffer, ctypes.c_size_t(8192), None)
        return is_secret(buffer.raw)
        """,
    ),
    Attack(
        "tables of the machine's shared memory",
        """
        import re
        return [kind for kind in ("shm", "msg", "sem") if len(read(f"/proc/sysvipc/{kind}").splitlines()) > 1]
        """,
    ),
)  # fmt: skip
