import pytest

from affidavit.errors import InputRefused
from affidavit.fleet.dialect import check_sql
from affidavit.fleet.questions import QUESTIONS


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_named_question_uses_only_what_both_engines_have(question) -> None:
    check_sql(question.sql)


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
        check_sql(sql)
    assert refused.value.hint


def test_a_question_of_ones_own_may_name_parts_of_itself() -> None:
    check_sql("with bad as (select instance_id from nodes where critical > 0) select count(*) from bad")
