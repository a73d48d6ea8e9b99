"""networkx graphs by value: nodes and edges with their attributes."""

import importlib
import sys
from typing import Any  # networkx is optional and only met at run time; nodes and attributes are of every type

from assay.verifiers.split.spread import check_spread
from assay.verifiers.split.wire import ProtocolError

_KINDS = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")


def is_network_type(kind: type) -> bool:
    """Say whether values of this exact type are graphs."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and any(kind is getattr(networkx, name, None) for name in _KINDS)


def parts_of(graph: Any) -> list[Any]:
    """Take a graph apart: kind, attributes, nodes, edges."""
    edges = graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges(data=True)
    return [type(graph).__name__, graph.graph, [list(node) for node in graph.nodes(data=True)], list(map(list, edges))]


def put_together(kind: Any, attributes: Any, nodes: Any, edges: Any) -> Any:
    """Make the graph of parts from `parts_of`. Raises ProtocolError and the usual decoding errors."""
    networkx = importlib.import_module("networkx")  # heavy, and only where graphs cross
    if kind not in _KINDS or type(attributes) is not dict:
        raise ProtocolError("a graph of an unknown kind")
    graph = getattr(networkx, kind)()
    fill(graph, attributes, nodes, edges)
    return graph


def fill(graph: Any, attributes: Any, nodes: Any, edges: Any) -> None:
    """Give a graph this content in place of its own."""
    check_spread([node for node, _ in nodes])
    graph.clear()
    graph.graph.update(attributes)
    graph.add_nodes_from((node, dict(data)) for node, data in nodes)
    if any(end not in graph for edge in edges for end in edge[:2]):
        raise ProtocolError("an edge of a node that is none")
    graph.add_edges_from(tuple(edge) for edge in edges)
