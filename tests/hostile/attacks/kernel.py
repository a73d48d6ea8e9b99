"""Attacks on the kernel's own doors: namespaces, mounts, modules, keys, clocks, other tables of system calls."""

from attack import Attack

_STATUS = (
    "status = dict(line.split(':\\t', 1) for line in read('/proc/self/status').decode().splitlines() if ':\\t' in line)"
)
_BPF_MAP = "import struct\nreturn f\"map {call('bpf', 0, struct.pack('IIII', 2, 4, 8, 1) + bytes(56), 72)}\""
_PERF = """
import struct
attributes = struct.pack("IIQ", 1, 128, 0) + bytes(24) + struct.pack("Q", 0x60) + bytes(80)
return f"counter {call('perf_event_open', attributes, 0, -1, -1, 0)}"
"""
_CLONE = """
pid = call("clone", {flags} | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
return "made"
"""
_CLONE3 = """
import struct
pid = call("clone3", struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
return "made"
"""
_MACHINE_CODE = """
import mmap
if os.uname().machine != "x86_64":
    raise Absent("x86-64 only")
code = bytes.fromhex("{code}")
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
run = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
result = run()
if result == os.getpid():
    return f"the call answered {{result}}"
if result in (-38, 0xFFFFFFDA):
    raise Absent("the kernel has no such calls")
"""
_NOTIFY = """
import select, struct
def filter_for(number):
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x7FC00000), (0x06, 0, 0, 0x7FFF0000)]
    return b"".join(struct.pack("HBBI", code, yes, no, value) for code, yes, no, value in steps)
program = ctypes.create_string_buffer(filter_for(NUMBERS["mount"]))
libc.prctl(38, 1, 0, 0, 0)
listener = call("seccomp", 1, 8, struct.pack("HxxxxxxP", 4, ctypes.addressof(program)))
pid = os.fork()
if pid == 0:
    try:
        call("mount", b"none", b"/tmp", b"tmpfs", 0, 0)
        os._exit(0)
    except OSError:
        os._exit(1)
import fcntl
if select.select([listener], [], [], 0.5)[0]:
    notice = bytearray(80)
    fcntl.ioctl(listener, 0xC0502100, notice)
    answer = notice[:8] + struct.pack("qiI", 0, 0, 1)  # let the call go on
    fcntl.ioctl(listener, 0xC0182101, bytearray(answer))
return "mounted" if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else None
"""
_TERMINAL = """
import fcntl
candidates = [0, 1, 2]
try:
    main, side = os.openpty()
    if os.fork() == 0:
        os.setsid()
        fcntl.ioctl(side, 0x540E, 0)
        try:
            fcntl.ioctl(side, 0x5412, b"x")
            os._exit(7)
        except OSError:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.wait()[1]) == 7:
        return "typed"
except OSError:
    pass
for number in candidates:
    try:
        fcntl.ioctl(number, 0x5412, b"x")
    except OSError as error:
        failure = error
        continue
    return "typed"
raise failure
"""
_CAPSET = """
import struct
call("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", 1 << 21, 1 << 21, 0, 0, 0, 0))
return "CAP_SYS_ADMIN kept"
"""
_MEMFD = """
import shutil, subprocess
fd = os.memfd_create("program", 0)
with open(shutil.which("cat"), "rb") as file:
    os.write(fd, file.read())
text = subprocess.run(["cat", "/proc/self/status"], executable=f"/proc/self/fd/{fd}", pass_fds=[fd],
                      capture_output=True, text=True).stdout
if "Seccomp:\\t0" in text:
    return "unfiltered"
"""
_EVERY_PROGRAM = """
import subprocess
paths = sorted({f"{folder}/{name}" for folder in ("/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin", "/sbin")
                if os.path.isdir(folder) for name in os.listdir(folder)}, key=os.path.basename)
paths = [path for path in paths if os.path.basename(path) != "killall5"]  # it ends the attack as well
paths = list({os.path.basename(path): path for path in paths if os.access(path, os.X_OK)}.values())
if "worker" not in WORLD:  # not all of them, unisolated
    paths = [path for path in paths if os.path.basename(path) == "cat"]
free, running, kept = [], [], os.open(os.devnull, os.O_RDWR)
read_end, write_end = os.pipe()
for path in paths:
    try:
        process = subprocess.Popen([path], stdin=read_end, stdout=kept, stderr=kept, start_new_session=True)
    except OSError:
        continue
    lines = read(f"/proc/{process.pid}/status").decode().splitlines()
    if "Seccomp:\t0" in lines or any(line.startswith("CapEff") and int(line.split()[1], 16) for line in lines):
        free.append(path)
    running.append((process, time.monotonic()))
    while running and (len(running) > 6 or path == paths[-1]):
        process, started = running[0]
        try:
            process.wait(max(0, started + 0.1 - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
        running.pop(0)
return free
"""
_SETUID = """
import glob, subprocess
tried = 0
for name in ("su", "passwd", "newgrp", "chsh", "chfn", "gpasswd", "mount", "umount", "sudo", "pkexec"):
    for folder in ("/usr/bin", "/bin"):
        path = f"{folder}/{name}"
        if not os.path.exists(path) or not os.stat(path).st_mode & 0o4000:
            continue
        tried += 1
        process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        uids = []
        for _ in range(100):
            try:
                lines = read(f"/proc/{process.pid}/status").decode().splitlines()
            except OSError:
                continue
            uids = next(line for line in lines if line.startswith("Uid")).split()[1:]
            if uids[1] == "0" or process.poll() is not None:
                break
            time.sleep(0.002)
        process.kill()
        process.wait()
        if uids and uids[1] == "0" and os.geteuid() != 0:
            return path
if not tried:
    raise Absent("no setuid program is to be seen")
"""


def _new_root(call_name: str) -> str:
    if call_name == "chroot":
        return "os.makedirs('inner', exist_ok=True)\nreturn f\"{call('chroot', b'inner')} from chroot\""
    return """
        call("unshare", 0x00020000)
        call("mount", b"none", b"/", 0, 1 << 18 | 16384, 0)
        os.makedirs("/tmp/new/old", exist_ok=True)
        call("mount", b"none", b"/tmp/new", b"tmpfs", 0, 0)
        os.makedirs("/tmp/new/old", exist_ok=True)
        return f"{call('pivot_root', b'/tmp/new', b'/tmp/new/old')} from pivot_root"
    """


_UNSHARED = [
    Attack(f"unshare of a {name} namespace", f"return f\"{{call('unshare', {flag})}} from unshare\"", needs_root=root)
    for name, flag, root in (
        ("user", 0x10000000, False), ("mount", 0x00020000, True), ("pid", 0x20000000, True),
        ("network", 0x40000000, True), ("ipc", 0x08000000, True), ("cgroup", 0x02000000, True), ("time", 0x80, True),
    )
]  # fmt: skip
_CONSIDERED = [
    Attack(name, f"return considered({arguments})", needs_root=True)
    for name, arguments in (
        ("init_module", "'init_module', b'xxxx', 4, b''"),
        ("delete_module", "'delete_module', b'no_such_module', 0"),
        ("kexec_load", "'kexec_load', 0, 99, 0, 0"),
        ("reboot", "'reboot', 0xfee1dead, 672274793, 0, 0"),  # disables ctrl-alt-delete; in a namespace, nothing
        ("swapon", "'swapon', b'/no/such/file', 0"),
        ("acct", "'acct', b'/no/such/file'"),
        ("quotactl", "'quotactl', 0x80000400 - (1 << 32), b'/no/such/device', 0, 0"),
        ("syslog", "'syslog', 3, ctypes.create_string_buffer(100), 100"),
        ("iopl", "'iopl', 3"),
        ("ioperm", "'ioperm', 0x80, 1, 1"),
        ("sethostname", "'sethostname', b'stolen', 6"),
        ("setdomainname", "'setdomainname', b'stolen', 6"),
        ("fanotify_init", "'fanotify_init', 0, 0"),
        ("adjtimex", "'adjtimex', (0x8001).to_bytes(4, 'little') + bytes(204)"),
        ("clock_adjtime", "'clock_adjtime', 0, (0x8001).to_bytes(4, 'little') + bytes(204)"),
        ("mount of a tmpfs", "'mount', b'none', b'/tmp', b'tmpfs', 0, 0"),
        ("bind mount", "'mount', b'/proc', b'/tmp', 0, 4096, 0"),
        ("remount for writing", "'mount', b'none', b'/usr', 0, 4096 | 32, 0"),
        ("mount of a new proc", "'mount', b'proc', b'/tmp', b'proc', 0, 0"),
        ("umount", "'umount2', b'/proc', 2"),
        ("fsopen", "'fsopen', b'tmpfs', 0"),
        ("fspick", "'fspick', -100, b'/', 0"),
        ("open_tree", "'open_tree', -100, b'/', 1"),
        ("move_mount", "'move_mount', -100, b'/no/such', -100, b'/no/such/place', 0"),
        ("mount_setattr", "'mount_setattr', -100, b'/usr', 0, bytes(32), 32"),
        ("real-time ioprio", "'ioprio_set', 1, 0, 1 << 13"),
    )
]

ATTACKS = (
    *_UNSHARED,
    *_CONSIDERED,
    Attack("clone into a user namespace", _CLONE.format(flags="0x10000000")),
    Attack("clone into a pid namespace", _CLONE.format(flags="0x20000000"), needs_root=True),
    Attack("clone3 into a user namespace", _CLONE3),
    Attack(
        "setns to the neighbour",
        """
        call("setns", call("pidfd_open", WORLD["neighbour"], 0), 0x40000000)
        return "in its network"
        """,
        needs_root=True,
    ),
    Attack(
        "setns to the supervisor",
        "return f\"{call('setns', os.open(f'/proc/{os.getppid()}/ns/net', 0), 0)} from setns\"",
        needs_root=True,
    ),
    Attack("chroot", _new_root("chroot"), needs_root=True),
    Attack("pivot_root", _new_root("pivot_root"), needs_root=True),
    Attack(
        "open_by_handle_at",
        """
        handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(132))
        open("/dev/shm/named", "w").close()
        call("name_to_handle_at", -100, b"/dev/shm/named", handle, ctypes.create_string_buffer(4), 0)
        return f"{call('open_by_handle_at', os.open('/dev/shm', 0), handle, 0)} from open_by_handle_at"
        """,
        needs_root=True,
    ),
    Attack(
        "open_by_handle_at of a made-up handle",
        "return considered('open_by_handle_at', os.open('/', 0), bytes([8, 0, 0, 0, 1, 0, 0, 0]) + bytes(8), 0)",
        needs_root=True,
    ),
    Attack(
        "name_to_handle_at",
        """
        handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(132))
        return considered("name_to_handle_at", -100, b"/usr/bin/env", handle, ctypes.create_string_buffer(4), 0)
        """,
    ),
    Attack("bpf", _BPF_MAP, needs_root=True),
    Attack("perf_event_open", _PERF),
    Attack("io_uring", "return f\"ring {call('io_uring_setup', 4, ctypes.create_string_buffer(120))}\""),
    Attack("userfaultfd", "return f\"descriptor {call('userfaultfd', 1)}\""),
    Attack("a key is added", "return f\"key {call('add_key', b'user', b'mine', b'x', 1, -2)}\""),
    Attack(
        "the worker's key",
        """
        buffer = ctypes.create_string_buffer(100)
        for ring in (-3, -4, -5):
            try:
                key = call("keyctl", 10, ring, b"user", b"assay-worker-key", 0)
                call("keyctl", 11, key, buffer, 100)
            except OSError as error:
                failure = error
                continue
            return is_secret(buffer.raw)
        raise failure
        """,
    ),
    Attack("the worker's key is listed", "return 'assay-worker-key' in read('/proc/keys').decode()"),
    Attack("request_key", "return f\"key {call('request_key', b'user', b'assay-worker-key', 0, 0)}\""),
    Attack("personality", "return f\"was {call('personality', 0x40000)}\""),
    Attack("calls of the 32-bit table", _MACHINE_CODE.format(code="53b814000000cd805bc3")),
    Attack("calls with the x32 bit", _MACHINE_CODE.format(code="b8270000400f05c3")),
    Attack("a filter that lets its own mounts go on", _NOTIFY, needs_root=True),
    Attack("the filter is taken off", f"libc.prctl(22, 0, 0, 0, 0)\n{_STATUS}\nreturn status['Seccomp'] == '0'"),
    Attack("new privileges may come", f"libc.prctl(38, 0, 0, 0, 0)\n{_STATUS}\nreturn status['NoNewPrivs'] == '0'"),
    Attack("capabilities are taken", _CAPSET, needs_root=True),
    Attack(
        "capabilities by exec",
        """
        import subprocess
        text = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
        return [line for line in text.splitlines() if line.startswith("CapEff") and int(line.split()[1], 16)]
        """,
        needs_root=True,
    ),
    Attack("setuid to root", "os.setresuid(0, 0, 0)\nreturn os.getuid() == 0", needs_root=True),
    Attack("setuid to somebody", "os.setresuid(1, 1, 1)\nreturn os.getuid() == 1", needs_root=True),
    Attack("setgroups", "os.setgroups([0, 4, 6])\nreturn 'set'", needs_root=True),
    Attack("setuid programs", _SETUID, as_user=True),
    Attack("every program there is", _EVERY_PROGRAM, limits={"wall_s": 60, "cpu_s": 60}),
    Attack("a program executed from memory is free", _MEMFD),
    Attack("typing into a terminal", _TERMINAL),
    Attack(
        "the clock's zone",
        """
        zone = ctypes.create_string_buffer(8)
        libc.gettimeofday(None, zone)
        return f"{call('settimeofday', 0, zone)} from settimeofday"
        """,
        needs_root=True,
    ),
    Attack("a higher priority", "os.setpriority(0, 0, -15)\nreturn os.getpriority(0, 0) == -15", needs_root=True),
    Attack("a lower priority", "os.nice(7)\nreturn os.getpriority(0, 0) == 7"),
    Attack(
        "another core",
        """
        before = os.sched_getaffinity(0)
        if len(before) < 2:
            raise Absent("one core")
        os.sched_setaffinity(0, {min(before)})
        return os.sched_getaffinity(0) != before
        """,
    ),
    Attack(
        "real-time scheduling",
        """
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        return os.sched_getscheduler(0) == os.SCHED_FIFO
        """,
        needs_root=True,
    ),
    Attack(
        "idle scheduling",
        """
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        return os.sched_getscheduler(0) == os.SCHED_IDLE
        """,
    ),
    Attack(
        "limits are raised",
        """
        import resource
        raised = []
        for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
            soft, hard = resource.getrlimit(kind)
            if hard == resource.RLIM_INFINITY:
                continue
            try:
                resource.setrlimit(kind, (hard + 1, hard + 1))
            except (OSError, ValueError):
                continue
            raised.append(kind)
        if not raised:
            raise PermissionError(errno.EPERM, "none may be raised")
        return raised
        """,
        needs_root=True,
    ),
    Attack(
        "memory is locked",
        """
        import mmap
        page = mmap.mmap(-1, 2**24)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(2**24)):
            raise OSError(ctypes.get_errno(), "mlock")
        return "16 MB locked"
        """,
        needs_root=True,
    ),
    Attack("secret memory", "return f\"descriptor {call('memfd_secret', 0)}\""),
    Attack("modify_ldt", "return f\"{call('modify_ldt', 0, ctypes.create_string_buffer(64), 64)} bytes\"" ),
)  # fmt: skip
