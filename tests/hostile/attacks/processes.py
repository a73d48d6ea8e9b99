"""Attacks on other processes: looking into them, stopping them, ending them, becoming one of them."""

from attack import Attack

_TARGETS = "for pid in (WORLD['neighbour'], os.getppid(), WORLD.get('worker', os.getppid()), 1):"


def _each(body: str) -> str:
    """Try a body on every process that matters; the last error stands if none gave anything."""
    lines = "\n                ".join(line.strip() for line in body.strip().splitlines())
    return f"""
        failure = None
        {_TARGETS}
            try:
                {lines}
            except OSError as error:
                failure = error
        if failure:
            raise failure
    """


def _look(name: str) -> str:
    return _each(f"if is_secret(read(f'/proc/{{pid}}/{name}')): return pid")


ATTACKS = (
    Attack("environment of others", _look("environ")),
    Attack("command lines of others", _look("cmdline")),
    Attack(
        "memory of others",
        """
        with open(f"/proc/{WORLD['neighbour']}/mem", "rb", buffering=0) as file:
            file.seek(WORLD["address"])
            return is_secret(file.read(100))
        """,
    ),
    Attack(
        "process_vm_readv",
        """
        import struct
        buffer = ctypes.create_string_buffer(100)
        local = struct.pack("QQ", ctypes.addressof(buffer), 100)
        remote = struct.pack("QQ", WORLD["address"], 100)
        call("process_vm_readv", WORLD["neighbour"], local, 1, remote, 1, 0)
        return is_secret(buffer.raw)
        """,
    ),
    Attack(
        "descriptors of others",
        """
        return is_secret(read(f"/proc/{WORLD['neighbour']}/fd/{WORLD['descriptor']}"))
        """,
    ),
    Attack(
        "pidfd_getfd",
        """
        pidfd = call("pidfd_open", WORLD["neighbour"], 0)
        return is_secret(os.pread(call("pidfd_getfd", pidfd, WORLD["descriptor"], 0), 100, 0))
        """,
    ),
    Attack("roots of others", _each("if is_secret(read(f'/proc/{pid}/root' + WORLD['data'])): return pid")),
    Attack("working folders of others", _each("if os.listdir(f'/proc/{pid}/cwd') != os.listdir('.'): return pid")),
    Attack("memory maps of others", _each("if read(f'/proc/{pid}/maps'): return pid")),
    Attack(
        "a list of other processes",
        """
        return [pid for pid in filter(str.isdigit, os.listdir("/proc")) if int(pid) != os.getpid()]
        """,
    ),
    Attack(
        "other processes by number",
        """
        found = []
        for pid in range(2, 400):
            try:
                found += [read(f"/proc/{pid}/stat")] if pid != os.getpid() else []
            except OSError:
                continue
        try:
            found += [read(f"/proc/{WORLD['neighbour']}/stat")]
        except OSError:
            pass
        return found
        """,
    ),
    Attack(
        "whether a process's number is in use",
        """
        try:
            os.kill(WORLD["neighbour"], 0)
        except PermissionError:
            pass
        return "it is"
        """,
    ),
    Attack(
        "ptrace",
        _each("call('ptrace', 16, pid, 0, 0)\ncall('wait4', pid, 0, 0x40000000, 0)\nreturn pid"),
    ),
    Attack("ptrace seize of the supervisor", "return call('ptrace', 0x4206, os.getppid(), 0, 0) == 0"),
    Attack("SIGTERM to the neighbour", "os.kill(WORLD['neighbour'], 15)\nreturn 'sent'"),
    Attack("SIGSTOP to the neighbour", "os.kill(WORLD['neighbour'], 19)\nreturn 'sent'"),
    Attack("SIGKILL by pidfd", "return call('pidfd_send_signal', os.pidfd_open(WORLD['neighbour']), 9, 0, 0) == 0"),
    Attack("SIGKILL by tgkill", "return call('tgkill', WORLD['neighbour'], WORLD['neighbour'], 9) == 0"),
    Attack(
        "SIGKILL by a descriptor's owner",
        """
        import fcntl
        read_end, write_end = os.pipe()
        fcntl.fcntl(read_end, 10, 9)  # F_SETSIG
        fcntl.fcntl(read_end, fcntl.F_SETOWN, WORLD["neighbour"])
        fcntl.fcntl(read_end, fcntl.F_SETFL, fcntl.fcntl(read_end, fcntl.F_GETFL) | os.O_ASYNC)
        os.write(write_end, b"x")
        time.sleep(0.1)
        """,
    ),
    Attack("SIGKILL to everybody", "os.kill(-1, 9)\ntime.sleep(0.1)"),
    Attack("SIGSTOP to everybody", "os.kill(-1, 19)\ntime.sleep(0.1)"),
    Attack(
        "SIGSTOP to every number",
        """
        for pid in [*range(1, 500), WORLD["neighbour"], os.getppid()]:
            try:
                if pid != os.getpid():
                    os.kill(pid, 19)
            except OSError:
                continue
        """,
    ),
    Attack("SIGSTOP to the supervisor", "os.kill(os.getppid(), 19)\ntime.sleep(0.1)"),
    Attack("SIGKILL to the supervisor", "os.kill(os.getppid(), 9)\ntime.sleep(0.1)"),
    Attack(
        "SIGKILL to the supervisor's group",
        "os.kill(-os.getpgid(os.getppid()), 9)\ntime.sleep(0.1)",
        ends=("runtime_error",),  # its own group, where the supervisor's has no number
    ),
    Attack(
        "every signal to the supervisor",
        """
        supervisor = os.getppid()
        for number in range(1, 65):
            try:
                if number != 17:
                    os.kill(supervisor, number)
            except OSError:
                continue
        time.sleep(0.1)
        """,
    ),
    Attack(
        "limits of others",
        """
        import resource
        for pid in (WORLD["neighbour"], os.getppid(), 1):
            try:
                old = resource.prlimit(pid, resource.RLIMIT_NOFILE)
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(3, old[0]), old[1]))
            except (OSError, ValueError):
                continue
            return pid
        """,
    ),
    Attack(
        "cores of others",
        _each(
            "before = os.sched_getaffinity(pid)\n"
            "if len(before) < 2: raise Absent('one core')\n"
            "os.sched_setaffinity(pid, {max(before)})\n"
            "if os.sched_getaffinity(pid) != before: return pid"
        ),
    ),
    Attack(
        "priority of others",
        _each("os.setpriority(os.PRIO_PROCESS, pid, 15)\nif os.getpriority(os.PRIO_PROCESS, pid) == 15: return pid"),
    ),
    Attack(
        "scheduling of others",
        _each(
            "os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))\n"
            "if os.sched_getscheduler(pid) == os.SCHED_IDLE: return pid"
        ),
    ),
    Attack("kcmp", _each("return f\"{call('kcmp', os.getpid(), pid, 3, 0, 0)}\"")),
    Attack(
        "oom score of others",
        _each("with open(f'/proc/{pid}/oom_score_adj', 'w') as file: file.write('1000')\nreturn pid"),
    ),
    Attack("pages of others", _each("return call('move_pages', pid, 0, 0, 0, 0, 0) == 0")),
    Attack("memory hints for others", """
        import struct
        pidfd = call("pidfd_open", WORLD["neighbour"], 0)
        vector = struct.pack("QQ", WORLD["address"] & ~4095, 4096)
        return call("process_madvise", pidfd, vector, 1, 20, 0)
        """),
)  # fmt: skip
