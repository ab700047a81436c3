from datetime import date

import pytest

from affidavit.errors import InputRefused
from affidavit.fleet.questions import QUESTIONS
from affidavit.fleet.sql_check import check
from affidavit.fleet.sql_with_values import FleetScope, Inquiry


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_named_question_uses_only_what_both_engines_have(question) -> None:
    check(question.asked())
    check(question.asked(FleetScope(clusters=("a", "b"), since=date(2026, 1, 1))))


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from duckdb_settings()",
        "select * from information_schema.tables",
        "select getenv('HOME') from nodes",
        "select * from nodes; select 1",
        "with x as (select * from read_text('/etc/passwd')) select * from x",
        "select (select content from read_text('/etc/passwd')) from nodes",
        "drop table nodes",
        "copy nodes to 'x'",
        "attach 'x.db'",
        "select list_value(1, 2)",
        "select * from nodes where pattern ilike 'x'",
        "selec nothing",
        "",
    ],
)
def test_what_is_no_question_about_the_fleet_is_refused(sql: str) -> None:
    with pytest.raises(InputRefused) as refused:
        check(Inquiry(sql=sql))
    assert refused.value.hint


def test_a_question_of_ones_own_may_name_parts_of_itself() -> None:
    check(Inquiry(sql="with bad as (select instance_id from nodes where critical > 0) select count(*) from bad"))


@pytest.mark.parametrize(("sql", "values"), [("select * from nodes where cluster = ?", ()), ("select 1", ("prod",))])
def test_a_value_without_a_place_and_a_place_without_a_value_are_refused(sql: str, values: tuple[str, ...]) -> None:
    with pytest.raises(InputRefused, match="place"):
        check(Inquiry(sql=sql, values=values))


def test_a_value_never_becomes_part_of_the_sql() -> None:
    hostile = "x') OR 1 = 1 --"
    for question in QUESTIONS:
        asked = question.asked(FleetScope(clusters=(hostile,)))
        assert hostile not in asked.sql
        assert asked.values == (hostile, hostile)


@pytest.mark.parametrize(("terms", "why"), [(400, "nested too deeply"), (5_000, "depth limit")])
def test_a_question_too_deep_to_be_looked_at_is_refused(terms: int, why: str) -> None:
    with pytest.raises(InputRefused, match=why) as refused:
        check(Inquiry(sql=f"select {'+'.join(['1'] * terms)} from nodes"))
    assert refused.value.hint


def test_a_forbidden_function_is_found_however_deep_it_stands() -> None:
    with pytest.raises(InputRefused, match="getenv"):
        check(Inquiry(sql=f"select getenv('HOME') || {' || '.join(['instance_id'] * 150)} from nodes"))
