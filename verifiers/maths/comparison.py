"""Is an answer the gold, as a structure? Down to pairs of values, which `scalars` decides or leaves to the process.

The result is a list of alternatives: each is a tuple of pairs that must all be equal. An empty alternative means that
the two are equal; no alternative, that they differ.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Many
from dataclasses import dataclass
from itertools import islice, product
from typing import Literal

from assay.verifiers.maths.assignments import Assigned, alternatives_of_chain, assigned, record
from assay.verifiers.maths.building import invert, is_scalar, multiply
from assay.verifiers.maths.clocks import are_same_time
from assay.verifiers.maths.equations import equations_to_compare
from assay.verifiers.maths.exact import Effort
from assay.verifiers.maths.nodes import (
    Bracket,
    Grid,
    Node,
    Ratio,
    Relation,
    Sequence,
    Words,
)
from assay.verifiers.maths.pairing import perfect_matching
from assay.verifiers.maths.regions import NoRegion, Region, region_of
from assay.verifiers.maths.scalars import Decision, Pair, Tolerance, compare
from assay.verifiers.maths.shapes import flattened, is_inequality, is_relation, is_set_of_reals, items_of

Alternative = tuple[Pair, ...]
Alternatives = tuple[Alternative, ...]

EQUAL: Alternatives = ((),)
DIFFERENT: Alternatives = ()
_MOST_ITEMS = 64
_MOST_ALTERNATIVES = 8
_MOST_PAIRS = 200


@dataclass(frozen=True)
class Rules:
    """What a task says about structures."""

    tolerance: Tolerance
    order: Literal["auto", "ordered", "unordered"] = "auto"
    """`auto`: lists without brackets and sets are unordered, tuples are ordered."""
    equations: Literal["solutions", "literal"] = "solutions"
    vectors_are_tuples: bool = True
    inequalities_are_intervals: bool = True


def matches(gold: Node, answer: Node, rules: Rules) -> Alternatives:
    """Return what must hold for the answer to be the gold."""
    return _Matching(rules, Effort()).match(flattened(gold), flattened(answer))


@dataclass(frozen=True)
class _Matching:
    """One comparison."""

    rules: Rules
    effort: Effort

    def match(self, gold: Node, answer: Node) -> Alternatives:
        """Compare two nodes, relations first."""
        if gold == answer:
            return EQUAL
        gold_says, answer_says = assigned(gold), assigned(answer)
        if gold_says is not None and answer_says is not None:
            return self._assignments(gold_says, answer_says) or self._relations(gold, answer)
        if gold_says is not None and not is_relation(answer):
            return self.match(gold_says.value, answer) or self._records(gold, answer) or self._regions(gold, answer)
        if is_relation(gold):
            return self._relations(gold, answer) or self._records(gold, answer)
        if answer_says is not None:
            return self.match(gold, answer_says.value) or self._regions(gold, answer)
        if isinstance(answer, Relation) and not is_inequality(answer):
            return self._first(self.match(gold, value) for value in alternatives_of_chain(answer))
        return self._structures(gold, answer)

    def scalars(self, gold: Node, answer: Node) -> Alternatives:
        """Compare two values."""
        judged = compare(gold, answer, self.rules.tolerance, self.effort)
        if judged.decision is Decision.OPEN:
            assert judged.pair is not None
            return ((judged.pair,),)
        return EQUAL if judged.decision is Decision.EQUAL else DIFFERENT

    def _assignments(self, gold: Assigned, answer: Assigned) -> Alternatives:
        unnamed = isinstance(gold.name, Words) or isinstance(answer.name, Words)
        if gold.name == answer.name or unnamed or gold.is_function is not answer.is_function:
            return self.match(gold.value, answer.value)
        return DIFFERENT

    def _records(self, gold: Node, answer: Node) -> Alternatives:
        """Compare several named values: by name, or with a tuple in the order written or of the names."""
        gold_record, answer_record = record(gold), record(answer)
        if gold_record is not None and answer_record is not None:
            if gold_record.keys() != answer_record.keys():
                return DIFFERENT
            return self.all(self.match(value, answer_record[name]) for name, value in gold_record.items())
        named, other = (gold_record, answer) if gold_record is not None else (answer_record, gold)
        if named is None or not isinstance(other, Sequence) or len(other.items) != len(named):
            return DIFFERENT
        by_name = [value for _, value in sorted(named.items())]
        orders = [by_name, list(named.values())] if gold_record is not None else [by_name]
        if gold_record is not None:
            return self._first(self.all(map(self.match, order, other.items)) for order in orders)
        return self._first(self.all(map(self.match, other.items, order)) for order in orders)

    def _relations(self, gold: Node, answer: Node) -> Alternatives:
        regions = self._regions(gold, answer)
        if regions:
            return regions
        if isinstance(gold, Sequence) or isinstance(answer, Sequence):
            items = [node.items if isinstance(node, Sequence) else (node,) for node in (gold, answer)]
            both = all(is_relation(item) for item in (*items[0], *items[1]))
            return self._unordered(*items) if both and max(map(len, items)) > 1 else DIFFERENT
        if not isinstance(gold, Relation) or not isinstance(answer, Relation):
            return DIFFERENT
        pairs = equations_to_compare(gold, answer, literal=self.rules.equations == "literal")
        return self._first(self.all(self.scalars(*pair) for pair in option) for option in pairs)

    def _regions(self, gold: Node, answer: Node) -> Alternatives:
        """Compare two sets of real numbers, however they are written."""
        if not self.rules.inequalities_are_intervals and is_relation(gold) is not is_relation(answer):
            return DIFFERENT
        try:
            sets = region_of(gold), region_of(answer)
        except NoRegion:
            return DIFFERENT
        names = {part.variable for part in sets if part.variable}
        if len(names) > 1 or (sets[0].at, sets[0].between) != (sets[1].at, sets[1].between):
            return DIFFERENT
        return self._ends(*sets)

    def _ends(self, gold: Region, answer: Region) -> Alternatives:
        pairs = zip(gold.ends, answer.ends, strict=True)
        return self.all(self.scalars(one, other) for (_, one), (_, other) in pairs)

    def _structures(self, gold: Node, answer: Node) -> Alternatives:
        if is_scalar(gold) and is_scalar(answer):
            return self.scalars(gold, answer)
        if is_set_of_reals(gold) or is_set_of_reals(answer):
            return self._regions(gold, answer) or self._sequences_or_singles(gold, answer)
        match gold, answer:
            case Grid(), Grid():
                return self._grids(gold, answer)
            case (Grid(), Sequence()) | (Sequence(), Grid()):
                return self._vectors(gold, answer)
            case Ratio(), _:
                return self._ratios(gold, answer)
            case _, Ratio(parts) if len(parts) == 2 and is_scalar(gold):
                return self._quotient(gold, answer)
            case _:
                return self._sequences_or_singles(gold, answer)

    def _quotient(self, gold: Node, answer: Ratio) -> Alternatives:
        if answer.is_clock or not all(map(is_scalar, answer.parts)):
            return DIFFERENT
        return self.scalars(gold, multiply(answer.parts[0], invert(answer.parts[1])))

    def _sequences_or_singles(self, gold: Node, answer: Node) -> Alternatives:
        gold_items, answer_items = items_of(gold), items_of(answer)
        if gold_items is None or answer_items is None:
            return DIFFERENT
        if not isinstance(gold, Sequence) and not isinstance(answer, Sequence):
            return DIFFERENT
        how = self._order(gold, answer)
        if how is None:
            return DIFFERENT
        return (
            self._unordered(gold_items, answer_items) if how == "unordered" else self._ordered(gold_items, answer_items)
        )

    def _order(self, gold: Node, answer: Node) -> Literal["ordered", "unordered"] | None:
        """Return how the items of two sequences are compared; None if such brackets never mean the same."""
        gold_bracket = gold.bracket if isinstance(gold, Sequence) else Bracket.NONE
        answer_bracket = answer.bracket if isinstance(answer, Sequence) else Bracket.NONE
        tuples = (Bracket.ROUND, Bracket.SQUARE)
        if Bracket.CURLY in (gold_bracket, answer_bracket):
            if gold_bracket in tuples or answer_bracket in tuples:
                return None
            return "unordered"
        if self.rules.order != "auto":
            return self.rules.order
        if gold_bracket is Bracket.NONE:
            is_tuple = answer_bracket in tuples  # of which nothing counts once that is there twice
            return None if is_tuple and len(items_of(gold) or ()) != len(items_of(answer) or ()) else "unordered"
        of_two = isinstance(gold, Sequence) and len(gold.items) == 2
        if of_two and answer_bracket in tuples and gold_bracket is not answer_bracket:
            return None  # a closed interval is no pair
        return "ordered"

    def _ordered(self, gold: Many[Node], answer: Many[Node]) -> Alternatives:
        if len(gold) != len(answer) or len(gold) > _MOST_PAIRS:
            return DIFFERENT
        return self.all(map(self.match, gold, answer))

    def _unordered(self, gold: Many[Node], answer: Many[Node]) -> Alternatives:
        """Compare as sets: what occurs twice counts once."""
        items = [list(dict.fromkeys(gold)), list(dict.fromkeys(answer))]
        if len(items[0]) > _MOST_ITEMS or len(items[1]) > 2 * len(items[0]):
            return DIFFERENT
        golds, answers = map(self._distinct, items)
        if len(golds) != len(answers):
            return DIFFERENT
        table = [[self.match(one, other) for other in answers] for one in golds]
        costs = [[None if not options else int(options != EQUAL) for options in row] for row in table]
        matching = perfect_matching(costs)
        return DIFFERENT if matching is None else self.all(table[row][column] for row, column in enumerate(matching))

    def _distinct(self, items: Many[Node]) -> list[Node]:
        kept: list[Node] = []
        for item in items:
            if not any(self.match(one, item) == EQUAL for one in kept):
                kept.append(item)
        return kept

    def _grids(self, gold: Grid, answer: Grid) -> Alternatives:
        if gold.is_cases is not answer.is_cases or len(gold.rows) != len(answer.rows):
            return DIFFERENT
        if len(gold.rows[0]) != len(answer.rows[0]):
            return DIFFERENT
        if gold.is_cases:
            rows = [[Sequence(row, Bracket.ROUND) for row in grid.rows] for grid in (gold, answer)]
            return self._unordered(*rows)
        return self._ordered([cell for row in gold.rows for cell in row], [cell for row in answer.rows for cell in row])

    def _vectors(self, gold: Node, answer: Node) -> Alternatives:
        grid, other = (gold, answer) if isinstance(gold, Grid) else (answer, gold)
        assert isinstance(grid, Grid)
        assert isinstance(other, Sequence)
        cells = [cell for row in grid.rows for cell in row]
        is_vector = min(len(grid.rows), len(grid.rows[0])) == 1 and not grid.is_cases
        if not self.rules.vectors_are_tuples or not is_vector or other.bracket not in (Bracket.ROUND, Bracket.SQUARE):
            return DIFFERENT
        return self._ordered(cells, other.items) if grid is gold else self._ordered(other.items, cells)

    def _ratios(self, gold: Ratio, answer: Node) -> Alternatives:
        if isinstance(answer, Ratio):
            if gold.is_clock and answer.is_clock:
                return EQUAL if are_same_time(gold, answer) else DIFFERENT
            golds, answers = gold.parts, answer.parts
            if len(golds) != len(answers) or not all(map(is_scalar, (*golds, *answers))):
                return DIFFERENT
            cross = range(1, len(golds))
            return self.all(
                self.scalars(multiply(golds[n - 1], answers[n]), multiply(golds[n], answers[n - 1])) for n in cross
            )
        if len(gold.parts) != 2 or gold.is_clock or not is_scalar(answer):
            return DIFFERENT
        return self.scalars(multiply(gold.parts[0], invert(gold.parts[1])), answer)

    def all(self, parts: Iterable[Alternatives]) -> Alternatives:
        """Return what must hold for all of several matches."""
        found: Alternatives = EQUAL
        for part in parts:
            if not part:
                return DIFFERENT
            joined = (one + other for one, other in islice(product(found, part), _MOST_ALTERNATIVES))
            found = (
                EQUAL if found == part == EQUAL else tuple(option for option in joined if len(option) <= _MOST_PAIRS)
            )
        return found

    def _first(self, options: Iterable[Alternatives]) -> Alternatives:
        """Return what must hold for one of several matches."""
        found: list[Alternative] = []
        for option in options:
            if () in option:
                return EQUAL
            found.extend(option)
        return tuple(found[:_MOST_ALTERNATIVES])
