"""Matching the items of two sets, one to one."""


def perfect_matching(costs: list[list[int | None]]) -> list[int] | None:
    """Return for each row a column of its own, cheap ones first; None is no match. None if some row gets none."""
    order = [
        [column for _, column in sorted((cost, column) for column, cost in enumerate(row) if cost is not None)]
        for row in costs
    ]
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column in order[row]:
            if column in seen:
                continue
            seen.add(column)
            if column not in taken or place(taken[column], seen):
                taken[column] = row
                return True
        return False

    if not all(place(row, set()) for row in range(len(costs))):
        return None
    columns = {row: column for column, row in taken.items()}
    return [columns[row] for row in range(len(costs))]
