"""What of a text may be the answer, for rules that look for one in a longer text."""

from typing import Literal

from assay.verifiers.extraction import without_reasoning
from assay.verifiers.rules.rule import RuleTask


class AnsweringTask(RuleTask):
    """Fields of every task whose answer is looked for in a text that may hold reasoning."""

    reasoning: Literal["dropped", "kept"] = "dropped"
    """Whether what stands in <think> or <thinking> may be the answer; dropped is also all that follows where that is
    not closed. Published profiles keep it."""

    def answering(self, text: str) -> str:
        """Return the part of a text in which the answer may stand."""
        return without_reasoning(text) if self.reasoning == "dropped" else text
