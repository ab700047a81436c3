"""Both engines find exactly the lines that RE2 matches one by one."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from affidavit.errors import InputRefused
from affidavit.nodes.search import longest_required_text, scanning
from affidavit.nodes.search.located_lines import LineSpan as Span
from affidavit.nodes.search.queries import Query, _bytes_pattern, compile_query
from affidavit.nodes.search.scanning import scan_files

ATOMS = ["a", "b", "ab", "[ab]", "[^a]", r"\w", r"\s", r"\d", ".", "(?:a|bk)", r"\b", "^", "$", "err", r"\W", "k+"]
ATOMS += ["[[:alpha:]]", "[]a]", "]", r"\]", "err|k", "(?:b)", "a{2}", r"\r", r"\015", r"\x0d", r"[\s]", r"[^\r]"]
ATOMS += ["b*", "a?", "[a-k]{2,3}", ".*", "(?:err|ab|k1)", r"\S+", r"\A", r"\z", "é", "(?i)", r"\xff"]
TEXTS = [b"a", b"b", b"k", b"K", b"A", b" ", b"err", b"1", b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"]", "é".encode()]
QUERIES = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4).map("".join)
CONTENTS = st.lists(st.sampled_from(TEXTS), max_size=80).map(b"".join)


def expected(query: Query, content: bytes) -> list[Span]:
    found: list[Span] = []
    at = 0
    lines = content.split(b"\n")
    for line in lines if lines[-1] else lines[:-1]:
        bare = line.removesuffix(b"\r")
        if query.matches(bare):
            found.append((at, at + len(bare)))
        at += len(line) + 1
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scan") / "x.log"


@pytest.mark.parametrize("engine", ["hyperscan where it can", "re2"])
@settings(max_examples=400, deadline=None)
@given(text=QUERIES, content=CONTENTS, block=st.integers(8, 64))
@example(text=r"\015", content=b"a\r\nb\n", block=64)
@example(text=r"\x0d", content=b"a\r\nb\n", block=64)
@example(text=r"b[^a]", content=b"a\r\nb\r\nb\n", block=64)
def test_the_lines_found_are_those_that_match(path: Path, engine: str, text: str, content: bytes, block: int) -> None:
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longest_required_text, "_SHORTEST", 99)
        try:
            query = Query(text)
        except InputRefused:
            return
        if engine == "re2":
            query.database = None
        patch.setattr(scanning, "RANGE", block)
        patch.setattr(scanning, "_MANY", 3)
        found = scan_files(query, [path], 5)[0]
    lines = expected(query, content)
    assert (found.count, found.spans) == (len(lines), lines[:5])


@settings(max_examples=400, deadline=None)
@given(
    around=st.tuples(QUERIES, QUERIES),
    content=st.lists(st.sampled_from([b"err", b"err", b"err\n", b"a", b"b", b"\r\n", *TEXTS]), max_size=60).map(
        b"".join
    ),
    block=st.integers(8, 64),
)
def test_the_lines_found_by_a_needle_are_those_that_match(
    path: Path, around: tuple[str, str], content: bytes, block: int
) -> None:
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longest_required_text, "_SHORTEST", 3)
        patch.setattr(scanning, "RANGE", block)
        try:
            query = Query("err".join(around))
        except InputRefused:
            return
        found = scan_files(query, [path], 5)[0]
    lines = expected(query, content)
    assert (found.count, found.spans) == (len(lines), lines[:5])


def test_a_match_that_reaches_the_last_byte_is_found(path: Path) -> None:
    """Hyperscan alone misses these."""
    for text, content in (("b+$", b"x\r\n\nkubelet b\n"), ("(?i)(?:a|bk)b*[ab]", b" K\0\x001KAa"), ("a$", b"\0 a")):
        path.write_bytes(content)
        query = Query(text)
        assert scan_files(query, [path], 5)[0].spans == expected(query, content) != []


def test_a_flood_of_matches_is_still_counted_exactly(path: Path) -> None:
    path.write_bytes(b"word word word\n" * 5000 + b"\n" * 100)
    found = scan_files(Query(r"\w"), [path], 3)[0]
    assert (found.count, len(found.spans)) == (5000, 3)


@pytest.mark.parametrize(
    ("query", "needle"),
    [
        (r'pod="[^"]*".*latency=\d+', "latency="),
        (r"^kubelet\.go:\d+", "kubelet.go:"),
        ("nf_conntrack: table full", None),  # all of it is one text: nothing is won
        ("(?i)error.*timeout", None),
        ("error.*|timeout", None),
        ("(error).*", None),
        ("[[:digit:]]error", "error"),
        ("errors?", "error"),
        ("erro+r.*", None),
        ("é.*error", None),
    ],
)
def test_the_longest_text_of_every_match_is_looked_for_first(query: str, needle: str | None) -> None:
    assert longest_required_text.needle_of(_bytes_pattern(query)) == needle


def test_a_needle_that_stands_everywhere_is_given_up_and_nothing_is_missed(path: Path) -> None:
    content = b"level=info msg=ok latency=none\n" * 20_000 + b"level=warn latency=7\r\n" + b"level=warn latency=8"
    path.write_bytes(content)
    query = Query(r"latency=\d$")
    assert query.needles is not None
    assert scan_files(query, [path], 5)[0].spans == expected(query, content)
    assert len(expected(query, content)) == 2


def test_many_files_answer_in_order(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.log" for number in range(40)]
    for number, each in enumerate(paths):
        each.write_bytes(b"hit\n" * number)
    assert [found.count for found in scan_files(Query("hit"), paths, 1)] == list(range(40))


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    found = scan_files(Query("x"), [tmp_path / "gone.log"], 1)[0]
    assert found.failure


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (r"(a)\1", "backreference"),
        (r"(?P<n>a)(?P=n)", "backreference"),
        ("(?=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        ("(a{1000}){1000}", "repetition"),
        (".{999}" * 150, "too big"),
        ("(", "missing"),
        (r"a\nb", "one line"),
        ("[é]", "several bytes"),
        ("(?-m)^a", "flag m"),
        ("\ud800", "half a character"),
    ],
)
def test_a_pattern_that_cannot_be_taken_is_refused_with_why(query: str, why: str) -> None:
    with pytest.raises(InputRefused, match=why) as refused:
        compile_query(query)
    assert refused.value.hint


@pytest.mark.parametrize("query", ["(a+)+$", "(x+x+)+y", "(.*a){12}$", "(a|aa)+$", r"(\w+\s?)*!$"])
def test_patterns_that_hang_other_engines_do_not_hang_this_one(path: Path, query: str) -> None:
    path.write_bytes((b"a" * 5000 + b"!\n") * 200 + b"x" * 100_000 + b"\n")
    assert scan_files(Query(query), [path], 1)[0].failure == ""


def test_a_query_that_crawls_stops_and_says_what_it_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "SECONDS", -1.0)
    path.write_bytes(b"hit\n" * 100)
    assert "not searched to its end" in scan_files(Query("hit"), [path], 1)[0].failure
