"""Verifiers of other distributions: which are taken, which are refused, and that nobody is left to guess why."""

import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path

import pytest

from assay.cli import doctor
from assay.errors import InvalidRequest, NotFound
from assay.outcomes import Outcome
from assay.sandboxes.nowhere import Nowhere
from assay.verifiers import sdk
from assay.verifiers.builtin import default_registry
from assay.verifiers.composite.verifier import with_composite
from assay.verifiers.plugins import Plugin, find_plugins
from assay.verifiers.reference import render_entry

GOOD = '''
from typing import ClassVar, Literal
from pydantic import ConfigDict
from assay.verifiers.sdk import RuleTask, Scored, Term, TaskBase, Verdict, Outcome

class MirrorTask(RuleTask):
    """A palindrome: reward = 1 if it is one. Source: none."""
    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "m", "verifier": "mirror"}]})
    verifier: Literal["mirror"] = "mirror"
    least: int = 1
    """Fewest characters."""

class Mirror:
    name, version, task_model = "mirror", "7", MirrorTask
    def terms(self, task): return (Term("mirrored", 0, 1, "1 if it is"),)
    def score(self, task, text): return Scored({"mirrored": float(len(text) >= task.least and text == text[::-1])})

class Judging(Mirror):
    score = None
    def judge(self, task, completion, slot): return Verdict(outcome=Outcome.PASSED, reward=1.0)

class Misnamed(Mirror):
    name = "other"

class Unversioned(Mirror):
    version = 7

class Deaf(Mirror):
    score = None

class Bare(TaskBase):
    verifier: Literal["mirror"] = "mirror"

class Modelless(Mirror):
    task_model = dict

class Exampleless(Judging):
    task_model = Bare

class Loose(MirrorTask):
    model_config = ConfigDict(extra="ignore")

class Lax(Mirror):
    task_model = Loose

class OtherTask(RuleTask):
    model_config = MirrorTask.model_config

class Elsewhere(Mirror):
    task_model = OtherTask

class Exploding(Mirror):
    def __init__(self): raise RuntimeError("no licence")

def make(): return Mirror()
ready = Mirror()
number = 3
'''
Find = Callable[..., Plugin]


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Find:
    """Find the plugin of an entry point: `find("Mirror")` is that of the module above."""
    (tmp_path / "mirror_plugin.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / "broken_plugin.py").write_text("import no_such_library\n", encoding="utf-8")
    (tmp_path / "leaving_plugin.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def find_one(
        attribute: str, module: str = "mirror_plugin", name: str = "mirror", taken: tuple[str, ...] = ()
    ) -> Plugin:
        (plugin,) = find_plugins(taken, [EntryPoint(name, f"{module}:{attribute}", "assay.verifiers")])
        return plugin

    return find_one


@pytest.mark.parametrize("attribute", ["Mirror", "make", "ready", "Judging"])
def test_a_class_a_factory_and_an_instance_are_verifiers(find: Find, attribute: str) -> None:
    """Rules too: they are made verifiers."""
    plugin = find(attribute)

    assert (plugin.fault, plugin.verifier is None) == ("", False)


def test_a_plugin_is_a_verifier_like_any_other(find: Find) -> None:
    """It parses, judges, describes itself, and may be a part of a composite."""
    registry = with_composite([], [find("Mirror")])
    part = {"name": "m", "verifier": "mirror", "term": "mirrored", "task": {"least": 2}}
    composite = registry.parse_task({"id": "c", "verifier": "composite", "terms": [part]})

    verdicts = [registry.get("composite").judge(composite, text, Nowhere()) for text in ("abba", "ab")]

    assert registry.names == ("composite", "mirror")
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED, Outcome.FAILED]
    entry = render_entry(registry, "mirror")
    assert "Fewest characters." in entry
    assert "1 if it is" in entry
    with pytest.raises(InvalidRequest, match="lest"):
        registry.parse_task({"id": "t", "verifier": "mirror", "lest": 1})


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ("Misnamed", "entry point"),
        ("Unversioned", "version"),
        ("Deaf", "neither judge"),
        ("Modelless", "task_model"),
        ("Exampleless", "example"),
        ("Lax", "unknown fields"),
        ("Elsewhere", "default 'mirror'"),
        ("Exploding", "no licence"),
        ("number", "neither a verifier"),
        ("absent", "AttributeError"),
    ],
)
def test_what_is_no_verifier_is_refused_with_the_reason(find: Find, attribute: str, reason: str) -> None:
    """Before any task can name it."""
    plugin = find(attribute)

    assert plugin.verifier is None
    assert reason in plugin.fault


@pytest.mark.parametrize(
    ("module", "reason"),
    [("broken_plugin", "no_such_library"), ("leaving_plugin", "SystemExit"), ("nowhere", "nowhere")],
)
def test_a_plugin_that_fails_to_import_takes_nothing_down(
    find: Find, module: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, its tasks are refused with the reason, and all else goes on."""
    with caplog.at_level(logging.WARNING):
        plugin = find("Mirror", module)
    registry = with_composite([default_registry().get("python")], [plugin])

    assert "verifier_refused name='mirror'" in caplog.text
    assert registry.names == ("composite", "python")
    with pytest.raises(InvalidRequest, match=reason):
        registry.parse_task({"id": "t", "verifier": "mirror"})
    with pytest.raises(NotFound, match=reason):
        registry.get("mirror")
    part = {"name": "m", "verifier": "mirror"}
    with pytest.raises(InvalidRequest, match=reason):
        registry.parse_task({"id": "c", "verifier": "composite", "terms": [part]})


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("class Odd(BaseException): pass\nraise Odd('x')", "Odd: x"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("def f(): f()\nf()", "RecursionError"),
        (
            "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
            "Mute: its text cannot be made",
        ),
        (
            "class Mute(BaseException):\n    def __str__(self): raise Mute\nraise Mute",
            "Mute: its text cannot be made: Mute",
        ),
        ("class X:\n    def __getattr__(self, name): raise SystemExit(3)\nMirror = X()", "SystemExit: 3"),
        ("raise ValueError('one\\n2026 ERROR two\\x1b[31m' + 'x' * 10**6)", "ValueError: one 2026 ERROR two [31mxxx"),
    ],
    ids=["base exception", "generator exit", "recursion", "mute", "mute base exception", "attributes", "long"],
)
def test_whatever_an_import_raises_is_told_in_a_line(find: Find, tmp_path: Path, source: str, told: str) -> None:
    """No more than a line of the log, none that looks like another's, and nothing is taken down."""
    (tmp_path / "odd_plugin.py").write_text(source, encoding="utf-8")
    sys.modules.pop("odd_plugin", None)

    plugin = find("Mirror", "odd_plugin")

    assert told in plugin.fault
    assert plugin.fault.isprintable()
    assert len(plugin.fault) <= 500


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "SystemExit(0)", "ZeroDivisionError('x')"])
@pytest.mark.parametrize("asked", ["model_post_init(self, context)", "runs_something(self)", "asks_models(self)"])
def test_a_task_over_which_a_plugin_fails_is_refused(find: Find, tmp_path: Path, raised: str, asked: str) -> None:
    """In whichever thread it is read: a KeyboardInterrupt would end the event loop of the API."""
    module = f"failing_{abs(hash((raised, asked)))}"
    source = GOOD.replace("    least: int", f"    def {asked}: raise {raised}\n    least: int")
    (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
    registry = with_composite([], [find("Mirror", module)])

    with ThreadPoolExecutor(1) as thread:
        refused = thread.submit(registry.parse_task, {"id": "m", "verifier": "mirror"}).exception()

    assert isinstance(refused, InvalidRequest)
    assert f"it raised {raised.partition('(')[0]}" in str(refused)


@pytest.mark.parametrize(
    ("asked", "fields"),
    [("terms", {"terms": [{"name": "m", "verifier": "mirror", "term": "mirrored"}]}),
     ("reward_range", {"terms": [{"name": "m", "verifier": "mirror"}], "pass_threshold": 1})],
)  # fmt: skip
def test_a_composite_over_whose_part_a_plugin_fails_is_refused(
    find: Find, tmp_path: Path, asked: str, fields: dict[str, object]
) -> None:
    """By the plugin's name, though it is not the task's own verifier."""
    source = GOOD.replace("MirrorTask(RuleTask)", "MirrorTask(TaskBase)")
    judging = f"class Judging(Mirror):\n    def {asked}(self, task): raise SystemExit\n"
    (tmp_path / f"failing_{asked}.py").write_text(source.replace("class Judging(Mirror):\n", judging), encoding="utf-8")
    registry = with_composite([], [find("Judging", f"failing_{asked}")])

    with pytest.raises(InvalidRequest, match=r"'mirror' of .* raised SystemExit"):
        registry.parse_task({"id": "c", "verifier": "composite", **fields})


def test_left_overs_of_an_installation_take_nothing_down(tmp_path: Path) -> None:
    """Entry points without any metadata beside them."""
    folder = tmp_path / "gone-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[assay.verifiers]\ngone = gone_module:X\n", encoding="utf-8")
    (entry,) = Distribution.at(folder).entry_points

    (plugin,) = find_plugins((), [entry])

    assert (plugin.distribution, plugin.verifier) == ("an unknown distribution", None)


@pytest.mark.parametrize("name", ["python", "composite", "math"])
def test_names_of_built_in_verifiers_are_taken(find: Find, name: str) -> None:
    """The plugin is refused unseen, whatever it is."""
    plugin = find("Mirror", "leaving_plugin", name, taken=default_registry().names)

    assert "comes with Assay" in plugin.fault


def test_a_name_that_two_offer_is_nobodys() -> None:
    """Which of them would win must not depend on the order in which they were installed."""
    entries = [EntryPoint("mirror", f"module_{letter}:X", "assay.verifiers") for letter in "ab"]

    plugins = find_plugins((), entries)

    assert all("more than one" in plugin.fault for plugin in plugins)


def test_names_are_plain() -> None:
    """They stand in fields, routes and metrics."""
    (plugin,) = find_plugins((), [EntryPoint("Mirror:1", "builtins:object", "assay.verifiers")])

    assert plugin.verifier is None


def test_doctor_tells_of_plugins(find: Find) -> None:
    """Of good ones and of refused ones, with what to do."""
    lines = doctor.finding_lines(map(doctor.plugin_finding, [find("Mirror"), find("Misnamed")]))

    assert lines[0].startswith("ok      plugin: mirror 7")
    assert lines[1].startswith("MISSING plugin: the verifier 'mirror'")
    assert "uninstall" in lines[2]


def test_the_authors_module_offers_what_it_names() -> None:
    """Every name is there and says what it promises."""
    for name in sdk.__all__:
        assert getattr(sdk, name).__doc__ or name == "Factor", name
    assert sdk.__all__ == sorted(sdk.__all__)
