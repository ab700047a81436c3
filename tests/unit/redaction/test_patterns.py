from pathlib import Path

import pytest
from tests.support.each import for_each

from affidavit.errors import InputRefused
from affidavit.redaction.engine import Engine
from affidavit.redaction.pattern import Pattern, PatternKind, Sample
from affidavit.redaction.pattern_loading import check_samples, load_patterns
from affidavit.redaction.prefilter import PAYS_FROM
from affidavit.redaction.redact import Redactor

PATTERNS = load_patterns()[PatternKind.SECRET]
SECRETS = [sample for pattern in PATTERNS for sample in pattern.samples.hidden]
# Known by one line alone, so other text may stand around it.
ON_ONE_LINE = [
    sample
    for pattern in PATTERNS
    if pattern.finder is None
    for sample in pattern.samples.hidden
    if "\n" not in sample.whole and not pattern.match.startswith(("(?im)^", "(?m)^"))
]
PERSONAL = [sample for pattern in load_patterns()[PatternKind.PERSONAL] for sample in pattern.samples.hidden]
KEPT = [text for patterns in load_patterns().values() for pattern in patterns for text in pattern.samples.kept]


def a_pattern(match: str, **more: object) -> Pattern:
    return Pattern.model_validate(
        {"type": "x", "match": match, "samples": {"hidden": [{"text": "a", "hides": "a"}]}} | more
    )


@pytest.mark.parametrize("kind", PatternKind)
def test_every_pattern_hides_exactly_what_its_samples_say(kind: PatternKind) -> None:
    assert check_samples(load_patterns()[kind]) == []


def test_there_are_at_least_a_hundred_and_fifty_shapes_of_secret() -> None:
    assert len({sample.whole for sample in SECRETS}) >= 150


@pytest.mark.parametrize(
    "around", ["{}", "Jan 01 10:00:00 node app[7]: {} end\nnext line", 'msg="{}" err=nil', "\t{}\r\n"]
)
@for_each("sample", ON_ONE_LINE)
def test_a_planted_secret_is_hidden_wherever_it_stands(sample: Sample, around: str) -> None:
    text = around.replace("{}", sample.whole)
    assert sample.hidden not in Redactor().redact(text).text


@for_each("sample", PERSONAL)
def test_personal_data_is_hidden_when_asked_and_kept_when_not(sample: Sample) -> None:
    assert sample.hidden not in Redactor(hides_personal=True).redact(sample.whole).text
    assert Redactor().redact(sample.whole).text == sample.whole


def test_a_sample_that_misbehaves_is_named() -> None:
    pattern = a_pattern("b+", samples={"hidden": [{"text": "abc", "hides": "c"}], "kept": ["b"]})
    assert check_samples([pattern]) == ["x: hides 'b' of 'abc', not 'c'", "x: hides part of 'b'"]


@pytest.mark.parametrize("match", ["(?<=a)b", "(a)b", "a)", "ä"])
def test_a_pattern_outside_the_language_is_refused(match: str) -> None:
    with pytest.raises(InputRefused):
        Engine([a_pattern(match)])


def test_without_hyperscan_the_same_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = load_patterns()[PatternKind.SECRET]
    text = "\n".join(sample.whole for sample in SECRETS).encode()
    with_it = Engine(patterns).spans(text)
    monkeypatch.setitem(__import__("sys").modules, "hyperscan", None)
    assert Engine(patterns).spans(text) == with_it


def test_patterns_find_the_same_before_their_engine_is_built_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    texts = [sample.whole.encode() for sample in SECRETS] + [text.encode() for text in KEPT]
    engine = Engine(PATTERNS)
    monkeypatch.setattr("affidavit.redaction.prefilter.PAYS_FROM", 0)
    built = Engine(PATTERNS)
    # Few texts: 96 KiB of them would have the engine built.
    assert sum(map(len, texts)) < PAYS_FROM
    assert [engine.spans(text) for text in texts] == [built.spans(text) for text in texts]
    assert [path.name for path in tmp_path.rglob("engines/*")] != []


def test_few_texts_are_redacted_without_building_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    engine = Engine(PATTERNS)
    assert engine.spans(b"password=correct-horse-battery") and not [*tmp_path.rglob("engines/*")]
    engine.spans(b"line\n" * (PAYS_FROM // 5))
    assert [*tmp_path.rglob("engines/*")]
