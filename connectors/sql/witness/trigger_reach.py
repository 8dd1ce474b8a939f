"""Decide from the text of triggers of MariaDB and MySQL that they change no table of a plan.

The servers' one count for all tables does not say where rows were changed. We trust a trigger to stay out of a plan's
tables only if we know every name in its text: plain tables without triggers or foreign keys to them, and built-in
functions. Any other name might lead back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from connectors.sql.target.session import Session

_TOKENS = re.compile(
    r"--\s[^\n]*|\#[^\n]*|/\*.*?(?:\*/|$)|'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|`(?:[^`]|``)*`|[\w$@]+|[^\s]",
    re.S,
)
_TABLE_FOLLOWS = {"into", "update", "from", "join", "ignore", "low_priority", "delayed", "replace", "insert"}
_WORDS_BETWEEN = {"into", "ignore", "low_priority", "delayed", "quick", "from"}
_RUNS_OTHERS = {"call", "execute", "prepare", "handler", "load", "cursor"}
_FUNCTIONS = frozenset(
    """
    abs adddate addtime bin cast ceil ceiling char_length character_length coalesce concat concat_ws conv convert count
    crc32 curdate current_date current_time current_timestamp current_user curtime database date date_add date_format
    date_sub datediff day dayofmonth elt exists extract field floor format from_unixtime greatest group_concat hex hour
    if ifnull in insert_id interval json_array json_extract json_object json_quote json_value last_insert_id lcase least
    left length localtime localtimestamp lower lpad ltrim max md5 microsecond mid min minute mod month now nullif ord
    pow power quote rand regexp_replace repeat replace reverse right round rpad rtrim schema second session_user sha
    sha1 sha2 sign space str_to_date strcmp substr substring substring_index sum sysdate system_user time timestamp
    timestampdiff trim truncate ucase unhex unix_timestamp upper user utc_date utc_time utc_timestamp uuid values week
    year and or not on as when then else set key
    """.split()  # noqa: SIM905 - as a list it would be longer than the rest of the module
)
"""The names allowed before a parenthesis: functions of the server that change nothing, and keywords."""
_PLAIN = """
    SELECT count(*) FROM information_schema.tables t
    WHERE t.table_schema = %s AND t.table_name = %s AND t.table_type = 'BASE TABLE'
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.triggers g
        WHERE g.event_object_schema = t.table_schema AND g.event_object_table = t.table_name
    )
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.key_column_usage k
        WHERE k.referenced_table_schema = t.table_schema AND k.referenced_table_name = t.table_name
    )
"""


def stays_elsewhere(session: Session, schema: str, body: str, plan: Collection[str]) -> bool:
    """Return True if a trigger of a table in `schema` certainly changes none of the tables `plan` (bare names)."""
    tokens = [token for token in map(_plain, _TOKENS.findall(body)) if token]
    words = [token.lower() for token in tokens]
    if _RUNS_OTHERS & set(words) or "/*!" in body or "/*M!" in body:  # such a comment is executed
        return False
    tables = _tables(tokens, words)
    if tables is None or not _knows_functions(words, tables.keys()):
        return False
    names = {name.lower() for name in plan}
    reached = set(tables.values())
    return all(
        name.lower() not in names and session.value(_PLAIN, (own_schema or schema, name))
        for own_schema, name in reached
    )


def _plain(token: str) -> str:
    """A token without comments and texts; a quoted name gets a mark, so that it is not a keyword."""
    if token.startswith(("--", "#", "/*", "'", '"')):
        return "" if token.startswith(("--", "#", "/*")) else "''"
    return "`" + token[1:-1].replace("``", "`") if token.startswith("`") else token


def _tables(tokens: Sequence[str], words: Sequence[str]) -> dict[int, tuple[str, str]] | None:
    """The (schema, table) names in the places of tables, by place; None if that is not certain."""
    by_place = {}
    for place, word in enumerate(words):
        if words[place - 1 : place] == ["key"] and word == "update":
            continue  # ON DUPLICATE KEY UPDATE
        if word not in _TABLE_FOLLOWS or (word in ("replace", "insert") and words[place + 1 : place + 2] == ["("]):
            continue
        at = place + 1
        while at < len(words) and words[at] in _WORDS_BETWEEN:
            at += 1
        if at >= len(words) or not re.fullmatch(r"`.+|[\w$]+", tokens[at]):
            return None  # a subquery or unknown syntax
        name, schema = tokens[at].lstrip("`"), ""
        if tokens[at + 1 : at + 2] == ["."] and at + 2 < len(tokens):
            at += 2
            schema, name = name, tokens[at].lstrip("`")
        by_place[at] = schema, name
        if tokens[at + 1 : at + 2] == [","] and word in ("from", "join", "update"):
            return None  # a list of tables
    return by_place


def _knows_functions(words: Sequence[str], tables: Collection[int]) -> bool:
    """Return True if each name before a parenthesis is a built-in function, a keyword, or a table in its place."""
    calls = [place for place, (word, after) in enumerate(pairwise(words)) if after == "(" and re.match(r"[`\w$]", word)]
    return all(place in tables or (words[place] in _FUNCTIONS and words[place - 1 : place] != ["."]) for place in calls)
