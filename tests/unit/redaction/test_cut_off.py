"""A secret that the end of an excerpt cuts in two: every shape, cut at every place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.each import for_each

from affidavit.errors import InputRefused
from affidavit.evidence.finding import EXCERPT_CHARACTERS, excerpt_of
from affidavit.matching.regex_tree import parse, written
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.cut_off_secrets import SHORTEST, SHORTEST_UNNAMED, beginnings
from affidavit.redaction.engine import Engine
from affidavit.redaction.pattern import Pattern, PatternKind, Sample
from affidavit.redaction.pattern_loading import load_patterns
from affidavit.redaction.redact import Around, Redactor
from affidavit.redaction.redacted_quote_check import stands_in

# What a finder finds depends on other lines; how those are cut is tested with the finders.
SECRETS = [
    (pattern, sample)
    for pattern in load_patterns()[PatternKind.SECRET]
    if pattern.finder is None
    for sample in pattern.samples.hidden
]
PERSONAL = [(pattern, sample) for pattern in load_patterns()[PatternKind.PERSONAL] for sample in pattern.samples.hidden]
# What such a token begins with before anything of it is named by its pattern.
UNNAMED = {"telegram_token", "mail_service_key", "terraform_token"}


def shown(sample: Sample, cut: int, redactor: Redactor) -> str:
    """What is left of the secret when the excerpt of its line ends `cut` characters behind its beginning."""
    before = sample.whole[: sample.whole.index(sample.hidden)]
    padding = ". " * EXCERPT_CHARACTERS
    padding = padding[len(padding) - (EXCERPT_CHARACTERS - len(before) - cut) :]
    excerpt = excerpt_of((padding + sample.whole + "z" * EXCERPT_CHARACTERS).encode())
    assert excerpt == padding + before + (sample.hidden + sample.whole.partition(sample.hidden)[2] + "z" * 500)[:cut]
    redacted, _ = redact_answer({"excerpt": excerpt}, redactor)
    kept = redacted["excerpt"]
    assert isinstance(kept, str)
    return kept.removeprefix(padding + before).partition("[REDACTED:")[0] if kept.startswith(padding + before) else ""


def test_there_are_shapes_to_try() -> None:
    assert len(SECRETS) >= 50


@pytest.mark.slow
@for_each(("pattern", "sample"), SECRETS, label=lambda each: each[0].type)
def test_no_cut_through_a_secret_shows_more_than_how_such_secrets_begin(pattern: Pattern, sample: Sample) -> None:
    most = 0 if "(?P<hide>" in pattern.match else SHORTEST - 1
    most = SHORTEST_UNNAMED - 1 if pattern.type in UNNAMED else most
    for personal in (False, True):
        redactor = Redactor(hides_personal=personal)
        for cut in range(1, len(sample.hidden) + 1):
            left = shown(sample, cut, redactor)
            assert len(left) <= most, f"{left!r} of {sample.hidden!r}, cut behind {cut} characters"


@for_each(("pattern", "sample"), PERSONAL, label=lambda each: each[0].type)
def test_no_cut_through_personal_data_shows_more_than_a_few_letters(pattern: Pattern, sample: Sample) -> None:
    redactor = Redactor(hides_personal=True)
    for cut in range(1, len(sample.hidden) + 1):
        assert len(shown(sample, cut, redactor)) < SHORTEST


def test_a_text_that_was_not_cut_keeps_its_end() -> None:
    text = "using key AKIAIOSF"
    assert Redactor().redact(text).text == text
    assert redact_answer({"excerpt": text, "message": text}, Redactor())[0] == {"excerpt": text, "message": text}


def test_ordinary_words_at_a_cut_stay() -> None:
    for tail in (
        "failed to start contai",
        'err="context deadline exceed',
        "NetworkPluginNotRea",
        "/var/lib/kubelet/po",
    ):
        assert Redactor().redact(f"kubelet: {tail}", Around(is_cut=True)).text == f"kubelet: {tail}"


def test_a_long_word_behind_a_colon_is_no_password_that_was_cut() -> None:
    """The kernel's line on who was killed has no blank between its first colon and the end of the excerpt."""
    scope = f"/kubepods.slice/kubepods-burstable.slice/cri-containerd-{'a57fa896b208ad37' * 4}.scope"
    line = (
        f"[Thu Jan 15 09:42:21 2026] oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg={scope},task_memcg={scope}{scope}"
    )
    excerpt = excerpt_of(f"{line}{scope},task=java,pid=39246,uid=0".encode())
    assert len(excerpt) == EXCERPT_CHARACTERS
    assert redact_answer({"excerpt": excerpt}, Redactor())[0] == {"excerpt": excerpt}


def test_a_message_that_says_what_it_omits_is_a_cut_one() -> None:
    event = {"message": "using key AKIAIOSF", "omitted_characters": 40}
    redacted, tally = redact_answer({"events": [event]}, Redactor())
    assert redacted["events"] == [{"message": "using key [REDACTED:cut_off]", "omitted_characters": 40}]
    assert tally.counts == {"cut_off": 1}


def test_a_quote_of_a_cut_excerpt_is_known_again() -> None:
    line = "x" * 480 + " key AKIAIOSFODNN7EXAMPLE is used, and more follows"
    quote = redact_answer({"excerpt": excerpt_of(line.encode())}, Redactor())[0]["excerpt"]
    assert isinstance(quote, str) and quote.endswith(" key [REDACTED:cut_off]")
    assert stands_in(quote, line)
    assert not stands_in(quote.replace("key", "cat"), line)


@for_each("pattern", [*load_patterns()[PatternKind.SECRET], *load_patterns()[PatternKind.PERSONAL]])
def test_a_pattern_that_was_taken_apart_finds_the_same_when_it_is_put_together(pattern: Pattern) -> None:
    again = pattern.model_copy(update={"match": written(parse(pattern.match))})
    for sample in pattern.samples.hidden:
        text = f" {sample.whole} ".encode()
        found = {span.start for span in Engine([again], is_for_short_texts=True).spans(text)}
        assert found or pattern.needs or pattern.unless, sample.whole


@given(st.from_regex(r"(?:ab|[cd]{2,3}e?)+x{1,4}(?:yz)?", fullmatch=True, alphabet="abcdexyz"))
def test_every_beginning_of_a_match_is_one(text: str) -> None:
    pattern = beginnings(parse(r"(?:ab|[cd]{2,3}e?)+x{1,4}(?:yz)?"))
    assert all(re.fullmatch(pattern, text[:end]) for end in range(len(text) + 1))
    assert not re.fullmatch(pattern, text + "b")


@pytest.mark.parametrize("pattern", ["(a)", "a(?=b)", r"\pL", "(?:a", "a)", "[a", r"\1"])
def test_syntax_that_nobody_thought_of_is_refused(pattern: str) -> None:
    with pytest.raises(InputRefused):
        parse(pattern)
