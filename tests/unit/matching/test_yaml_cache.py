"""What was parsed before is known again, and nothing but that."""

from pathlib import Path

import pytest
import yaml

from affidavit.matching import yaml_cache
from affidavit.matching.yaml_cache import read_yaml


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that went to the parser."""
    seen: list[str] = []
    load = yaml.load

    def noting(text: str, Loader: type) -> object:  # noqa: N803  # its name over there
        seen.append(text)
        return load(text, Loader=Loader)

    monkeypatch.setattr(yaml_cache.yaml, "load", noting)
    return seen


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def files(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"{number}.yaml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def documents(paths: list[Path]) -> list[object]:
    return [each.document for each in read_yaml(paths)]


def test_the_same_texts_are_parsed_once(tmp_path: Path, unparsed: list[str]) -> None:
    paths = files(tmp_path, "a: [1, 2.5, null, true]", "- b: é\n")
    first = documents(paths)
    assert first == [{"a": [1, 2.5, None, True]}, [{"b": "é"}]]
    assert documents(paths) == first
    assert unparsed == ["a: [1, 2.5, null, true]", "- b: é\n"]


def test_a_changed_text_is_parsed_again(tmp_path: Path, unparsed: list[str]) -> None:
    documents(files(tmp_path, "a: 1", "b: 1"))
    assert documents(files(tmp_path, "a: 1", "b: 2")) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("text", ["when: 2026-01-15", "1: one", "yes: [1]", "x: !!set {a}", "x: !!binary aGk="])
def test_what_json_cannot_tell_is_the_same_every_time(tmp_path: Path, unparsed: list[str], text: str) -> None:
    paths = files(tmp_path, text)
    assert documents(paths) == documents(paths) == [yaml.safe_load(text)]
    assert len(unparsed) == 2 + 1  # and once by the line above


def test_a_file_that_is_no_yaml_keeps_its_error_and_the_others_their_documents(tmp_path: Path) -> None:
    paths = [*files(tmp_path, "a: 1", "a: [", "a: 2"), tmp_path / "gone.yaml"]
    for _ in range(2):
        read = read_yaml(paths)
        assert [each.document for each in read] == [{"a": 1}, None, {"a": 2}, None]
        assert isinstance(read[1].error, yaml.YAMLError)
        assert isinstance(read[3].error, FileNotFoundError)
