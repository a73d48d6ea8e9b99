"""Published rewards that are sums of several terms, as templates. Those that one verifier gives are profiles of it."""

from assay.verifiers.composite.templates import Parameter
from assay.verifiers.rules.rule import Profile

_ANSWER = Parameter("answer", "The right answer, in LaTeX or plain text.", example="42")
_MAX_LEN = Parameter("max_len", "The longest length, in characters of the completion.", is_required=False, default=3584)
_OVERLONG = (
    Parameter("max_len", "The longest length, in characters of the completion.", example=20480),
    Parameter("cache", "The last part of it over which the penalty grows, in characters.", example=4096),
)
_LENGTH_WEIGHT = Parameter("length_weight", "Factor of the length term.", is_required=False, default=1.0)


def _math(profile: str, weight: float = 1.0) -> dict[str, object]:
    return {
        "name": "accuracy", "verifier": "math", "weight": weight, "task": {"profile": profile, "answer": _ANSWER}
    }  # fmt: skip


def _format(profile: str, **fields: object) -> dict[str, object]:
    return {"name": "format", "verifier": "format", "task": {"profile": profile, **fields}}


def _cosine(profile: str, **fields: object) -> dict[str, object]:
    task = {"profile": profile, "max_len": _MAX_LEN, **fields}
    return {"name": "cosine", "verifier": "length", "weight": 2.0, "given": {"correct": "accuracy"}, "task": task}


PROFILES: tuple[Profile, ...] = (
    Profile(
        "open-rs/paper",
        {"terms": [_math("open-rs/paper"), _format("open-rs/code")], "decides": ["accuracy"]},
        "arXiv 2503.16219 section 2, runs 1 and 2",
        "accuracy + format; a gold that cannot be read is `task_error`, where the released function pays 1",
    ),
    Profile(
        "open-rs/code",
        {"terms": [_math("open-rs/paper", 0.0), _format("open-rs/code"), _cosine("open-rs/code")],
         "decides": ["accuracy"]},
        "knoveleng/open-rs@2889c47, recipe of run 3",
        "format 1 + cosine 2, as its recipe weighs them; accuracy only tells the cosine whether the answer is right. "
        "The cosine counts characters and turns back beyond max_len, as released",
    ),
    Profile(
        "open-rs/hardened",
        {"terms": [_math("math/hardened", 0.0), _format("open-rs/code", hardened=True),
                   _cosine("open-rs/code", clamp=True)],
         "decides": ["accuracy"]},
        "knoveleng/open-rs@2889c47, recipe of run 3",
        "as the code, with the cosine held beyond max_len, closing tags that cannot be repeated, and no pay for golds "
        "that cannot be read",
    ),
    Profile(
        "open-r1/code",
        {"terms": [_math("open-r1/paper"), _format("open-r1/code", checks=["open_r1_format"])],
         "decides": ["accuracy"]},
        "huggingface/open-r1@bd581c7 recipes/DeepSeek-R1-Distill-Qwen-1.5B/grpo/config_demo.yaml",
        "accuracy + format; values are compared by our own rules, not by math-verify's",
    ),
    Profile(
        "d1-gsm8k/code",
        {"terms": [
            _format("d1-gsm8k/code"),
            {"name": "correctness", "verifier": "exact_match",
             "task": {"profile": "d1-gsm8k/code", "answers": [_ANSWER]}},
         ], "decides": ["correctness"]},
        "dllm-reasoning/d1@837888f reward_func.py",
        "four layout terms, of at most 0.5 each and without a lower bound, and 2 for the answer as a string; wd1 uses "
        "the same file",
    ),
    Profile(
        "d1-gsm8k/hardened",
        {"terms": [
            _format("d1-gsm8k/code", hardened=True),
            {"name": "correctness", "verifier": "exact_match",
             "task": {"extract": "tag", "normalise": "value", "weights": {"exact_match": 2.0}, "answers": [_ANSWER]}},
         ], "decides": ["correctness"]},
        "dllm-reasoning/d1@837888f reward_func.py",
        "layouts may run over several lines and cost nothing, answers are compared by value",
    ),
    Profile(
        "d1-math/code",
        {"terms": [
            _format("d1-math/code"),
            {**_math("d1/paper"), "name": "correctness"},
         ], "decides": ["correctness"]},
        "dllm-reasoning/d1@837888f reward_func.py",
        "2 for the last box (else the whole text) and 0.25 or 0.75 for the layout, as released: its test for a box "
        "never fires. Answers are compared by value, where the code compares Hendrycks' strings",
    ),
    Profile(
        "d1-math/hardened",
        {"terms": [
            _format("d1-math/code", hardened=True),
            {"name": "correctness", "verifier": "math", "weight": 2.0, "task": {"answer": _ANSWER}},
         ], "decides": ["correctness"]},
        "dllm-reasoning/d1@837888f reward_func.py",
        "the four levels 1, 0.75, 0.5 and 0.25 that were meant; only a box is an answer",
    ),
    Profile(
        "verl-geo3k/code",
        {"terms": [
            {**_math("math/hardened", 0.9)},
            {"name": "format", "verifier": "regex", "weight": 0.1,
             "task": {"patterns": [r"<think>.*</think>.*\\boxed\{.*\}.*"], "where": "whole", "dot_all": True}},
         ], "decides": ["accuracy"]},
        "volcengine/verl@b178a3c reward_score/geo3k.py",
        "0.9 accuracy + 0.1 for a think block followed by a box; values are compared by our own rules",
    ),
    Profile(
        "dapo/code",
        {"terms": [
            {"name": "accuracy", "verifier": "exact_match",
             "task": {"profile": "verl-math-dapo/code", "answers": [_ANSWER]}},
            {"name": "overlong", "verifier": "length",
             "task": {"kind": "soft_overlong", "max_len": _OVERLONG[0], "cache": _OVERLONG[1]}},
         ], "decides": ["accuracy"]},
        "arXiv 2503.14476 eq. 13; volcengine/verl@b178a3c reward_score/math_dapo.py",
        "1 or -1 for the answer, and up to -1 for the length, in characters where the paper counts tokens (20,480 with "
        "4,096 of cache: about four characters each)",
    ),
    Profile(
        "dapo/hardened",
        {"terms": [
            {"name": "accuracy", "verifier": "exact_match",
             "task": {"profile": "verl-math-dapo/hardened", "answers": [_ANSWER]}},
            {"name": "overlong", "verifier": "length",
             "task": {"kind": "soft_overlong", "max_len": _OVERLONG[0], "cache": _OVERLONG[1]}},
         ], "decides": ["accuracy"]},
        "arXiv 2503.14476 eq. 13; volcengine/verl@b178a3c reward_score/math_dapo.py",
        "as the code, with the answer sought in the whole text and compared by value",
    ),
    Profile(
        "kimi/paper",
        {"terms": [_math("math/hardened")],
         "group_terms": [{"kind": "relative_length", "name": "length", "right": "accuracy", "weight": _LENGTH_WEIGHT}],
         "decides": ["accuracy"]},
        "arXiv 2501.12599 section 2.3.3; huggingface/open-r1@1416fa0 rewards.py, len_reward",
        "accuracy and the relative length within the group, in characters; the paper warms the length term up",
    ),
    Profile(
        "ttrl/code",
        {"group_terms": [
            {"kind": "majority", "name": "majority", "answer": "box", "normalise": "minerva", "quorum": 1}]},
        "arXiv 2504.16084; PRIME-RL/TTRL@c46b671 ttrl_utils.py",
        "no right answer is known: 1 for the boxed answer that most give, were it a single one",
    ),
    Profile(
        "ttrl/hardened",
        {"group_terms": [{"kind": "majority", "name": "majority", "answer": "box", "normalise": "minerva"}]},
        "arXiv 2504.16084; PRIME-RL/TTRL@c46b671 ttrl_utils.py",
        "as the code, but one vote is no majority",
    ),
)  # fmt: skip
