"""Families of pictures, clips and screens."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any  # Any: tasks of lines are JSON values

from assay.cli.conformity.judging import Judge, Judged, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping

_DETECTION_CODE: Document = {"profile": "visual-rft/code"}
_DIVISORS = {"max(n_pred_after_dedup,n_gt)": "larger", "n_pred": "predictions", "n_gt": "gold"}
_LETTERS = "ABCDEFG"
_WITH_TEXT = ("type", "select", "scroll")


def _classification(task: Document) -> Document:
    return {"verifier": "classification", **{key: task[key] for key in ("label", "labels") if key in task}}


def _detection(task: Document) -> Document:
    known = {"threshold": task.get("iou_threshold", 0.5), "divisor": _DIVISORS[task["normaliser"]]}
    given = {key: value for key, value in known.items() if key == "threshold" or value != "larger"}
    return {"verifier": "detection", "boxes": task["gt_boxes"], **given, **_DETECTION_CODE}


def _temporal(task: Document) -> Document:
    return {"verifier": "temporal", "interval": task["gt_interval"], "profile": "videochat-r1/code"}


def _tracking(task: Document) -> Document:
    return {"verifier": "tracking", "boxes": task["gt_boxes"], "profile": "videochat-r1/code"}


def _option(task: Document) -> Document:
    """An option beyond G widens the letters, as only the release's own profile cannot read it."""
    letter = str(task["answer"]).strip()[:1].upper()
    letters = {"letters": _LETTERS + letter} if letter.isalpha() and letter not in _LETTERS else {}
    return {"answer": task["answer"], "profile": "videochat-r1/paper", **letters}


def _grounded_qa(task: Document) -> Document:
    return {"verifier": "grounded_qa", "segments": task["glue"], **_option(task)}


def _multiple_choice(task: Document) -> Document:
    choices = {"choices": task["choices"]} if task.get("choices") else {}
    return {"verifier": "multiple_choice", **choices, **_option(task)}


def _gui_action(task: Document) -> Document:
    given: dict[str, Any] = {key: task[key] for key in ("action", "weights", "scale", "radius") if key in task}
    place = task.get("bbox", task.get("point"))
    if given.get("action", "click") == "click":
        given["box" if len(place or ()) == 4 else "point"] = place
    elif given["action"] in _WITH_TEXT and "input_text" in task:  # other actions have one that nobody compares
        given["input_text"] = task["input_text"]
    return {"verifier": "gui", "profile": "gui-r1/paper", **given}


def _gui_points(task: Document) -> Document:
    return {"verifier": "gui", "profile": "infigui-g1/code", "box": task["bbox"]}


def _gui_box(task: Document) -> Document:
    return {"verifier": "gui", "kind": "box_iou", "box": task["bbox"], "threshold": task.get("threshold", 0.5)}


def _released_bugs_aside(check: FamilyMapping) -> Check:
    """Leave out the profiles of lines whose released code has a bug; ours say where they differ."""
    without = replace(check, profiles={})
    return lambda line, judge: (without if line.expected.get("flag") == "code_bug" else check)(line, judge)


def _alone_or_in_batches(check: FamilyMapping) -> Check:
    """A line may hold several tasks and completions, with a list of `rewards`, or of one term as `rewards_TERM`."""

    def run(line: FamilyLine, judge: Judge) -> list[str]:
        return list(_batch(check, line, judge)) if "batch" in line.task else check(line, judge)

    return run


def _batch(check: FamilyMapping, line: FamilyLine, judge: Judge) -> Iterator[str]:
    keys = [key for key in line.expected if key == "rewards" or key.startswith("rewards_")]
    wanted = [("", key, line.expected[key]) for key in keys]
    for name, values in line.expected.get("profiles", {}).items():
        if name in check.profiles and isinstance(values, list):  # they say the same as the first list
            wanted.append((name, keys[0], values))
    for name, key, values in wanted:
        judged = _judge_all(check, name, line, judge)
        for index, (value, one) in enumerate(zip(values, judged, strict=True)):
            got = one.reward if key == "rewards" else one.terms.get(key.removeprefix("rewards_"))
            if not agree(value, got):
                yield f"{name} {key}[{index}]: expected {value}, got {got} ({one.outcome}: {one.message})"


def _judge_all(check: FamilyMapping, profile: str, line: FamilyLine, judge: Judge) -> list[Judged]:
    fields = check.profiles[profile] if profile else {}
    pairs = zip(line.task["batch"], line.completion, strict=True)
    return [judge.judge({"id": line.id, **check.document(task), **fields}, text) for task, text in pairs]


_GUI_ACTION = FamilyMapping(
    _gui_action,
    profiles={
        "gui_r1": {"profile": "gui-r1/code"},
        "ui_r1_coord": {"profile": "ui-r1/code", "weights": {"action": 0, "accuracy": 1, "format": 0}},
        "inside_inclusive": {"border": "inside"},
        "inside_exclusive": {"border": "outside"},
    },
    hardened={"profile": "gui-r1/hardened"},
)
_GUI_KINDS: Mapping[str, FamilyMapping] = {
    "action": _GUI_ACTION,
    "multi_point": FamilyMapping(_gui_points, profiles={"infigui_g1": {}}, hardened={"profile": "infigui-g1/hardened"}),
    "bbox_iou": FamilyMapping(_gui_box, profiles={"iou_value": {"weights": {"iou": 1, "hit": 0}}, "thresholded": {}}),
}


def _check_gui(line: FamilyLine, judge: Judge) -> list[str]:
    """Components that differ in one option are that many profiles of ours."""
    components = dict(line.expected.get("components", {}))
    borders = {
        name: {"components": {"accuracy": components.pop(name)}}
        for name in ("inside_inclusive", "inside_exclusive")
        if name in components
    }
    profiles = {**line.expected.get("profiles", {}), **borders}
    expected = {**line.expected, "components": components, "profiles": profiles}
    check = _released_bugs_aside(_GUI_KINDS[line.task.get("kind", "action")])
    return check(line.model_copy(update={"expected": expected}), judge)


_GROUNDED_CODE: Document = {"profile": "videochat-r1/code", "letters": _LETTERS}

FAMILIES: Mapping[str, Check] = {
    "classification": FamilyMapping(
        _classification,
        profiles={"videochat_r1_cls_code": {"profile": "videochat-r1/code"}},
        hardened={"profile": "visual-rft/hardened"},
    ),
    "detection": FamilyMapping(
        _detection,
        profiles={
            "recommended": {"profile": "visual-rft/hardened"},
            "visual_rft_code_without_number_shortcut": _DETECTION_CODE,
            "paper_mean_over_predictions": {"profile": "visual-rft/paper"},
            "inclusive_threshold": {"threshold_rule": "at_least"},
            "optimal_assignment": {"matching": "optimal"},
            "empty_union_is_one": {"empty_union": "one"},
            "empty_union_is_zero": {"empty_union": "zero"},
            "bare_json_accepted": {"untagged": "search"},
            "tags_required": {"untagged": "refuse"},
            "last_block": {"block": "last"},
            "multiple_blocks_rejected": {"block": "only"},
            "reject_out_of_range": {"out_of_range": "refuse"},
        },
        hardened={"profile": "visual-rft/hardened"},
    ),
    "temporal": _alone_or_in_batches(
        FamilyMapping(
            _temporal,
            profiles={
                "videochat_r1_grpo_tg": {"profile": "videochat-r1/code"},
                "empty_union_is_zero": {"empty_union": "zero"},
                "swap_ends": {"reversed_ends": "swap"},
                "lenient_units": {"grammar": "lenient"},
                "lenient_separator": {"grammar": "lenient"},
                "signed_parser": {"grammar": "lenient"},
                "all_or_nothing": {"iou_needs_format": True},
            },
            hardened={"profile": "videochat-r1/hardened"},
        )
    ),
    "tracking": FamilyMapping(
        _tracking,
        profiles={
            "videochat_r1_code": {"profile": "videochat-r1/code"},
            "empty_union_is_one": {"empty_union": "one"},
        },
        hardened={"profile": "videochat-r1/hardened"},
    ),
    "grounded_qa": _released_bugs_aside(
        FamilyMapping(
            _grounded_qa,
            profiles={
                "videochat_r1_code": _GROUNDED_CODE,
                "lenient_pairs": {"pairs": "any"},
                "empty_union_is_zero": {"empty_union": "zero"},
            },
            hardened={"profile": "videochat-r1/hardened"},
        )
    ),
    "multiple_choice": FamilyMapping(
        _multiple_choice,
        profiles={"videochat_r1_code": _GROUNDED_CODE},
        hardened={"profile": "videochat-r1/hardened"},
    ),
    "gui": _check_gui,
}
"""By the name of the family."""
