"""Questions with one right answer: GSM8K, MATH, and problems of optimisation (NL4OPT, IndustryOR)."""

from math import isfinite

from assay.clients.formats.fields import Document, Record, field, named, text_of, without_nothing
from assay.errors import InvalidRequest

_BOX = "\\boxed"
_NO_OBJECTIVE = ("no best solution", "none", "infeasible")


def gsm8k(record: Record) -> Document:
    """Read a row of GSM8K (arXiv 2110.14168): the right number follows `####`; the row's own answer is gold.

    A completion's answer may stand in a box, behind `####`, or behind `Answer:`; the first of these that is there
    counts.
    """
    solution = str(field(record, "answer"))
    _, marker, answer = solution.rpartition("####")
    task = {"verifier": "math", "answer": answer.strip(), "extract": ["last_box", "hashes", "answer_line"]}
    gold = {"gold": solution} if marker else {}
    return named({**task, **gold}, record, prefix="gsm8k")


def math(record: Record) -> Document:
    """Read a row of MATH (arXiv 2103.03874) or MATH-500: `answer`, else the last box of `solution`, which is gold."""
    solution = text_of(record, "solution")
    boxed = last_box(solution)
    answer = boxed if record.get("answer") is None else str(record["answer"])
    if answer is None:
        raise InvalidRequest("neither an answer nor a box in the solution", path="answer")
    task = {"verifier": "math", "answer": answer, "gold": solution if boxed is not None else None}
    return named(without_nothing(task), record, prefix="math")


def nl4opt(record: Record) -> Document:
    """Read a problem of optimisation with its objective, as ORLM (arXiv 2405.17743) and SIRL publish NL4OPT and others.

    `No Best Solution` says that nothing is feasible. The reward is 1 for the right objective, else 0.
    """
    name = "en_answer" if record.get("en_answer") is not None else "answer"
    told = str(field(record, name)).strip()
    objective = _finite(told.replace(",", ""))
    if objective is None and told.lower() not in _NO_OBJECTIVE:
        raise InvalidRequest(f"{told[:40]!r} is no objective", path=name, fix="give a number, or No Best Solution")
    task: Document = {"verifier": "solver", "gold_objective": objective, "profile": "objective/hardened"}
    question = text_of(record, "en_question", "question")
    return named({**task, "metadata": {"question": question}} if question else task, record, prefix="nl4opt")


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def last_box(text: str) -> str | None:
    r"""Return what the last `\boxed{...}` holds, by counting braces; None where there is none that ends."""
    start = text.rfind(_BOX)
    opening = text.find("{", start + len(_BOX)) if start >= 0 else -1
    if opening < 0 or text[start + len(_BOX) : opening].strip():
        return None
    depth = 0
    for place in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0) if text[place - 1] != "\\" else 0
        if depth == 0:
            return text[opening + 1 : place].strip()
    return None
