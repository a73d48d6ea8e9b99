"""The system-call filter, run by a small interpreter of classic BPF."""

import struct

import pytest

from assay.sandboxes.seccomp import (
    MACHINES,
    Machine,
    build_child_filter,
    build_fenced_child_filter,
    build_fenced_host_filter,
    build_host_filter,
    build_lone_filter,
    build_timed_filter,
)

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
CLONE_NEWUSER, CLONE_THREAD = 0x10000000, 0x00010000


def run(machine: Machine, program: bytes, number: int, *arguments: int, arch: int | None = None) -> int:
    """Return one filter's action for one system call."""
    data = struct.pack("IIQ6Q", number, arch or machine.audit_arch, 0, *(*arguments, *[0] * (6 - len(arguments))))
    code = [struct.unpack_from("HBBI", program, offset) for offset in range(0, len(program), 8)]
    accumulator = at = 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("I", data, value)[0]
        elif operation == 0x06:
            return int(value)
        else:
            truth = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}
            at += if_true if truth[operation] else if_false


def decide(machine: Machine, number: int, *arguments: int, arch: int | None = None, internet: bool = True) -> int:
    """Return what a child meets: the stricter of its host's filter and its own, as the kernel combines them."""
    programs = (build_host_filter(machine), build_child_filter(machine, internet=internet))
    actions = [run(machine, program, number, *arguments, arch=arch) for program in programs]
    return KILL if KILL in actions else min(actions)


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest) -> Machine:
    """Each known architecture."""
    return MACHINES[request.param]


def test_ordinary_calls_are_allowed(machine: Machine) -> None:
    """read (0 or 63) and a plain clone for a thread or process pass."""
    number = 0 if machine.audit_arch == 0xC000003E else 63

    actions = {
        decide(machine, number),
        decide(machine, machine.clone, CLONE_THREAD),
        decide(machine, machine.clone, 17),
    }

    assert actions == {ALLOW}


def test_every_dangerous_call_kills(machine: Machine) -> None:
    """Every call in the kill table ends the process."""
    actions = {name: decide(machine, number) for name, number in machine.kill.items()}

    assert set(actions.values()) == {KILL}, actions


def test_every_doubtful_call_is_refused(machine: Machine) -> None:
    """Every call in the refuse table answers EPERM."""
    actions = {name: decide(machine, number) for name, number in machine.refuse.items()}

    assert set(actions.values()) == {ERRNO | 1}, actions


def test_clone_may_not_make_namespaces(machine: Machine) -> None:
    """clone with a namespace flag kills; clone3 does not exist."""
    assert decide(machine, machine.clone, CLONE_NEWUSER) == KILL
    assert decide(machine, machine.clone3) == ERRNO | 38


@pytest.mark.parametrize(
    ("family", "allowed"), [(1, True), (2, True), (10, True), (16, True), (17, False), (40, False)]
)
def test_socket_families(machine: Machine, family: int, allowed: bool) -> None:
    """Only unix, inet, inet6 and netlink sockets can be made (no packet, no vsock)."""
    action = decide(machine, machine.socket, family)

    assert (action == ALLOW) is allowed


def test_terminal_injection_is_refused(machine: Machine) -> None:
    """ioctl(TIOCSTI) answers EPERM, other ioctls pass."""
    assert decide(machine, machine.ioctl, 1, 0x5412) == ERRNO | 1
    assert decide(machine, machine.ioctl, 1, 0x5413) == ALLOW


@pytest.mark.parametrize("command", [1024, 1026])
def test_files_are_neither_leased_nor_watched(machine: Machine, command: int) -> None:
    """fcntl(F_SETLEASE) and fcntl(F_NOTIFY) answer EPERM, other commands pass."""
    assert decide(machine, machine.fcntl, 3, command) == ERRNO | 1
    assert decide(machine, machine.fcntl, 3, 1030) == ALLOW


@pytest.mark.parametrize("advice", [9, 25])
def test_memory_of_others_is_neither_freed_nor_moved(machine: Machine, advice: int) -> None:
    """MADV_REMOVE and MADV_COLLAPSE change pages that other processes map too; MADV_DONTNEED, only one's own."""
    assert decide(machine, machine.madvise, 4096, 4096, advice) == ERRNO | 1
    assert decide(machine, machine.madvise, 4096, 4096, 4) == ALLOW


def test_foreign_architecture_kills(machine: Machine) -> None:
    """A call made through another ABI ends the process."""
    assert decide(machine, 1, arch=0x40000003) == KILL


def test_x32_numbers_kill(machine: Machine) -> None:
    """Numbers with the x32 bit end the process."""
    assert decide(machine, 0x40000000 | 59) == KILL


def test_without_internet_only_unix_sockets_are_made(machine: Machine) -> None:
    """A child that was given no network makes unix sockets and no inet ones."""
    assert decide(machine, machine.socket, 1, internet=False) == ALLOW
    assert decide(machine, machine.socket, 2, internet=False) == ERRNO | 97


def test_a_host_may_close_a_jail(machine: Machine) -> None:
    """The host's own filter lets a new child mount and unshare, and nothing else that kills."""
    host = build_host_filter(machine)

    allowed = [name for name, number in machine.kill.items() if run(machine, host, number) == ALLOW]

    assert sorted(allowed) == ["mount", "unshare"]
    assert run(machine, host, machine.clone, CLONE_NEWUSER) == KILL


def test_limits_are_for_oneself(machine: Machine) -> None:
    """prlimit64 works for the caller and is refused for anybody else."""
    for number in machine.self_only.values():
        assert decide(machine, number, 0) == ALLOW
        assert decide(machine, number, 1) == ERRNO | 1


def test_priority_and_cores_cannot_be_changed(machine: Machine) -> None:
    """Changes of priority, scheduling and cores report success and do nothing: nobody starves itself or moves."""
    actions = {name: decide(machine, number, 0) for name, number in machine.pretend.items()}

    assert set(actions.values()) == {ERRNO}, actions
    assert "sched_setaffinity" in actions


@pytest.mark.parametrize("option", [53, 62])
def test_what_else_a_core_does_is_not_chosen(machine: Machine, option: int) -> None:
    """PR_SET_SPECULATION_CTRL and PR_SCHED_CORE (it idles a core's other threads) are refused; PR_SET_NAME passes."""
    assert decide(machine, machine.prctl, option) == ERRNO | 1
    assert decide(machine, machine.prctl, 15) == ALLOW


@pytest.fixture(params=[True, False], ids=["user of its own", "shared user"])
def own_user(request: pytest.FixtureRequest) -> bool:
    """Whether children behind a fence have a user id that is theirs alone."""
    return bool(request.param)


def decide_fenced(machine: Machine, number: int, *arguments: int, own_user: bool) -> int:
    """Return what a child without namespaces meets."""
    programs = (build_fenced_host_filter(machine), build_fenced_child_filter(machine, own_user=own_user))
    actions = [run(machine, program, number, *arguments) for program in programs]
    return KILL if KILL in actions else min(actions)


def test_behind_a_fence_nothing_is_reached_by_name(machine: Machine, own_user: bool) -> None:
    """Calls that reach others by a shared name are refused, sockets of every family with them."""
    actions = {name: decide_fenced(machine, number, own_user=own_user) for name, number in machine.by_name.items()}

    assert set(actions.values()) == {ERRNO | 1}, actions
    assert {decide_fenced(machine, machine.socket, family, own_user=own_user) for family in (1, 2, 10, 16)} == {
        ERRNO | 97
    }


def test_behind_a_fence_pairs_keep_their_peer(machine: Machine, own_user: bool) -> None:
    """Pairs of streams and packets are made; datagrams, which could be sent elsewhere, are not."""
    cloexec = 0x80000

    assert decide_fenced(machine, machine.socketpair, 1, 1 | cloexec, own_user=own_user) == ALLOW
    assert decide_fenced(machine, machine.socketpair, 1, 5, own_user=own_user) == ALLOW
    assert decide_fenced(machine, machine.socketpair, 1, 2 | cloexec, own_user=own_user) == ERRNO | 97


def test_attributes_change_only_where_the_user_owns_nothing(machine: Machine, own_user: bool) -> None:
    """With the worker's own user id, changes of files' attributes are said to work and do nothing."""
    actions = {decide_fenced(machine, number, own_user=own_user) for number in machine.attributes.values()}

    assert actions == ({ALLOW} if own_user else {ERRNO})


def test_what_kills_in_namespaces_kills_behind_a_fence(machine: Machine, own_user: bool) -> None:
    """The kill table holds there too, `mount` and `unshare` included."""
    actions = {decide_fenced(machine, number, own_user=own_user) for number in machine.kill.values()}

    assert actions == {KILL}


def test_a_lone_process_starts_threads_and_nothing_else(machine: Machine) -> None:
    """It forks not, runs no program, looks into nobody, reaches nothing by a name and is scheduled as all."""
    lone = build_lone_filter(machine)
    forbidden = [*machine.start.values(), machine.kill["ptrace"], machine.kill["process_vm_writev"]]

    assert run(machine, lone, machine.clone, CLONE_THREAD | 0x100) == ALLOW
    assert run(machine, lone, machine.ioctl, 3) == ALLOW
    assert {run(machine, lone, number) for number in forbidden} == {ERRNO | 1}
    assert {run(machine, lone, number) for number in machine.by_name.values()} == {ERRNO | 1}
    assert run(machine, lone, machine.socket, 1) == ERRNO | 97
    assert {run(machine, lone, number) for number in machine.pretend.values()} == {ERRNO}
    assert {run(machine, lone, machine.prctl, option) for option in (53, 62)} == {ERRNO | 1}
    assert run(machine, lone, machine.clone, 17) == ERRNO | 1
    assert run(machine, lone, machine.clone3) == ERRNO | 38
    assert run(machine, lone, machine.clone, CLONE_THREAD, arch=1) == KILL


def test_a_timed_process_leaves_the_others_alone(machine: Machine) -> None:
    """No call has the kernel work for it while it is stopped; it sleeps, signals itself and asks the time as all do."""
    timed = build_timed_filter(machine)

    assert {run(machine, timed, number) for number in machine.later.values()} == {ERRNO | 1}
    assert {"setitimer", "timer_create", "timerfd_create", "io_setup"} <= machine.later.keys()
    assert run(machine, timed, machine.clone, CLONE_THREAD) == ALLOW
    assert run(machine, timed, machine.clone, CLONE_THREAD, arch=1) == KILL
