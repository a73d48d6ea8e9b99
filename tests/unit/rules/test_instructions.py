"""`instructions`: each check by its published name, as released and with its gaps closed."""

import re
from typing import Any

import pytest
from attempts import judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.verifiers.rules.instructions.layout import headers
from assay.verifiers.rules.instructions.verifier import InstructionsTask
from assay.verifiers.rules.instructions.words import capital_words, sentence_breaks, spans


def met(text: str, reading: str, check: str, **arguments: Any) -> int:
    """Whether one check is met."""
    verdict = judge("instructions", text, reading=reading, checks=[{"check": check, **arguments}])
    return int(verdict.terms["followed"])


RELEASED = [
    ("verify_keywords", {"keyword_list": ["Cat"]}, "a cat", 1, 1),
    ("verify_keywords", {"keyword_list": ["cat"]}, "concatenate", 1, 0),
    ("verify_keywords", {"keyword_list": ["cat", "dog"]}, "a cat", 0, 0),
    ("verify_keyword_frequency", {"word": "Tree", "N": 2}, "A tree near the TREE, not treetop.", 1, 1),
    ("verify_keyword_frequency", {"word": "ice cream", "N": 1}, "Ice cream!", 0, 1),
    ("validate_forbidden_words", {"forbidden_words": ["cat"]}, "concatenate", 0, 1),
    ("validate_forbidden_words", {"forbidden_words": ["cat"]}, "my CAT.", 0, 0),
    ("verify_letter_frequency", {"letter": "l", "N": 2}, "Hello L", 1, 1),
    ("verify_letter_frequency", {"letter": "L", "N": 2}, "Hello L", 0, 0),
    ("validate_response_language", {"language": "en"}, "This is not in the language of Molière.", 1, 1),
    ("validate_response_language", {"language": "fr"}, "This is not in the language of Molière.", 0, 0),
    ("verify_paragraph_count", {"N": 2}, "a\n* * *\nb", 1, 1),
    ("verify_paragraph_count", {"N": 2}, "a\n * * * \n", 0, 0),
    ("verify_paragraph_count", {"N": 1}, "a\n\nb", 1, 1),
    ("validate_word_constraint", {"N": 10, "quantifier": "around"}, "w " * 11, 1, 1),
    ("validate_word_constraint", {"N": 10, "quantifier": "around"}, "w " * 12, 0, 0),
    ("validate_word_constraint", {"N": 25, "quantifier": "around"}, "w " * 27, 1, 1),
    ("validate_word_constraint", {"N": 25, "quantifier": "around"}, "w " * 28, 0, 0),
    ("validate_word_constraint", {"N": 2, "quantifier": "at least"}, "one - -", 1, 0),
    ("validate_word_constraint", {"N": 2, "quantifier": "at most"}, "one two three", 0, 0),
    ("verify_sentence_constraint", {"N": 2, "quantifier": "at most"}, "One. Two! Three?", 0, 0),
    ("verify_sentence_constraint", {"N": 3, "quantifier": "at least"}, "One. Two! Three?", 1, 1),
    ("verify_sentence_constraint", {"N": 4, "quantifier": "around"}, "One. Two! Three?", 1, 1),
    ("verify_sentence_constraint", {"N": 1, "quantifier": "at most"}, "See e.g. Mr. Fox", 1, 1),
    ("verify_sentence_constraint", {"N": 3, "quantifier": "at least"}, "One. . .", 1, 0),
    ("verify_sentence_constraint", {"N": 2, "quantifier": "at least"}, '"One." Two.', 0, 1),
    ("validate_paragraphs", {"N": 2, "first_word": "The", "i": 2}, "A.\n\nThe end", 1, 1),
    ("validate_paragraphs", {"N": 2, "first_word": "The", "i": 2}, "A.\n\nThere", 1, 0),
    ("validate_paragraphs", {"N": 2, "first_word": "The", "i": 1}, "A.\n\nThe end", 0, 0),
    ("validate_paragraphs", {"N": 2, "first_word": "The", "i": 2}, "A.\n\n\n\nThe end", 0, 1),
    ("verify_postscript", {"postscript_marker": "P.S."}, "Bye.\nP.S. more", 1, 1),
    ("verify_postscript", {"postscript_marker": "P.S."}, "I add no P.S. here", 1, 0),
    ("verify_postscript", {"postscript_marker": "P.S."}, "Bye.\nP.S.", 0, 0),
    ("validate_placeholders", {"N": 2}, "[name] and [address]", 1, 1),
    ("validate_placeholders", {"N": 2}, "[] [address]", 1, 0),
    ("validate_placeholders", {"N": 1}, "[two\nlines]", 0, 0),
    ("verify_bullet_points", {"N": 2}, "* one\n- two\nthree", 1, 1),
    ("verify_bullet_points", {"N": 2}, "**bold** text\n- two\n---", 0, 0),
    ("verify_bullet_points", {"N": 1}, "**bold** text\n- two", 0, 1),
    ("verify_bullet_points", {"N": 2}, "- **two** words\n* * *\n* x", 0, 1),
    ("validate_title", {}, "<<poem of joy>>\n...", 1, 1),
    ("validate_title", {}, "<<>>", 1, 0),
    ("validate_title", {}, "<<a\nb>>", 0, 0),
    ("validate_choice", {"options": ["no", "yes"]}, "I cannot decide", 1, 0),
    ("validate_choice", {"options": ["no", "yes"]}, "yes.", 1, 1),
    ("validate_choice", {"options": ["no", "yes"]}, "yes and no", 1, 0),
    ("validate_choice", {"options": ["A", "A and B"]}, "A and B", 1, 1),
    ("validate_choice", {"options": ["no"]}, "maybe", 0, 0),
    ("validate_highlighted_sections", {"N": 2}, "*one* and *two*", 1, 1),
    ("validate_highlighted_sections", {"N": 2}, "**bold**", 1, 0),
    ("validate_highlighted_sections", {"N": 1}, "** **", 1, 0),
    ("validate_sections", {"N": 2, "section_splitter": "Section"}, "Section 1\na\nSection 2\nb", 1, 1),
    ("validate_sections", {"N": 2, "section_splitter": "Section"}, "Intro\nSection 1\na\nSECTION 2\nb", 1, 1),
    ("validate_sections", {"N": 2, "section_splitter": "Section"}, "In\nSection 1\na\nSection 2\nb", 0, 1),
    ("validate_sections", {"N": 2, "section_splitter": "Section"}, "Section\nSection", 1, 0),
    ("validate_json_format", {}, '{"a": 1}', 1, 1),
    ("validate_json_format", {}, '```json\n{"a": 1}\n```', 0, 0),
    ("validate_json_format", {}, "17", 1, 0),
    ("validate_json_format", {}, "[NaN]", 1, 0),
    ("validate_json_format", {}, "[" * 100_000, 0, 0),
    ("validate_repeat_prompt", {"original_prompt": "Say hi."}, "Say hi. Hi!", 1, 1),
    ("validate_repeat_prompt", {"original_prompt": "Say hi."}, "Say hi.", 1, 0),
    ("validate_repeat_prompt", {"original_prompt": "Say hi."}, "Hi!", 0, 0),
    ("validate_two_responses", {}, "one\n******\ntwo", 1, 1),
    ("validate_two_responses", {}, "one\n******\none", 0, 0),
    ("validate_two_responses", {}, "one\n******", 1, 0),
    ("validate_two_responses", {}, "a ****** b ****** c", 0, 0),
    ("validate_uppercase", {}, "HELLO 1", 1, 1),
    ("validate_uppercase", {}, "1 + 1", 1, 0),
    ("validate_uppercase", {}, "Hello", 0, 0),
    ("validate_lowercase", {}, "hello", 1, 1),
    ("validate_lowercase", {}, "1 + 1", 1, 0),
    ("validate_frequency_capital_words", {"N": 2, "quantifier": "at least"}, "THE END of it", 1, 1),
    ("validate_frequency_capital_words", {"N": 3, "quantifier": "around"}, "THE END of it", 1, 1),
    ("validate_frequency_capital_words", {"N": 1, "quantifier": "at most"}, "THE END of it", 0, 0),
    ("validate_frequency_capital_words", {"N": 1, "quantifier": "at least"}, "\u00c9T\u00c9", 0, 1),
    ("validate_end", {"end_phrase": "That is all."}, "Hi. That is all.\n", 1, 1),
    ("validate_end", {"end_phrase": "That is all."}, "That is all. Bye", 0, 0),
    ("validate_quotation", {}, '"Hi"', 1, 1),
    ("validate_quotation", {}, '"', 1, 0),
    ("validate_no_commas", {}, "a, b", 0, 0),
    ("validate_no_commas", {}, "a\uff0c b", 1, 0),
]


@pytest.mark.parametrize(("check", "arguments", "text", "released", "strict"), RELEASED)
def test_open_instructs_checks(check: str, arguments: dict[str, Any], text: str, released: int, strict: int) -> None:
    """Every one of its functions, as released and with its gaps closed."""
    assert met(text, "released", check, **arguments) == released
    assert met(text, "strict", check, **arguments) == strict


IFEVAL = [
    ("keywords:existence", {"keywords": ["cat"]}, "Cats", "dogs"),
    ("keywords:frequency", {"keyword": "a", "frequency": 2, "relation": "at least"}, "a a", "a"),
    ("keywords:frequency", {"keyword": "a", "frequency": 2, "relation": "less than"}, "a", "a a"),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "concatenate", "Cat!"),
    ("keywords:letter_frequency", {"letter": "l", "let_frequency": 3, "let_relation": "at least"}, "Hello L", "Hello"),
    ("language:response_language", {"language": "de"}, "Das ist nicht wahr.", "That is not true."),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "at least"}, "One. Two.", "One."),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "one\n***\ntwo\n***", "one\n***\n***\ntwo"),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "one, two", "one two three"),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "the"}, 'A.\n\n"The, end', "The\n\nThese",
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 1}, "[x]", "x"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "p. s. more", "ps more"),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "P. P. S more", "P.S. more"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n  - b\n**c**", "* a"),
    ("detectable_format:constrained_response", {}, "My answer is maybe.", "maybe"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* **b**", "*a* ****"),
    ("detectable_format:multiple_sections", {"section_spliter": "Part", "num_sections": 2}, "part 1 PART 2", "Part 1"),
    ("detectable_format:json_format", {}, "```json\n[1]\n```", "[1] ok"),
    ("detectable_format:title", {}, "<<a>>", "<< >>"),
    ("combination:two_responses", {}, "******a******b", "a******a"),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say hi"}, "say HI: hi", "hi"),
    ("startend:end_checker", {"end_phrase": "The end."}, '"... the end."', "The end. Bye"),
    ("startend:quotation", {}, ' "a" ', '"'),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"}, "A BC", "a BC"),
    ("change_case:english_capital", {}, "HI 1", "1"),
    ("change_case:english_lowercase", {}, "hi 1", "Hi"),
    ("punctuation:no_comma", {}, "a b", "a, b"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "arguments", "followed", "broken"), IFEVAL)
def test_ifevals_checks(check: str, arguments: dict[str, Any], followed: str, broken: str) -> None:
    """Every one of its instructions."""
    assert met(followed, "strict", check, **arguments) == 1
    assert met(broken, "strict", check, **arguments) == 0


def test_every_published_name_is_tried_above() -> None:
    """Twenty-five of each."""
    tried = {check for check, *_ in RELEASED}, {check for check, *_ in IFEVAL}

    assert list(map(len, tried)) == [25, 25]


@pytest.mark.parametrize(("aggregate", "worth"), [("share", 2 / 3), ("all", 0.0)])
def test_checks_of_one_name_do_not_overwrite_each_other(aggregate: str, worth: float) -> None:
    """Each is a term of its own, named by its place."""
    checks = [{"check": "verify_keywords", "keyword_list": [word]} for word in ("cat", "dog", "cow")]

    verdict = judge("instructions", "cat and cow", checks=checks, aggregate=aggregate)

    assert verdict.reward == pytest.approx(worth)
    assert verdict.terms == {
        "followed": pytest.approx(worth), "1_verify_keywords": 1, "2_verify_keywords": 0, "3_verify_keywords": 1,
    }  # fmt: skip
    assert verdict.message == "not followed: 2_verify_keywords"


@pytest.mark.parametrize("text", ["", "  ", "<think>a</think>", "<answer></answer>"])
def test_an_empty_text_follows_nothing(text: str) -> None:
    """Not even what it cannot break."""
    verdict = judge("instructions", text, checks=[{"check": "validate_no_commas"}])

    assert verdict.reward == 0
    assert verdict.outcome is Outcome.NO_ANSWER


def test_only_what_follows_the_reasoning_is_judged() -> None:
    """Without the tags of the answer."""
    text = "<think>well, hm</think>\n<answer>\nno commas here\n</answer>"

    verdict = judge("instructions", text, checks=[{"check": "validate_no_commas"}, {"check": "validate_lowercase"}])

    assert verdict.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "check",
    [
        {"check": "nope"}, {}, {"check": "verify_letter_frequency", "letter": "ab", "N": 1},
        {"check": "verify_keywords", "keyword_list": []}, {"check": "verify_keywords", "keyword_list": [""]},
        {"check": "verify_keywords", "keyword_list": ["a"], "N": 1}, {"check": "verify_keywords"},
        {"check": "validate_word_constraint", "N": 1, "quantifier": "exactly"},
        {"check": "validate_word_constraint", "N": -1, "quantifier": "at least"},
        {"check": "validate_paragraphs", "N": 1, "first_word": "a", "i": 2},
        {"check": "validate_response_language", "language": "tlh"},
    ],
    ids=str,
)  # fmt: skip
def test_a_check_that_cannot_be_decided_is_refused(check: dict[str, Any]) -> None:
    """An unknown name must not pass in silence, nor an argument be ignored."""
    with pytest.raises(InvalidRequest):
        judge("instructions", "a", checks=[check])


def test_arguments_that_are_null_count_as_not_given() -> None:
    """The published data sets fill unused arguments with null."""
    assert met("cat", "strict", "verify_keywords", keyword_list=["cat"], N=None, quantifier=None) == 1


FEW = settings(deadline=None, max_examples=100, derandomize=True)


@FEW
@given(st.text(st.sampled_from("[]<>* \naB.?!Mr1Sct"), max_size=40))
def test_counting_agrees_with_the_published_patterns(text: str) -> None:
    """Theirs, run as they stand."""
    sentence = r"(?<!\w\.\w.)(?<![A-Z][a-z]\.)(?<=\.|\?|!)\s"

    assert spans(text, "[", "]") == re.findall(r"\[(.*?)\]", text)
    assert spans(text, "<<", ">>") == re.findall(r"<<(.*?)>>", text)
    assert sentence_breaks(text) + 1 == len(re.split(sentence, text))
    assert capital_words(text, ascii_only=True) == len(re.findall(r"\b[A-Z]+\b", text))
    assert headers(text, "Sa") == len(re.split(r"\s?Sa\s?\d+\s?", text, flags=re.IGNORECASE)) - 1
    marked = len(re.findall(r"\*(.*?)\*", text.strip()))
    assert marked == 0 or met(text, "released", "validate_highlighted_sections", N=marked)
    assert not met(text, "released", "validate_highlighted_sections", N=marked + 1)


@FEW
@given(st.text(max_size=40), st.sampled_from(["released", "strict"]))
def test_every_check_is_decided_for_any_text(text: str, reading: str) -> None:
    """All of them at once, each 0 or 1, the reward their share."""
    arguments = [{"check": check, **arguments} for check, arguments, *_ in (*RELEASED, *IFEVAL)]
    for checks in (arguments[:60], arguments[60:]):
        verdict = judge("instructions", text, checks=checks, reading=reading)

        each = [value for name, value in verdict.terms.items() if name != "followed"]
        assert set(each) <= {0.0, 1.0}
        assert verdict.reward == pytest.approx(sum(each) / len(checks))


def test_the_example_is_a_task() -> None:
    """The one in the schema."""
    example = InstructionsTask.model_json_schema()["examples"][0]

    assert InstructionsTask.model_validate(example).checks
