"""A SELECT of the user's own for DuckDB, as DuckDB's parser reads it: what it names, and why it is refused.

The parser is DuckDB's and the list is of what is allowed, so that nothing is run that was not understood. The session
that runs it is closed to everything else as well; see `rules.engines.tables`.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import duckdb

from rules.document.mistakes import RuleError, short, suggestion

_SLOT = b"slot"
_NO_SLOT = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_QUERIES = ("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE")
_TABLES = ("BASE_TABLE", "SUBQUERY", "JOIN", "EXPRESSION_LIST", "EMPTY", "PIVOT", "TABLE_FUNCTION")
_PARTS = re.compile(r"[A-Z_]+_MODIFIER|ORDER_DEFAULT|ASCENDING|DESCENDING")
_TABLE_FUNCTIONS = ("unnest", "range", "generate_series")
_FUNCTIONS = re.compile(
    # settings, the environment, other statements, and what DuckDB knows of itself
    "current_setting|getvariable|getenv|query|query_table|current_(query|connection_id|query_id|transaction_id)"
    "|json_(de)?serialize_.*|json_execute_.*|pg_get_.*|which_secret|duckdb_.*|txid_current|stats|vector_type"
    # effects
    "|nextval|currval|setval|setseed|write_log|sleep_ms|pg_sleep|error|read_.*"
    # another answer each time, or elsewhere
    "|random|uuid|uuidv4|uuidv7|gen_random_uuid"
    "|now|today|get_current_(time|timestamp)|transaction_timestamp|current_.*|in_search_path|version"
    # our own
    "|python_.*"
)
_TIMES = re.compile("current_(date|time|timestamp|user|role|schema|catalog)|local(time|timestamp)|(session_)?user")
"""Words that are no columns unless a table has them: DuckDB replaces them by what is true when the query runs."""
_WHOLE = ("STAR", "POSITIONAL_REFERENCE")
"""Expressions that may mean any column."""


class SelectRefused(RuleError):
    """The text is no SELECT that may run; the message is a clause."""


@dataclass(frozen=True)
class Select:
    """One SELECT that only reads. `:slot` in it is the due time."""

    text: str
    tree: Mapping[str, Any] = field(repr=False)

    def at(self, slot: dt.datetime) -> str:
        """Return the text for that due time."""
        return _at(self.text, slot)

    def datasets(self, declared: Collection[str]) -> tuple[str, ...]:
        """Return those of the declared datasets that it reads, each once. Raises SelectRefused for any other table."""
        names: dict[str, None] = {}
        for path in self._tables:
            name = _declared(path, declared)
            if name is not None:
                names[name] = None
            elif len(path) > 1 or path[0].lower() not in self.with_names:
                raise SelectRefused(_unknown(path, declared))
        if len({name.lower() for name in names}) < len(names):
            raise SelectRefused("it reads two datasets whose names differ only in upper and lower case; rename one")
        return tuple(names)

    @cached_property
    def columns(self) -> frozenset[str] | None:
        """The names, in lower case, among which are all columns that it reads; None if it may read any column."""
        names: set[str] = set()
        tables = [node for node in self.nodes if node.get("type") in _TABLES and "class" not in node]
        records = {str(table.get(key, "")).lower() for table in tables for key in ("alias", "table_name")}
        for node in self.nodes:
            path = [str(part).lower() for part in node.get("column_names", ())]
            if _reads_any(node) or (len(path) == 1 and path[0] in records):  # a table's name means the whole record
                return None
            names.update(path, (str(name).lower() for name in node.get("using_columns", ())))
        return frozenset(names)

    @cached_property
    def nodes(self) -> Sequence[Mapping[str, Any]]:
        """All parts of the tree."""
        return tuple(_walk(self.tree))

    @property
    def _tables(self) -> Iterator[tuple[str, ...]]:
        """The tables that it names, each with its catalogue and schema if they are written."""
        for node in self.nodes:
            if node.get("type") == "BASE_TABLE" and "class" not in node:
                path = (node["catalog_name"], node["schema_name"], node["table_name"])
                yield tuple(filter(None, path)) or ("",)

    @cached_property
    def with_names(self) -> set[str]:
        """The names that it gives in `with`, in lower case."""
        parts = (part for node in self.nodes for part in node.get("cte_map", {}).get("map", ()))
        return {str(part["key"]).lower() for part in parts}


@functools.lru_cache(maxsize=64)
def parse_select(text: str) -> Select:
    """Raises SelectRefused."""
    with duckdb.connect(config={"enable_external_access": "false", "threads": 1}) as con:
        [(tree,)] = con.execute("select json_serialize_sql($text)", {"text": _at(text, _NO_SLOT)}).fetchall()
        own_views = {name for (name,) in con.execute("select lower(view_name) from duckdb_views()").fetchall()}
    try:
        select = Select(text, _only_statement(json.loads(tree)))
    except RecursionError:
        raise SelectRefused("it is nested too deeply") from None
    if (reason := next(filter(None, map(_refusal, select.nodes)), None)) is not None:
        raise SelectRefused(reason)
    if shadowed := sorted(own_views & select.with_names):
        raise SelectRefused(f"DuckDB has a table of its own called `{shadowed[0]}`; rename it in `with`")
    return select


def _at(text: str, slot: dt.datetime) -> str:
    """Return the text with this time in place of `:slot`, where DuckDB sees it as two words of its own."""
    if "\x00" in text:
        raise SelectRefused("it holds a NUL character")
    written = text.encode()
    value = f"(timestamptz '{slot.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S.%f}+00')".encode()
    tokens = duckdb.tokenize(text)  # positions in bytes
    pieces, end = [], 0
    for (sign, sign_kind), (word, word_kind) in itertools.pairwise(tokens):
        is_parameter = (
            sign_kind is duckdb.token_type.operator
            and word_kind is duckdb.token_type.identifier
            and written[sign:word] == b":"
            and re.match(rb"slot\b", written[word:])
        )
        if is_parameter:
            pieces += [written[end:sign], value]
            end = word + len(_SLOT)
    return b"".join([*pieces, written[end:]]).decode()


def _only_statement(parsed: Mapping[str, Any]) -> Mapping[str, Any]:
    if parsed["error"]:
        message = str(parsed["error_message"])
        if parsed["error_type"] == "parser":
            raise SelectRefused(f"DuckDB cannot read it: {short(message, 200)}")
        raise SelectRefused("it is no select")
    statements = parsed["statements"]
    if len(statements) != 1:
        raise SelectRefused("it holds more than one statement" if statements else "it is empty")
    statement: Mapping[str, Any] = statements[0]
    return statement


def _walk(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting: list[Any] = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)


def _refusal(node: Mapping[str, Any]) -> str | None:
    """Return why a part of the tree is refused, as a clause."""
    kind = node.get("type")
    if node.get("class") == "PARAMETER":
        return "it holds a parameter; only `:slot` has a value"
    if node.get("sample"):
        return "it takes a sample, which differs in each run"
    if node.get("class") == "COLUMN_REF" and (path := node["column_names"]) and len(path) == 1:
        word = str(path[0])
        is_refused = _TIMES.fullmatch(word.lower()) is not None
        return (
            f"it uses {short(word)}; write :slot for the time of the run, or t.{word} for a column"
            if is_refused
            else None
        )
    if node.get("class") in ("FUNCTION", "WINDOW"):
        name = str(node["function_name"])
        is_refused = _FUNCTIONS.fullmatch(name.lower()) is not None
        if name.lower() == "age" and len(node["arguments"]) == 1:
            return "it calls age with one date, which is compared with today; write age(:slot, …)"
        return f"it calls {short(name)}, which rules may not call" if is_refused else None
    if "class" in node or not isinstance(kind, str):
        return None
    if kind == "TABLE_FUNCTION":
        name = str(node["function"].get("function_name", ""))
        return None if name.lower() in _TABLE_FUNCTIONS else f"it reads {short(name)}(…), but may read only datasets"
    is_allowed = kind in _QUERIES or kind in _TABLES or _PARTS.fullmatch(kind)
    return None if is_allowed else "it does more than select from datasets"


def _reads_any(node: Mapping[str, Any]) -> bool:
    return (
        node.get("class") in _WHOLE
        or node.get("type") == "PIVOT"
        or node.get("ref_type") == "NATURAL"
        or bool(node.get("column_name_alias"))
    )


def _declared(path: Sequence[str], declared: Collection[str]) -> str | None:
    """Return the dataset that a table is: DuckDB ignores upper and lower case."""
    if len(path) > 1:
        return None
    alike = [name for name in declared if name.lower() == path[0].lower()]
    return path[0] if path[0] in alike else alike[0] if len(alike) == 1 else None


def _unknown(path: Sequence[str], declared: Collection[str]) -> str:
    name = ".".join(path)
    if name in declared:
        return f'it reads {short(name)}, which needs double quotes: "{name}"'
    return f"it reads `{short(name)}`, but there is no such dataset; {suggestion(name, declared)}"
