"""Containers read from the completion: what a test changes in one is changed in the completion's own."""

from split_pair import Load, load

__all__ = ["load"]

SOURCE = """
HISTORY = []
CACHE = {"a": [1], "s": {2}}
def log(x):
    HISTORY.append(x)
    return list(HISTORY)
def cached(): return CACHE
def remember(): return list(remember.seen)
remember.seen = []
class Stack:
    made = []
    def __init__(self):
        self.items = []
        self.grid = [[0, 0], [0, 0]]
        Stack.made.append(1)
    def top(self): return self.items[-1]
    def rows(self): return self.grid
    @property
    def copied(self): return list(self.items)
"""


def test_changes_of_an_attribute_reach_the_object(load: Load) -> None:
    """`stack.items.append(3)` is what it says, nested containers included."""
    stack = load(SOURCE).Stack()

    stack.items.append(3)
    stack.items.extend([4, stack])
    stack.grid[1][0] = 7

    assert stack.top() is stack
    assert stack.items == [3, 4, stack]
    assert stack.rows() == [[0, 0], [7, 0]]


def test_changes_of_a_global_reach_the_module(load: Load) -> None:
    """`solution.HISTORY.clear()` starts afresh."""
    module = load(SOURCE)
    module.log(1)

    module.HISTORY.clear()
    module.CACHE["a"].append(2)
    module.CACHE["s"].add(3)
    module.CACHE["b"] = {}

    assert module.log(5) == [5]
    assert module.cached() == {"a": [1, 2], "s": {2, 3}, "b": {}}


def test_changes_of_attributes_of_functions_and_classes_reach_them(load: Load) -> None:
    """Wherever the attribute is."""
    module = load(SOURCE)
    module.Stack()

    module.remember.seen.append(4)
    module.Stack.made.clear()

    assert module.remember() == [4]
    assert module.Stack.made == []


def test_a_copy_that_a_property_returns_is_a_copy(load: Load) -> None:
    """Changing it changes nothing."""
    stack = load(SOURCE).Stack()

    stack.copied.append(1)

    assert stack.items == []


def test_what_was_read_before_the_completion_ran_is_history(load: Load) -> None:
    """A later change of it does not undo what the completion did meanwhile."""
    module = load(SOURCE)
    before = module.HISTORY
    module.log(1)

    before.append(2)

    assert module.log(3) == [1, 3]
