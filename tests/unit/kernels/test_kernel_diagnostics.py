"""What may be shown of what compilers print (gcc 12.2, nvcc 13.0)."""

from assay.verifiers.kernels.diagnostics import clean, foreign_files

FOLDERS = ("/usr/include/", "/usr/lib/gcc/", "/usr/local/cuda-13.0/")


def shown(text: str) -> str:
    """What becomes of a text that was kept whole."""
    return clean(text.encode(), b"", 0, FOLDERS)


def test_words_about_the_source_are_kept() -> None:
    """Place, kind and text of an error."""
    text = "kernel.c: In function 'f':\nkernel.c:3:5: error: expected ';' before 'return'"

    assert shown(text) == text


def test_text_of_another_file_is_left_out() -> None:
    """What gcc says about a file outside the toolchain quotes that file."""
    text = (
        "In file included from kernel.c:1:\n/etc/passwd:1:5: error: expected '=' before ':' token\n"
        "    1 | root:x:0:0:root:/root:/bin/bash\n      |     ^\nkernel.c:9:1: error: expected '}' at end of input"
    )

    said = shown(text)

    assert "root" not in said
    assert "passwd" not in said
    assert "kernel.c:9:1" in said


def test_lines_that_nvcc_quotes_from_another_file_are_left_out() -> None:
    """nvcc writes the place in parentheses, and the line below it."""
    said = shown(
        '/etc/passwd(1): error: identifier "root" is undefined\n  root:x:0:0\n  ^\n\n../../x(1): error: secret\n'
    )

    assert "root" not in said
    assert "secret" not in said


def test_a_header_of_the_toolchain_is_named_without_its_folder() -> None:
    """Errors within its templates are about the source that used them."""
    said = shown("/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/mma.h(99): error: no instance matches")

    assert said == "mma.h(99): error: no instance matches"


def test_folders_are_cut_from_paths_within_a_message() -> None:
    """A message tells no place of the machine."""
    assert shown("collect2: error: /usr/bin/ld returned 1") == "collect2: error: ld returned 1"


def test_long_words_are_cut_in_the_middle() -> None:
    """Head and tail stay, and the length is bounded."""
    said = clean(b"kernel.c:1:1: error: first\n" * 5000, b"rest\nkernel.c:2:1: error: last", 999, FOLDERS)

    assert len(said) < 5000
    assert said.startswith("kernel.c:1:1: error: first")
    assert said.endswith("kernel.c:2:1: error: last")


def test_the_first_lines_of_a_tail_may_be_another_files() -> None:
    """A tail that was cut off from its place is not shown until a place is told."""
    assert "root" not in clean(b"", b"root:x:0:0\nkernel.c:2:1: error: last", 10, FOLDERS)


def test_control_characters_are_taken_out() -> None:
    """A source can have anything printed."""
    assert shown('kernel.c:1:2: error: #error "\x1b[31mred\x07"') == 'kernel.c:1:2: error: #error "red"'


def test_only_headers_of_the_toolchain_and_the_source_may_be_read() -> None:
    """Make rules list what was read; paths are normalised first."""
    rule = (
        b"kernel.s: kernel.c /usr/include/math.h \\\n /usr/include/../../etc/passwd \\\n"
        b" /usr/local/cuda-13.0/bin/../targets/x/include/mma.h /work/a\\ b.h ../x\n"
    )

    assert foreign_files([rule], FOLDERS) == ["passwd", "a b.h", "x"]


def test_a_rule_of_the_source_alone_names_nothing_strange() -> None:
    """Also where there is nothing after it, or no rule."""
    assert foreign_files([b"kernel.s: kernel.c\n", b"", b"kernel.o: \\\n kernel.s\n"], FOLDERS) == []
