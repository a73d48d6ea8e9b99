"""Attacks on whatever answers on a network: the service's own neighbours first."""

from attack import Attack


def _stream(family: str, address: str, *, ask: str = "GET / HTTP/1.0\\r\\n\\r\\n", protocol: str = "0") -> str:
    return f"""
        import socket
        sock = socket.socket(socket.{family}, socket.SOCK_STREAM, {protocol})
        sock.settimeout(3)
        sock.connect({address})
        sock.sendall(b"{ask}")
        return sock.recv(100)
    """


def _family(number: int, kind: str, protocol: int = 0) -> str:
    return f"""
        import socket
        try:
            return socket.socket({number}, socket.{kind}, {protocol}).family
        except OSError as error:
            if error.errno in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT):
                raise Absent("the kernel has no such sockets")
            raise
    """


ATTACKS = (
    Attack("tcp to the API", _stream("AF_INET", "('127.0.0.1', WORLD['api'])")),
    Attack("tcp to any of the machine's addresses", _stream("AF_INET", "('0.0.0.0', WORLD['api'])")),
    Attack("mptcp to the API", _stream("AF_INET", "('127.0.0.1', WORLD['api'])", protocol="262")),
    Attack("tcp over ipv6 to the API", _stream("AF_INET6", "('::1', WORLD['api6'])")),
    Attack("tcp to Redis", _stream("AF_INET", "('127.0.0.1', WORLD['redis'])", ask="PING\\r\\n")),
    Attack("tcp to the metadata address", _stream("AF_INET", "('169.254.169.254', 80)")),
    Attack(
        "http to the metadata address",
        """
        import urllib.request
        return urllib.request.urlopen("http://169.254.169.254/latest/meta-data/", timeout=3).read()
        """,
    ),
    Attack(
        "udp to a loopback service",
        """
        import socket
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.settimeout(1)
        sock.sendto(b"hello", ("127.0.0.1", WORLD["udp"]))
        return sock.recv(100)
        """,
    ),
    Attack(
        "dns query by hand",
        """
        import socket
        query = b"ab\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x06secret\\x07example\\x00\\x00\\x01\\x00\\x01"
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.settimeout(1)
        sock.sendto(query, ("127.0.0.53", 53))
        return sock.recv(500)
        """,
    ),
    Attack(
        "dns query by the resolver",
        """
        import socket
        socket.getaddrinfo("secret.example", 80)
        """,
    ),
    Attack("an abstract unix socket", _stream("AF_UNIX", "WORLD['abstract'].replace('@', chr(0))")),
    Attack(
        "an abstract unix datagram socket",
        """
        import socket
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.sendto(b"hello", WORLD["abstract_datagram"].replace("@", chr(0)))
        return "sent"
        """,
    ),
    Attack("a unix socket file", _stream("AF_UNIX", "WORLD['socket_file']")),
    Attack(
        "a unix socket file through every root",
        """
        import socket
        for root in ("/proc/1/root", "/proc/self/root", f"/proc/{WORLD['neighbour']}/root", "/proc/self/cwd/../.."):
            for path in (WORLD["socket_file"], "/var/run/docker.sock", "/run/docker.sock"):
                sock = socket.socket(socket.AF_UNIX)
                sock.settimeout(1)
                try:
                    sock.connect(root + path)
                except OSError:
                    continue
                return root + path
        """,
    ),
    Attack(
        "descriptors it was not given",
        """
        import stat
        found = []
        for number in range(3, 1024):
            try:
                mode = os.fstat(number).st_mode
            except OSError:
                continue
            if stat.S_ISSOCK(mode):
                os.write(number, b"hello")
            if not stat.S_ISCHR(mode):
                found.append(number)
        return found
        """,
    ),
    Attack("raw socket", _family(2, "SOCK_RAW", 1), needs_root=True),
    Attack("packet socket", _family(17, "SOCK_RAW"), needs_root=True),
    Attack("vsock", _family(40, "SOCK_STREAM")),
    Attack("crypto socket", _family(38, "SOCK_SEQPACKET")),
    Attack("bluetooth socket", _family(31, "SOCK_RAW", 1)),
    Attack("can socket", _family(29, "SOCK_RAW", 1)),
    Attack("xdp socket", _family(44, "SOCK_RAW"), needs_root=True),
    Attack("tipc socket", _family(30, "SOCK_STREAM")),
    Attack(
        "netlink adds an address",
        """
        import socket, struct
        sock = socket.socket(16, socket.SOCK_RAW, 0)
        sock.settimeout(2)
        body = struct.pack("BBBBI", socket.AF_INET, 32, 0, 0, 1)
        for kind in (1, 2):
            body += struct.pack("HH4s", 8, kind, socket.inet_aton("127.9.9.9"))
        sock.send(struct.pack("IHHII", 16 + len(body), 20, 0x605, 1, 0) + body)
        answer = sock.recv(1000)
        code = -struct.unpack_from("i", answer, 16)[0]
        if code:
            raise OSError(code, os.strerror(code))
        return "address added"
        """,
        needs_root=True,
    ),
    Attack(
        "tables of other sockets",
        """
        for name in ("unix", "tcp", "udp", "netlink", "packet"):
            try:
                text = read(f"/proc/net/{name}").decode()
            except OSError:
                continue
            if WORLD["abstract"] in text or f":{WORLD['api']:04X} " in text:
                return name
        """,
    ),
    Attack(
        "sock_diag lists the machine's listeners",
        """
        import socket, struct
        sock = socket.socket(16, socket.SOCK_RAW, 4)
        sock.settimeout(2)
        body = struct.pack("BBBBI48x", socket.AF_INET, 6, 0, 0, 0xFFFFFFFF)
        sock.send(struct.pack("IHHII", 16 + len(body), 20, 0x301, 1, 0) + body)
        data = sock.recv(1 << 16)
        if struct.unpack_from("H", data, 4)[0] == 2:
            raise Absent("the kernel has no sock_diag for TCP")
        port = struct.pack(">H", WORLD["api"])
        return "found the API" if port in data else None
        """,
    ),
)
