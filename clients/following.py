"""Where a client stands in a stream of results, so that a cut connection loses and doubles nothing."""

import json

from assay.schema import Result


class Following:
    """Takes result lines, remembers the last `seq`, and says when the batch is complete.

    A batch's results are numbered 1, 2, … without gaps: it is complete once `seq` reaches its total.
    """

    def __init__(self, after: int) -> None:
        self.after = after

    def take(self, line: str) -> Result | None:
        """Return the line's result, or None for a line that is blank, cut short or was taken before."""
        if not line.strip():
            return None
        try:
            result = Result.model_validate(json.loads(line))  # pydantic's own reader refuses escaped lone surrogates
        except ValueError:
            return None  # the connection was cut within the line: it is asked for again
        if result.seq <= self.after:
            return None
        self.after = result.seq
        return result

    def is_complete(self, total: int) -> bool:
        """Say whether every one of `total` results was taken."""
        return self.after >= total
