"""The languages of programs on standard input and output: one entry each, and nothing about a language elsewhere.

A language is offered only where its self-test passes: a program of its own that gives back the line it reads.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.sandboxes.interface import INTERPRETER_MB
from assay.verifiers.languages import drivers
from assay.verifiers.languages.java_source import Names, names_of_java

PYTHON = "python"
"""The one language that a warm interpreter runs, without a compiler and without starting a program anew."""
SELF_TEST_INPUT = "ready 7\n"
"""What every self-test reads, and writes again."""


@dataclass(frozen=True)
class Language:
    """How programs of one language are compiled and run.

    In command lines `{source}` is the name of the source file, `{stem}` that without its ending, `{entry}` where the
    program begins, and `{heap_mb}` the largest heap.
    """

    name: str
    """As tasks name it."""
    tags: tuple[str, ...]
    """Other names: of fenced blocks, and of what other services call it."""
    file_name: str
    """Of the source, unless `read_names` says otherwise."""
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
    older: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """What is tried in place of `build`, in order, where that refuses a source: earlier editions of the language."""
    artifact: str = ""
    """The file that compiling gives; empty: there is none."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it needs beside a path and a home."""
    unsettled: str = ""
    """Finds what may make a source a program of another kind; `settle` then says which, in a file beside it."""
    settle: tuple[str, ...] = ()
    """Command line that writes `settled_in`; it only reads the source."""
    settled_in: str = ""
    """The file that tells what kind of program a source is."""
    read_names: Callable[[str], Names] | None = None
    """Reads in a source what its file must be called and where it begins, where a language has such rules."""
    least_processes: int = 1
    """Threads that its runtime starts by itself, with the program's own."""
    runtime_mb: int = 0
    """Memory that its runtime takes by itself, allowed beside the task's limit."""
    least_heap_mb: int = 0
    """The smallest heap (`{heap_mb}`) with which its runtime works; a limit below it is kept by the sum of both."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Files of ours that `run` names, by name."""
    driver: str = ""
    """What calls one of its functions (`drivers`); empty where functions are not called."""
    last_line: bytes = b""
    """How the line begins that its runtime writes to standard error after an error's own words and trace."""
    out_of_memory: tuple[bytes, ...] = ()
    """What its runtime writes to standard error when the program is out of memory."""
    scratch: str = ""
    """The folder in which its compiler works; empty: none."""
    links: bool = False
    """Whether its compiler makes one program of several sources."""

    @property
    def own_files(self) -> frozenset[str]:
        """Names in a program's folder that are the program's own, or its compiler's: no others may lie there."""
        (artifact,) = self.command((self.artifact,), Names(self.file_name))
        return frozenset({self.file_name, artifact, self.scratch, *self.beside} - {""})

    def names(self, source: str) -> Names:
        """Return what the parts of a program are called."""
        return self.read_names(source) if self.read_names else Names(self.file_name)

    def command(
        self, line: tuple[str, ...], names: Names, heap_mb: int = 0, linked: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """Return a command line with its places filled; `linked` names sources that stand beside the program's."""
        places = {"source": names.source, "stem": names.stem, "entry": names.entry, "heap_mb": str(heap_mb)}
        words = [word for one in line for word in ((one, *linked) if one == _SOURCE else (one,))]
        return tuple(re.sub(r"\{(\w+)\}", lambda found: places.get(found[1], found[0]), word) for word in words)


_SOURCE = "{source}"
_C_LINE = ("-O2", "-w", "-fdiagnostics-color=never", "-fmax-errors=20", "{source}", "-o", "main")
_RUST_LINE = ("-O", "--cap-lints", "allow", "--color", "never", "{source}", "-o", "main")
_NODE_LINE = ("node", "--stack-size=16000", "--max-old-space-size={heap_mb}", "-r", "./.streams.cjs")
_NODE_STREAMS = {
    ".streams.cjs": "for (const one of [process.stdout, process.stderr]) one._handle?.setBlocking?.(true);\n"
}
"""What is written is written, as its manual promises: `process.exit` would leave out what waits for a reader."""
_NODE_PATH = "/usr/local/lib/node_modules:/usr/lib/node_modules:/usr/share/nodejs"
_JAVASCRIPT_AWAITS = """
const fs = require("fs"), vm = require("vm");
const fault = (parse) => { try { parse(); return ""; } catch (error) { return error.message; } };
const read = (text) => {
  const asScript = fault(() => vm.compileFunction(text, ["exports", "require", "module", "__filename", "__dirname"]));
  const inAsync = fault(() => new vm.Script("async () => {\\n" + text + "\\n}"));
  const inBlock = fault(() => new vm.Script("class Block { static {\\n" + text + "\\n} }"));
  const awaits = inAsync === "" && (asScript !== "" || inBlock === "Unexpected reserved word");
  return {asScript, inAsync, awaits};
};
"""  # as Node does from version 22.7 on; a static block tells `await (x)` at the top from the call of a function
_JAVASCRIPT_KIND = """
const [source, kind] = process.argv.slice(1);
const ofModules = (told) => /^(Cannot use (import statement|'import\\.meta')|Unexpected token 'export')/.test(told);
const {asScript, inAsync, awaits} = read(fs.readFileSync(source, "utf8").replace(/^#!.*/, ""));
const type = ofModules(asScript) || ofModules(inAsync) || awaits ? "module" : "commonjs";
fs.writeFileSync(kind, JSON.stringify({type}));
"""
_TYPESCRIPT = """
const [source, made] = process.argv.slice(1), ts = require("typescript");
const plain = (text) => text.replace(/^#!.*/, "");
const inAsyncFunction = (text) => read(plain(text)).awaits ? "(async () => {" + plain(text) + "\\n})();\\n" : text;
if (!ts.transpileModule) {
  const line = ["--noCheck", "--target", "es2022", "--module", "commonjs", "--esModuleInterop", "--pretty", "false"];
  const {status} = require("child_process").spawnSync("tsc", [...line, source], {stdio: "inherit"});
  if (status === 0) fs.writeFileSync(made, inAsyncFunction(fs.readFileSync(made, "utf8")));
  process.exit(status ?? 1);
}
const compilerOptions = {target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS, esModuleInterop: true};
const asked = {fileName: source, reportDiagnostics: true, compilerOptions};
const {outputText, diagnostics} = ts.transpileModule(fs.readFileSync(source, "utf8"), asked);
fs.writeFileSync(made, inAsyncFunction(outputText));
const host = {getCurrentDirectory: () => "", getNewLine: () => "\\n", getCanonicalFileName: (name) => name};
process.stdout.write(ts.formatDiagnostics(diagnostics, host), () => process.exit(diagnostics.length ? 1 : 0));
"""  # the compiler as a library, which does not look at types; it is no library any longer from version 7 on
_LANGUAGES = (
    Language(
        PYTHON, ("py", "python3", "pypy", "pypy3"), "main.py", ("python3", "{source}"), ("python3", "--version"),
        "print(input())\n", "apt-get install python3", runtime_mb=INTERPRETER_MB,
    ),
    Language(
        "c", ("gcc", "c99", "c11", "c17", "c23"), "main.c", ("./main",), ("gcc", "--version"),
        '#include <stdio.h>\n'
        'int main(void) { char s[99]; if (!fgets(s, 99, stdin)) return 1; return fputs(s, stdout) < 0; }\n',
        "apt-get install gcc libc6-dev",
        build=(("gcc", "-std=gnu17", *_C_LINE, "-lm"),), artifact="main", runtime_mb=4, links=True,
    ),
    Language(
        "cpp",
        ("c++", "cc", "cxx", "g++", *(f"{name}{year}" for name in ("c++", "cpp") for year in (11, 14, 17, 20, 23))),
        "main.cpp", ("./main",), ("g++", "--version"),
        "#include <iostream>\n#include <string>\n"
        "int main() { std::string s; std::getline(std::cin, s); std::cout << s << std::endl; }\n",
        "apt-get install g++",
        build=(("g++", "-std=gnu++20", *_C_LINE),),
        older=tuple((("g++", f"-std={one}", *_C_LINE),) for one in ("gnu++17", "gnu++11")),
        artifact="main", runtime_mb=4, links=True,
    ),
    Language(
        "javascript", ("js", "node", "nodejs", "mjs", "cjs", "jsx"), "main.js",
        (*_NODE_LINE, "{source}"), ("node", "--version"),
        'process.stdout.write(require("fs").readFileSync(0, "utf8"));\n', "apt-get install nodejs",
        unsettled=r"\b(?:await\b|export\b|import\b(?!\s*\())",
        settle=("node", "-e", _JAVASCRIPT_AWAITS + _JAVASCRIPT_KIND, "{source}", "package.json"),
        settled_in="package.json",
        least_processes=16, runtime_mb=64, least_heap_mb=16, beside=_NODE_STREAMS, driver=drivers.JAVASCRIPT,
        last_line=b"Node.js v", out_of_memory=(b"JavaScript heap out of memory",),
    ),
    Language(
        "typescript", ("ts", "mts", "cts", "tsx"), "main.ts",
        (*_NODE_LINE, "{stem}.js"), ("tsc", "--version"),
        'const line: string = require("fs").readFileSync(0, "utf8");\nprocess.stdout.write(line);\n',
        "apt-get install nodejs node-typescript",
        build=(("node", "-e", _JAVASCRIPT_AWAITS + _TYPESCRIPT, "{source}", "{stem}.js"),),
        artifact="{stem}.js", environment={"NODE_PATH": _NODE_PATH}, least_processes=16, runtime_mb=64,
        least_heap_mb=16, beside=_NODE_STREAMS, driver=drivers.JAVASCRIPT, last_line=b"Node.js v",
        out_of_memory=(b"JavaScript heap out of memory",),
    ),
    Language(
        "java", ("java8", "java11", "java17", "java21"), "Main.java",
        (
            "java", "-Xmx{heap_mb}m", "-Xss64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
            "-cp", "main.jar", "{entry}",
        ),
        ("javac", "-version"),
        "import java.util.Scanner;\npublic class Main {\n"
        "    public static void main(String[] a) { System.out.println(new Scanner(System.in).nextLine()); }\n}\n",
        "apt-get install default-jdk-headless",
        build=(
            ("javac", "-encoding", "UTF-8", "-nowarn", "-d", "classes", "{source}"),
            ("jar", "--create", "--file", "main.jar", "-C", "classes", "."),
        ),
        artifact="main.jar", scratch="classes", read_names=names_of_java,
        least_processes=40, runtime_mb=128, least_heap_mb=16, out_of_memory=(b"java.lang.OutOfMemoryError",),
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
        build=(("rustc", "--edition", "2021", *_RUST_LINE),),
        older=((("rustc", "--edition", "2018", *_RUST_LINE),), (("rustc", "--edition", "2015", *_RUST_LINE),)),
        artifact="main", runtime_mb=4,
    ),
    Language(
        "bash", ("sh", "shell"), "main.sh", ("bash", "{source}"), ("bash", "--version"),
        'read -r line\nprintf "%s\\n" "$line"\n', "apt-get install bash", runtime_mb=8,
    ),
)  # fmt: skip

LANGUAGES: Mapping[str, Language] = {language.name: language for language in _LANGUAGES}
"""Every language by its name."""
_BY_TAG = {tag: language for language in _LANGUAGES for tag in (language.name, *language.tags)}


def find_language(name: str) -> Language | None:
    """Return the language that a name or a tag means, in any case; None if there is none."""
    return _BY_TAG.get(name.strip().lower())
