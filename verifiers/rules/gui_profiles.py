"""The published rewards that `gui` reproduces."""

from assay.verifiers.rules.rule import Profile

_CODE = {"reasoning": "kept", "reading": "gui_r1", "text_match": "f1_or_part", "strip": False}

PROFILES = (
    Profile(
        "gui-r1/hardened", {}, "ritzz-ai/GUI-R1@d43eea2 r1gui.py",
        "the defaults: the answer is one action, read as JSON or a Python literal, decimals allowed; borders count "
        "as inside; white space around the text costs nothing; a word is not right for being part of the right "
        "one, nor is a list of words with the right one in it",
    ),
    Profile(
        "gui-r1/paper", _CODE,
        "ritzz-ai/GUI-R1@d43eea2 r1gui.py", "as the code, but borders count as inside",
    ),
    Profile(
        "gui-r1/code", {**_CODE, "border": "outside"},
        "ritzz-ai/GUI-R1@d43eea2 r1gui.py",
        "name, last point and text found by patterns in any text. The format term reads a literal where the "
        "release evaluates model text, so calls and arithmetic in it lose the term; without a point there is no "
        "hit, where the release takes (0, 0)",
    ),
    Profile(
        "ui-r1/code",
        {
            "reasoning": "kept", "reading": "ui_r1", "text_match": "ignore", "strip": False, "checks": "layout",
            "weights": {"action": 1, "accuracy": 1, "format": 1},
        },
        "lll6gg/UI-R1@2fe9bf0 grpo_json_action_coord.py",
        "reward = action + accuracy + format; the first point found, times `scale`, cut to whole numbers; borders "
        "count as inside; actions other than click by name. Without a point there is no hit, where the release "
        "takes (0, 0)",
    ),
    Profile(
        "infigui-g1/hardened", {"kind": "multi_point"}, "InfiXAI/InfiGUI-G1@22208e4 recipe/infigui-g1/reward_fn.py",
        "the defaults: the format term is 0 where no point hits",
    ),
    Profile(
        "infigui-g1/code", {"kind": "multi_point", "format_needs_hit": False},
        "InfiXAI/InfiGUI-G1@22208e4 recipe/infigui-g1/reward_fn.py", "as released; at most 64 points",
    ),
)  # fmt: skip
