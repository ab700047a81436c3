"""Refuses SQL that does more than read, or that DuckDB and Athena do not both understand. It judges the parse tree."""

import json
from collections.abc import Iterator
from typing import Any, Final, cast

from affidavit.errors import InputRefused
from affidavit.fleet.duckdb_connection import connect
from affidavit.fleet.schema import TABLES
from affidavit.fleet.sql_with_values import Inquiry

# Same name, same arguments, same meaning in DuckDB and in Athena's Trino.
_FUNCTIONS: Final = frozenset(
    (
        *("avg", "count", "count_star", "max", "min", "sum"),
        *("dense_rank", "lag", "lead", "rank", "row_number"),
        *("concat", "length", "lower", "replace", "starts_with", "substr", "substring", "trim", "upper", "||"),
        *("abs", "ceil", "floor", "greatest", "least", "round", "+", "-", "*", "/", "%"),
        *("coalesce", "date_trunc", "nullif", "~~", "!~~"),
    )
)
_NAMES: Final = frozenset(table.name for table in TABLES)
_HINT: Final = "ask with one SELECT over findings and nodes; docs/fleet.md lists columns and functions"


def check(inquiry: Inquiry) -> None:
    """Raises InputRefused unless it is one SELECT over the fleet's tables with functions both engines have."""
    tree = _parsed(inquiry.sql)
    asked = sum(1 for node in _walk(tree) if node.get("class") == "PARAMETER")
    if asked != len(inquiry.values):
        raise InputRefused(f"the question has {asked} place(s) for {len(inquiry.values)} value(s)", hint=_HINT)
    ctes = {name for node in _walk(tree) if "cte_map" in node for name in _cte_names(node["cte_map"])}
    for node in _walk(tree):
        _check(node, ctes)


def _parsed(sql: str) -> dict[str, Any]:
    with connect(threads=1) as engine:
        found = engine.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    tree = _tree(found[0]) if found is not None else {}
    if tree.get("error"):
        raise InputRefused(f"this SQL cannot be asked: {tree.get('error_message', 'it cannot be parsed')}", hint=_HINT)
    if len(tree.get("statements", ())) != 1:
        raise InputRefused("one question at a time", hint=_HINT)
    return tree


def _tree(told: str) -> dict[str, Any]:
    try:
        return json.loads(told)
    except RecursionError:
        raise InputRefused("the question is nested too deeply", hint=f"make it shorter; {_HINT}") from None


def _check(node: dict[str, Any], ctes: set[str]) -> None:
    if node.get("type") == "TABLE_FUNCTION":
        raise InputRefused("functions that return tables are refused", hint=_HINT)
    if node.get("type") == "BASE_TABLE":
        name = str(node.get("table_name", ""))
        if node.get("schema_name") or node.get("catalog_name") or name not in _NAMES | ctes:
            raise InputRefused(f"there is no table {name!a}", hint=_HINT)
    if "function_name" in node and str(node["function_name"]).lower() not in _FUNCTIONS:
        raise InputRefused(f"{node['function_name']!a} is not a function of both engines", hint=_HINT)


def _cte_names(ctes: dict[str, Any]) -> Iterator[str]:
    for entry in ctes.get("map", ()):
        yield str(entry["key"])


def _walk(tree: Any) -> Iterator[dict[str, Any]]:
    waiting: list[Any] = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            node = cast("dict[str, Any]", value)  # keys of a JSON object are strings
            yield node
            waiting.extend(node.values())
        elif isinstance(value, list):
            waiting.extend(cast("list[Any]", value))  # items may be of any type
