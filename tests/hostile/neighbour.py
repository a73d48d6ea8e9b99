"""The process that attacks aim at: it serves what a worker's neighbours serve, and holds secrets in every place.

Run as `python neighbour.py PLACES HITS SECRET`; prints one JSON line with its ports and ids, then serves. Everyone who
reaches one of its services is told so, and its name is written to the descriptor HITS.
"""

import contextlib
import ctypes
import json
import os
import selectors
import socket
import sys
from collections.abc import Callable

import watching

_libc = ctypes.CDLL(None, use_errno=True)
_IPC_CREATE = 0o1666
_BANNERS = {"redis": b"+PONG\r\n", "metadata": b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nrole"}


class Services:
    """Listeners that tell whom they serve."""

    def __init__(self, hits: int) -> None:
        self._hits = hits
        self._selector = selectors.DefaultSelector()

    def listen(self, name: str, sock: socket.socket) -> socket.socket:
        """Serve a stream socket: a banner for everyone."""
        sock.listen(16)
        self._selector.register(sock, selectors.EVENT_READ, lambda: self._accept(name, sock))
        return sock

    def receive(self, name: str, sock: socket.socket) -> socket.socket:
        """Serve a datagram socket: an answer for everyone."""
        self._selector.register(sock, selectors.EVENT_READ, lambda: self._answer(name, sock))
        return sock

    def serve(self) -> None:
        """Serve until killed."""
        while True:
            for key, _ in self._selector.select():
                action: Callable[[], None] = key.data
                with contextlib.suppress(OSError):  # a client that is gone already
                    action()

    def _hit(self, name: str) -> None:
        os.write(self._hits, f"{name}\n".encode())

    def _accept(self, name: str, sock: socket.socket) -> None:
        client, _ = sock.accept()
        client.sendall(_BANNERS.get(name, f"assay-{name}\n".encode()))
        if name != "api":  # every control inherits one connection to that: only what is said on it counts
            self._hit(name)
        self._selector.register(client, selectors.EVENT_READ, lambda: self._hear(name, client))

    def _hear(self, name: str, client: socket.socket) -> None:
        if client.recv(100):
            self._hit(name)
            return
        self._selector.unregister(client)
        client.close()

    def _answer(self, name: str, sock: socket.socket) -> None:
        data, sender = sock.recvfrom(2000)
        self._hit(name)
        answer = data[:2] + b"\x81\x83" + data[4:] if name == "dns" else f"assay-{name}".encode()
        if sender:
            sock.sendto(answer, sender)


def main() -> None:
    """Open everything, say where, serve."""
    places, hits, secret = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    watching.name_process("neighbour")
    _libc.prctl(4, 1, 0, 0, 0)  # dumpable, as a process is that never changed its user
    services = Services(hits)
    world = {**_open_internet(services, places), **_open_unix(services, places), **_open_shared_memory(secret, places)}
    kept = open(places["data"])  # noqa: SIM115 - a descriptor of a secret file, for those who look for descriptors
    buffer = ctypes.create_string_buffer(secret.encode())
    world |= {"address": ctypes.addressof(buffer), "descriptor": kept.fileno()}
    sys.stdout.write(json.dumps(world) + "\n")
    sys.stdout.flush()
    services.serve()


def _open_internet(services: Services, places: dict) -> dict:
    def bound(kind: int, host: str, port: int = 0) -> socket.socket:
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
        sock.bind((host, port))
        return sock

    stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
    world = {
        "api": services.listen("api", bound(stream, "0.0.0.0")).getsockname()[1],
        "redis": services.listen("redis", bound(stream, "127.0.0.1")).getsockname()[1],
        "udp": services.receive("udp", bound(datagram, "127.0.0.1")).getsockname()[1],
    }
    with contextlib.suppress(OSError):  # a machine without IPv6
        world["api6"] = services.listen("api6", bound(stream, "::1")).getsockname()[1]
    if places["apart"]:
        services.listen("metadata", bound(stream, "169.254.169.254", 80))
        services.receive("dns", bound(datagram, "0.0.0.0", 53))
    return world


def _open_unix(services: Services, places: dict) -> dict:
    for name, kind in (("abstract", socket.SOCK_STREAM), ("socket_file", socket.SOCK_STREAM)):
        sock = socket.socket(socket.AF_UNIX, kind)
        sock.bind(places[name].replace("@", "\0"))
        services.listen(name, sock)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(places["abstract_datagram"].replace("@", "\0"))
    services.receive("abstract_datagram", sock)
    return {}


def _open_shared_memory(secret: str, places: dict) -> dict:
    """Make one of each kind of shared memory, queue and semaphore, open to everybody."""
    with open(f"/dev/shm/{places['shm_name']}", "w") as file:
        file.write(secret)
    os.chmod(f"/dev/shm/{places['shm_name']}", 0o666)
    key = places["ipc_key"]
    segment = _libc.shmget(key, 4096, _IPC_CREATE)
    _libc.shmat.restype = ctypes.c_void_p
    address = _libc.shmat(segment, None, 0)
    ctypes.memmove(address, secret.encode(), len(secret))
    queue = _libc.msgget(key, _IPC_CREATE)
    message = ctypes.create_string_buffer((1).to_bytes(8, "little") + secret.encode())
    for _ in range(4):
        _libc.msgsnd(queue, message, ctypes.c_size_t(len(secret)), 0)
    semaphore = _libc.semget(key, 1, _IPC_CREATE)
    posix = _libc.mq_open(places["queue_name"].encode(), 0o102, 0o666, None)
    _libc.mq_send(posix, secret.encode(), ctypes.c_size_t(len(secret)), 0)
    return {"shm": segment, "msg": queue, "sem": semaphore, "mq": posix}


if __name__ == "__main__":
    main()
