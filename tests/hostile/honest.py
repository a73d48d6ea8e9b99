"""The honest program that runs after every attack: it says all that could have been left to it."""

FINGERPRINT = """
import os, re, resource, signal, sys

def lines(path):
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError as error:
        return [type(error).__name__]

def names(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return [type(error).__name__]

def folders(top):  # not those within the interpreter's, which may lie below /tmp and hold ten thousand
    for path, inner, _ in os.walk(top):
        below = [(name, os.path.join(path, name)) for name in inner]
        inner[:] = [name for name, whole in below if not (os.path.ismount(whole) or whole == sys.prefix)]
        yield path

def settled(text):  # without the name of a folder that is this attempt's alone
    return text.replace(own, "~") if own != "/tmp" else text

def limit(kind):  # of processes, others of a shared user id are counted in
    return "shared" if shared and kind == resource.RLIMIT_NPROC else resource.getrlimit(kind)

own = os.path.dirname(os.getcwd())
numbered = names("/proc") != ["PermissionError"]  # else process numbers are the machine's
shared = not numbered and os.stat(os.path.dirname(own)).st_uid == os.getuid()
users = (os.getresuid(), os.getresgid(), os.getgroups())
if not numbered and not shared:  # it differs from jail to jail
    users = [len({*users[0], *users[1]}), os.getuid() >= 50_000, os.getuid() == os.stat(own).st_uid, users[2]]
status = dict(line.split(":\\t", 1) for line in lines("/proc/self/status") if ":\\t" in line)
space = os.statvfs("/tmp")
facts = {
    "folder": settled(os.getcwd()),
    "files": sorted(settled(path) for top in (own, "/tmp", "/dev/shm", "/var/tmp") for path in folders(top)),
    "names": names("."),
    "temporary": names("/tmp"),
    "space": (space.f_blocks, space.f_bfree // 64, space.f_files, space.f_ffree) if own == "/tmp" else "the machine's",
    "descriptors": names("/proc/self/fd"),
    "processes": [name for name in names("/proc") if name.isdigit() or not numbered],
    "process": os.getpid() if numbered else "the machine's",
    "environment": sorted((name, settled(value)) for name, value in os.environ.items()),
    "limits": [limit(kind) for kind in range(16)],
    "priority": (os.getpriority(0, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))),
    "umask": os.umask(0o022),
    "host": os.uname()[:2],
    "memory": {kind: lines(f"/proc/sysvipc/{kind}") for kind in ("shm", "msg", "sem")},
    "mounts": [re.sub("[ug]id=[0-9]+", "", line) for line in lines("/proc/self/mounts")],
    "sockets": lines("/proc/net/unix")[1:],
    "user": users,
    "status": {key: status.get(key) for key in (
        "TracerPid", "Threads", "SigQ", "SigBlk", "SigIgn", "CapEff", "CapBnd", "Seccomp", "NoNewPrivs", "Umask")},
    "oom": lines("/proc/self/oom_score_adj"),
    "path": [settled(path) for path in sys.path],
}
children = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    children.append(os.waitpid(pid, 0)[1])
facts["children"] = children
facts["kept"] = len(b"x" * 2**26)
kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
with open("own", "wb") as file:
    facts["written"] = file.write(bytes(2**23))
for key, value in facts.items():
    sys.stderr.write(f"{key}: {value}\\n")
raise SystemExit(3)
"""
"""Ends with status 3, since the output of a program that passed is not kept."""
