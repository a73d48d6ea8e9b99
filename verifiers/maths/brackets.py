"""What stands in brackets: groups, tuples, sets, intervals, absolute values, matrices."""

from itertools import permutations

from assay.verifiers.maths.building import add, invert, multiply, negate
from assay.verifiers.maths.cursor import Cursor
from assay.verifiers.maths.listing import Listed, read_list
from assay.verifiers.maths.nodes import Bracket, Call, Function, Grid, Known, KnownSet, Node, Sequence, Span, Words
from assay.verifiers.maths.tokens import Kind, Unreadable

_ROUNDED = {"floor": Function.FLOOR, "ceil": Function.CEILING}
_MATRICES = frozenset({"matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array", "vmatrix"})
_MOST_ROWS_OF_DETERMINANT = 4
_CONDITIONS = frozenset({"if", "for", "when", "where", "otherwise", "else", "and"})


def bracketed(cursor: Cursor) -> Node:
    """Read brackets with what is in them; the opening one is the token to come. Raises Unreadable."""
    opening = cursor.expect(Kind.OPEN).text
    if opening == "{" and cursor.accept(Kind.CLOSE, "}"):
        return KnownSet(Known.EMPTY)
    listed = cursor.inside(lambda: read_list(cursor), in_set=opening == "{")
    if opening == "{" and (cursor.accept(Kind.OPERATOR, "mid", "|") or cursor.accept(Kind.COLON)):
        condition = cursor.inside(lambda: read_list(cursor), in_set=True)
        cursor.expect(Kind.CLOSE, "}")
        return _described(listed.items, condition.items)
    closing = cursor.expect(Kind.CLOSE).text
    if opening in _ROUNDED:
        if closing != opening or len(listed.items) != 1:
            raise Unreadable(f"a {opening} is not closed")
        return Call(_ROUNDED[opening], listed.items)
    return _enclosed(opening, listed.items, closing)


def _enclosed(opening: str, items: tuple[Node, ...], closing: str) -> Node:
    if {opening + closing} <= {"()", "[]"}:
        if len(items) == 1:
            return items[0]
        return Sequence(items, Bracket.ROUND if opening == "(" else Bracket.SQUARE)
    if opening + closing == "{}":
        return Sequence(items, Bracket.CURLY)
    if {opening, closing} <= {"(", ")", "[", "]"} and len(items) == 2:
        return Span(*items, is_left_open=opening == "(", is_right_open=closing == ")")
    raise Unreadable(f"{opening} is closed by {closing}")


def interval(node: Node) -> Node:
    """Return the set that brackets around two ends are where a member of it is named; other nodes as they are."""
    match node:
        case Sequence((low, high), Bracket.ROUND | Bracket.SQUARE as bracket):
            is_open = bracket is Bracket.ROUND
            return Span(low, high, is_left_open=is_open, is_right_open=is_open)
        case _:
            return node


def _described(items: tuple[Node, ...], conditions: tuple[Node, ...]) -> Node:
    """Return the set that a condition on one variable describes: the condition itself."""
    if len(items) != 1 or len(conditions) != 1:
        raise Unreadable("a set with several conditions is not read")
    return conditions[0]


def braces(cursor: Cursor) -> Node:
    """Read a group up to its end; its opening brace has been passed. Raises Unreadable."""

    def read() -> Node:
        listed = read_split(cursor)
        return listed.items[0] if len(listed.items) == 1 else Sequence(listed.items, Bracket.CURLY)

    node = cursor.inside(read)
    cursor.expect(Kind.GROUP_END)
    return node


def read_split(cursor: Cursor) -> Listed:
    """Read a list, or what `\\over` or `\\choose` splits in two: all up to the end of its group. Raises Unreadable."""
    listed = read_list(cursor)
    infix = cursor.accept(Kind.OPERATOR, "choose", "over")
    if infix is None:
        return listed
    right = cursor.below_bar(lambda: cursor.rules.item(cursor))
    if len(listed.items) != 1:
        raise Unreadable("a list stands where one value should")
    left = listed.items[0]
    node = Call(Function.BINOMIAL, (left, right)) if infix.text == "choose" else multiply(left, invert(right))
    return Listed((node,), listed.joint)


def between_bars(cursor: Cursor) -> Node:
    """Read an absolute value; its first bar is the token to come. Raises Unreadable."""
    cursor.expect(Kind.OPERATOR, "|")

    def read() -> Node:
        cursor.bars = 1
        return cursor.rules.item(cursor)

    node = cursor.inside(read)
    cursor.expect(Kind.OPERATOR, "|")
    return Call(Function.ABS, (node,))


def environment(cursor: Cursor) -> Node:
    """Read a matrix or a definition by cases. Raises Unreadable."""
    name = cursor.expect(Kind.BEGIN).text
    if name not in _MATRICES and name != "cases":
        raise Unreadable(f"the environment {name} is not known")
    rows = cursor.inside(lambda: _rows(cursor), in_grid=True)
    cursor.expect(Kind.END, name)
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise Unreadable("the rows differ in length")
    if name == "vmatrix":
        return _determinant(rows)
    return Grid(rows, is_cases=name == "cases")


def _rows(cursor: Cursor) -> tuple[tuple[Node, ...], ...]:
    rows: list[tuple[Node, ...]] = []
    while not cursor.sees(Kind.END):
        row = [_cell(cursor)]
        while cursor.accept(Kind.CELL):
            row.append(_cell(cursor))
        rows.append(tuple(row))
        if not cursor.accept(Kind.SEPARATOR, "row"):
            break
    return tuple(rows)


def _cell(cursor: Cursor) -> Node:
    while (
        cursor.next.kind in (Kind.WORD, Kind.UNIT, Kind.LETTER) and cursor.next.text.strip(" ,").lower() in _CONDITIONS
    ):
        word = cursor.take().text.strip(" ,").lower()
        if cursor.next.kind in (Kind.SEPARATOR, Kind.END):
            return Words(word)
    listed = read_list(cursor)
    return listed.items[0] if len(listed.items) == 1 else Sequence(listed.items)


def _determinant(rows: tuple[tuple[Node, ...], ...]) -> Node:
    size = len(rows)
    if size > _MOST_ROWS_OF_DETERMINANT or any(len(row) != size for row in rows):
        raise Unreadable("this determinant is not read")
    terms: list[Node] = []
    for order in permutations(range(size)):
        product = multiply(*(rows[row][column] for row, column in enumerate(order)))
        terms.append(product if _is_even(order) else negate(product))
    return add(*terms)


def _is_even(order: tuple[int, ...]) -> bool:
    inversions = sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))
    return inversions % 2 == 0
