"""Runs reward hacks: each must earn exactly its reward and leave the service right for the next."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from assay.cli.conformity.judging import Judge, Judged, StartToken, agree
from assay.cli.conformity.lines import Document, HackLine, task_document

_RIGHT = 1.0
_WRONG = 0.0
_START_S = 60.0  # a sibling gets a slot long before this, or the pool is broken


def check_hack(line: HackLine, judge: Judge) -> list[str]:
    """Return what deviates: `before`, the hack beside its `during`, then honest and wrong ones."""
    document = task_document(line.id, line.style, line.task)
    judged = [judge.judge(document, completion) for completion in line.before]
    hacks = [_hack_beside(line, document, judge) for _ in range(line.repeat)]
    problems = [
        f"hack: expected reward {line.expected.reward}, got {hack.reward} ({hack.outcome}: {hack.message[:200]})"
        for hack in hacks
        if not agree(line.expected.reward, hack.reward)
    ]
    probes = judge.threads if line.probe_after else 1
    honest = _probe(document, line.honest, judge, probes)
    wrong = _probe(document, line.wrong, judge, probes)
    problems += [_unlike("honest", _RIGHT, one) for one in honest if not agree(_RIGHT, one.reward)]
    problems += [_unlike("wrong", _WRONG, one) for one in wrong if not agree(_WRONG, one.reward)]
    problems += _leaks(line.leak_markers, [*judged, *hacks, *honest, *wrong])
    return list(dict.fromkeys(problems))


def _hack_beside(line: HackLine, document: Document, judge: Judge) -> Judged:
    """Judge the hack while its siblings run: they have started before it does."""
    with ThreadPoolExecutor(max(1, len(line.during))) as threads:
        siblings: list[tuple[Future[Judged], StartToken]] = []
        for completion in line.during:
            token = StartToken()
            siblings.append((threads.submit(judge.judge, document, completion, token), token))
        for _, token in siblings:
            token.started.wait(_START_S)
        hack = judge.judge(document, line.completion)
        for future, _ in siblings:
            future.result()
    return hack


def _probe(document: Document, completion: str, judge: Judge, times: int) -> list[Judged]:
    """Judge a completion `times` at once: as often as there are slots, each slot is met."""
    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(lambda _: judge.judge(document, completion), range(times)))


def _unlike(name: str, reward: float, judged: Judged) -> str:
    return f"{name}: expected reward {reward}, got {judged.reward} ({judged.outcome}: {judged.message[:200]})"


def _leaks(markers: tuple[str, ...], judged: list[Judged]) -> Iterator[str]:
    for marker in markers:
        if any(marker in one.handed_back for one in judged):
            yield f"leak: the marker {marker!r} was handed back"
