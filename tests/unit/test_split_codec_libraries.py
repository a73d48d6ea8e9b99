"""sympy expressions and networkx graphs as bytes."""

from typing import Any  # values of every type cross

import pytest
from split_values import codec, extension

from assay.verifiers.split.codec import Codec
from assay.verifiers.split.wire import Code, ProtocolError

__all__ = ["codec"]

numpy = pytest.importorskip("numpy")


def test_expressions_cross_by_value(codec: Codec) -> None:
    """sympy expressions come back structurally equal, with the assumptions of their symbols."""
    sympy = pytest.importorskip("sympy")
    x, p = sympy.Symbol("x"), sympy.Symbol("p", positive=True)
    f = sympy.Function("f")
    expressions = [
        x**2 + 2 * x * p - sympy.Rational(1, 3), sympy.sqrt(p**2), sympy.sin(x) / sympy.pi, sympy.Float("0.1", 30),
        sympy.Matrix([[1, x], [0, 2]]), sympy.Eq(x, 2), sympy.FiniteSet(1, x), sympy.Integral(f(x), (x, 0, sympy.oo)),
        sympy.I, sympy.true, sympy.Piecewise((x, x > 0), (0, True)), sympy.Interval(0, 1), sympy.Derivative(f(x), x),
    ]  # fmt: skip

    back = codec.unpack(codec.pack(expressions))

    assert back == expressions
    assert [type(item) for item in back] == [type(item) for item in expressions]


EVALUATED = [
    ["call", "sympify", ["__import__('os')"]], ["call", "Integer", ["5"]], ["call", "Symbol", ["x"]],
    ["call", "Add", ["x"]],
    ["symbol", 5, {}], ["symbol", "x", {"positive": "yes"}], ["function", "f(", []], ["constant", "core"],
    ["matrix", "Basic", 1, 1, []], ["float", ["0"], 5], ["call", "Str", []], [],
]  # fmt: skip


@pytest.mark.parametrize("parts", EVALUATED)
def test_sympy_is_given_no_text_to_evaluate(codec: Codec, parts: list[Any]) -> None:
    """Descriptions of expressions that hold anything but expressions are refused."""
    pytest.importorskip("sympy")

    with pytest.raises(ProtocolError):
        codec.unpack(extension(Code.SYMBOLIC, codec.pack(parts)))


def test_networks_cross_by_value(codec: Codec) -> None:
    """networkx graphs come back with kind, nodes, edges and attributes."""
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiDiGraph(name="g")
    graph.add_node((1, 2), colour="red")
    graph.add_edge("a", "b", weight=1.5)
    graph.add_edge("a", "b", weight=2.5)

    back = codec.unpack(codec.pack(graph))

    assert type(back) is networkx.MultiDiGraph
    assert networkx.utils.graphs_equal(back, graph)
