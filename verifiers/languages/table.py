"""The languages of programs on standard input and output: one entry each, and nothing about a language elsewhere.

A language is offered only where its self-test passes: a program of its own that gives back the line it reads.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

PYTHON = "python"
"""The one language that a warm interpreter runs, without a compiler and without starting a program anew."""
SELF_TEST_INPUT = "ready 7\n"
"""What every self-test reads, and writes again."""


@dataclass(frozen=True)
class Language:
    """How programs of one language are compiled and run.

    In command lines `{source}` is the name of the source file, `{stem}` that without its ending, and `{memory_mb}`
    the memory limit.
    """

    name: str
    """As tasks name it."""
    tags: tuple[str, ...]
    """Other names: of fenced blocks, and of what other services call it."""
    file_name: str
    """Of the source; a class that must be called like its file names it itself (`class_pattern`)."""
    run: tuple[str, ...]
    """Command line that runs the program."""
    probe: tuple[str, ...]
    """Command line that prints the version."""
    self_test: str
    """A program that writes the line it reads."""
    install: str
    """How to get it on Debian."""
    build: tuple[tuple[str, ...], ...] = ()
    """Command lines that make the artifact, in order; none: the source is what is run."""
    artifact: str = ""
    """The file that compiling gives; empty: there is none."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it needs beside a path and a home."""
    class_pattern: str = ""
    """Finds the class that the source's file must be named after, where a language has such a rule."""
    least_processes: int = 1
    """Threads that its runtime starts by itself, with the program's own."""
    runtime_mb: int = 0
    """Memory that its runtime takes by itself, allowed beside the task's limit."""
    out_of_memory: tuple[bytes, ...] = ()
    """What its runtime writes to standard error when the program is out of memory."""

    def source_name(self, source: str) -> str:
        """Return the name of the file that a source is to lie in."""
        found = re.search(self.class_pattern, source, re.MULTILINE) if self.class_pattern else None
        if found is None:
            return self.file_name
        return f"{found[1]}.{self.file_name.rpartition('.')[2]}"

    def command(self, line: tuple[str, ...], source_name: str, memory_mb: int = 0) -> tuple[str, ...]:
        """Return a command line with its places filled."""
        stem = source_name.rpartition(".")[0]
        return tuple(word.format(source=source_name, stem=stem, memory_mb=memory_mb) for word in line)


_C_LINE = ("-O2", "-w", "-fdiagnostics-color=never", "-fmax-errors=20", "{source}", "-o", "main")
_LANGUAGES = (
    Language(
        PYTHON, ("py", "python3", "pypy", "pypy3"), "main.py", ("python3", "{source}"), ("python3", "--version"),
        "print(input())\n", "apt-get install python3",
    ),
    Language(
        "c", ("gcc", "c11", "c17"), "main.c", ("./main",), ("gcc", "--version"),
        '#include <stdio.h>\n'
        'int main(void) { char s[99]; if (!fgets(s, 99, stdin)) return 1; return fputs(s, stdout) < 0; }\n',
        "apt-get install gcc libc6-dev",
        build=(("gcc", "-std=gnu17", *_C_LINE, "-lm"),), artifact="main",
    ),
    Language(
        "cpp", ("c++", "cc", "cxx", "g++", "c++17", "cpp17", "c++20", "cpp20"), "main.cpp", ("./main",),
        ("g++", "--version"),
        "#include <iostream>\n#include <string>\n"
        "int main() { std::string s; std::getline(std::cin, s); std::cout << s << std::endl; }\n",
        "apt-get install g++",
        build=(("g++", "-std=gnu++20", *_C_LINE),), artifact="main",
    ),
    Language(
        "javascript", ("js", "node", "nodejs"), "main.js",
        ("node", "--stack-size=16000", "--max-old-space-size={memory_mb}", "{source}"), ("node", "--version"),
        'process.stdout.write(require("fs").readFileSync(0, "utf8"));\n', "apt-get install nodejs",
        least_processes=16, runtime_mb=64, out_of_memory=(b"JavaScript heap out of memory",),
    ),
    Language(
        "typescript", ("ts",), "main.ts",
        ("node", "--stack-size=16000", "--max-old-space-size={memory_mb}", "{stem}.js"), ("tsc", "--version"),
        'const line: string = require("fs").readFileSync(0, "utf8");\nprocess.stdout.write(line);\n',
        "apt-get install nodejs npm && npm install --global typescript",
        build=((
            "tsc", "--noCheck", "--target", "es2022", "--module", "commonjs", "--pretty", "false", "{source}",
        ),),
        artifact="{stem}.js", least_processes=16, runtime_mb=64, out_of_memory=(b"JavaScript heap out of memory",),
    ),
    Language(
        "java", ("java17", "java21"), "Main.java",
        (
            "java", "-Xmx{memory_mb}m", "-Xss64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
            "-cp", "main.jar", "{stem}",
        ),
        ("javac", "-version"),
        "import java.util.Scanner;\npublic class Main {\n"
        "    public static void main(String[] a) { System.out.println(new Scanner(System.in).nextLine()); }\n}\n",
        "apt-get install default-jdk-headless",
        build=(
            ("javac", "-encoding", "UTF-8", "-nowarn", "-d", "classes", "{source}"),
            ("jar", "--create", "--file", "main.jar", "-C", "classes", "."),
        ),
        artifact="main.jar", class_pattern=r"^[ \t]*public\s+(?:final\s+|abstract\s+)*class\s+(\w+)",
        least_processes=40, runtime_mb=128, out_of_memory=(b"java.lang.OutOfMemoryError",),
    ),
    Language(
        "go", ("golang",), "main.go", ("./main",), ("go", "version"),
        'package main\n\nimport (\n\t"bufio"\n\t"fmt"\n\t"os"\n)\n\nfunc main() {\n'
        '\tline, _ := bufio.NewReader(os.Stdin).ReadString(\'\\n\')\n\tfmt.Print(line)\n}\n',
        "apt-get install golang-go",
        build=(("go", "build", "-o", "main", "{source}"),), artifact="main",
        environment={"GO111MODULE": "off", "GOTOOLCHAIN": "local"},
        least_processes=16, runtime_mb=16, out_of_memory=(b"runtime: out of memory",),
    ),
    Language(
        "rust", ("rs",), "main.rs", ("./main",), ("rustc", "--version"),
        "use std::io;\n"
        "fn main() { let mut s = String::new(); io::stdin().read_line(&mut s).unwrap(); print!(\"{}\", s); }\n",
        "apt-get install rustc",
        build=((
            "rustc", "--edition", "2021", "-O", "--cap-lints", "allow", "--color", "never", "{source}", "-o", "main",
        ),),
        artifact="main",
    ),
    Language(
        "bash", ("sh", "shell"), "main.sh", ("bash", "{source}"), ("bash", "--version"),
        'read -r line\nprintf "%s\\n" "$line"\n', "apt-get install bash",
    ),
)  # fmt: skip

LANGUAGES: Mapping[str, Language] = {language.name: language for language in _LANGUAGES}
"""Every language by its name."""
_BY_TAG = {tag: language for language in _LANGUAGES for tag in (language.name, *language.tags)}


def find_language(name: str) -> Language | None:
    """Return the language that a name or a tag means, in any case; None if there is none."""
    return _BY_TAG.get(name.strip().lower())
