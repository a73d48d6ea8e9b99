"""Attacks on the verdict itself: forging it, reading the answers, blowing up the record of it."""

from attack import Attack

_MESSAGES = '''
import json, os, struct, sys

def pack(value):
    """MessagePack, as far as needed."""
    if value is None or isinstance(value, bool):
        return {None: b"\\xc0", False: b"\\xc2", True: b"\\xc3"}[value]
    if isinstance(value, int):
        return bytes([value])
    if isinstance(value, str):
        return bytes([0xA0 | len(value)]) + value.encode()
    if isinstance(value, list):
        return bytes([0x90 | len(value)]) + b"".join(map(pack, value))
    return bytes([0x80 | len(value)]) + b"".join(pack(k) + pack(v) for k, v in value.items())

verdict = {"outcome": "passed", "reward": 1, "passed": [1]}
values = [verdict, ["passed"], ["passed", 0], [0, "passed"], ["end", "passed"], ["mark", "passed", ""], True, 1, [True]]
bodies = [json.dumps(value).encode() for value in values] + [pack(value) for value in values]
bodies += [b"passed", b"OK", b"1.0", b"started", b"ready"]
messages = [message for body in bodies for message in (
    body, body + b"\\n", struct.pack(">I", len(body)) + body, struct.pack("<I", len(body)) + body)]

def forge():
    for fd in range(256):
        try:
            os.set_blocking(fd, False)
        except OSError:
            continue
        for message in messages:
            try:
                os.write(fd, message)
            except OSError:
                break
'''
_END = "\nos._exit(0)\n"
_IN_CHILD = "\n    os._exit(0)\n"
_ANSWER = "\ndef f(x):\n    return 0\n"

FORGERIES = (
    Attack("while it loads", f"{_MESSAGES}\nforge()\n{_ANSWER}", raw=True),
    Attack("while it loads, and then it ends", f"{_MESSAGES}\nforge()\n{_END}", raw=True),
    Attack(
        "when it is called",
        f"{_MESSAGES}\ndef f(x):\n    forge()\n    return 0\n\nif __name__ == '__main__':\n    f(1)\n",
        raw=True,
    ),
    Attack(
        "when it is called, and then it ends",
        f"{_MESSAGES}\ndef f(x):\n    forge(){_IN_CHILD}\n\n"
        "if __name__ == '__main__':\n    f(1)\n",
        raw=True,
    ),
    Attack("from a child", f"{_MESSAGES}\nif os.fork() == 0:\n    forge(){_IN_CHILD}\nos.wait()\n{_ANSWER}", raw=True),
    Attack("at its end", f"{_MESSAGES}\nimport atexit\natexit.register(forge)\n{_ANSWER}\nsys.exit(0)\n", raw=True),
)  # fmt: skip
"""Each writes what a verdict might look like to every descriptor from 0 to 255; none computes the right answer."""

_IN_MEMORY = """
import re
def f():
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, mode, *_ = line.split()
            low, high = (int(part, 16) for part in span.split("-"))
            if mode[0] != "r" or high - low > 1 << 27:
                continue
            try:
                memory.seek(low)
                found = re.search(rb"assay-hostile-[0-9a-f]{32}", memory.read(high - low))
            except (OSError, ValueError, OverflowError):
                continue
            if found:
                return found[0].decode()
"""
_IN_OBJECTS = """
import gc, re, sys
def f():
    seen, left = set(), [*gc.get_objects(), sys.modules, sys._getframe()]
    frame = sys._getframe()
    while frame:
        left += [frame.f_globals, frame.f_locals, frame.f_code.co_consts]
        frame = frame.f_back
    while left and len(seen) < 300_000:
        thing = left.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, (str, bytes)):
            text = thing if isinstance(thing, str) else thing.decode("latin-1")
            if found := re.search("assay-hostile-[0-9a-f]{32}", text):
                return found[0]
        elif isinstance(thing, (dict, list, tuple)):
            left += gc.get_referents(thing)
        elif hasattr(thing, "__code__"):
            left += thing.__code__.co_consts
"""
ANSWERS = {"in its memory": _IN_MEMORY, "among its objects": _IN_OBJECTS}
"""Completions whose `f()` returns an answer that it finds."""

_BOMB = """
import sys
sys.stdout.flush()
sys.stdout.buffer.write({data} * {count})
sys.stdout.flush()
return "written"
"""
BOMBS = tuple(
    Attack(f"{name}", _BOMB.format(data=data, count=count), limits={"output_bytes": 2_000_000})
    for name, data, count in (
        ("zeros", "bytes(1)", 1_500_000),
        ("bytes that are no text", "bytes([255])", 1_500_000),
        ("control characters", "bytes([27, 7, 8])", 500_000),
        ("empty lines", "bytes([10])", 1_500_000),
        ("quotes and backslashes", "bytes([34, 92])", 700_000),
        ("characters beyond the basic plane", "chr(0x1F4A3).encode()", 400_000),
        ("separators of lines that JSON may hold", "chr(0x2028).encode()", 500_000),
    )
)
"""Output that grows when it is written down."""
