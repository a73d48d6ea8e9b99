"""Which file a Java source lies in, and which class is started."""

import pytest

from assay.verifiers.languages.java_source import names_of_java

MAIN = "public static void main(String[] a) { }"


@pytest.mark.parametrize(
    ("source", "file", "entry"),
    [
        (f"public class Main {{ {MAIN} }}", "Main.java", "Main"),
        (f"class Solution {{ {MAIN} }}", "Main.java", "Solution"),
        (f"package a.b;\npublic class C {{ {MAIN} }}", "C.java", "a.b.C"),
        (f"class Main {{\n  public class Node {{ }}\n  {MAIN}\n}}", "Main.java", "Main"),
        (f"class Helper {{ int main() {{ return 2; }} }}\nclass Prog {{ {MAIN} }}", "Main.java", "Prog"),
        (f"class Test {{ {MAIN} }}\nclass Main {{ {MAIN} }}", "Main.java", "Main"),
        (f"class Main {{ {MAIN} }}\npublic class Test {{ {MAIN} }}", "Test.java", "Test"),
        (f"public class Shape {{ }}\nclass Prog {{ {MAIN} }}", "Shape.java", "Prog"),
        (f"/*\npublic class Foo {{\n*/\npublic class Main {{ {MAIN} }}", "Main.java", "Main"),
        (f"// public class Foo\nclass Bar {{ {MAIN} }}", "Main.java", "Bar"),
        (f'class A {{ String s = "}} class B {{ static void main("; {MAIN} }}', "Main.java", "A"),
        (f"class A {{ char c = '{{', d = '\"'; {MAIN} }}", "Main.java", "A"),
        (f'class A {{ String s = """\n}} {{ {{ " class B\n"""; {MAIN} }}', "Main.java", "A"),
        (f"@Deprecated(Foo.class) public strictfp final class X {{ {MAIN} }}", "X.java", "X"),
        ("public interface Main { static void main(String[] a) { } }", "Main.java", "Main"),
        (f"public record R(int a) {{ {MAIN} }}", "R.java", "R"),
        (f"enum E {{ A {{ void f() {{ }} }}; {MAIN} }}", "Main.java", "E"),
        ("class A { void f() { } }", "Main.java", "Main"),
        ("public class B extends A { }", "B.java", "B"),
        ("no Java at all { } } ; '", "Main.java", "Main"),
        (f"public class {'N' * 300} {{ }}", "Main.java", "Main"),
        ("", "Main.java", "Main"),
    ],
)
def test_names_are_those_that_java_needs(source: str, file: str, entry: str) -> None:
    """A public class names its file; what has `main` is started, by its package too; else it is `Main`."""
    names = names_of_java(source)

    assert (names.source, names.entry) == (file, entry)


@pytest.mark.parametrize(
    "word",
    ["/*", '"""', '"', "'", "//", "{", "public class ", "class a ", "class a b ", "package a", "\\", "main ( "],
)
@pytest.mark.parametrize("before", ["", "class A { "])
def test_no_source_takes_longer_than_its_length(before: str, word: str) -> None:
    """None of these ends, and a source is as long as a completion may be: a quadratic reader would take hours."""
    names = names_of_java(before + word * (1_000_000 // len(word)))

    assert names.source.endswith(".java")
