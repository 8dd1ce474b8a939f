"""A user's own SQL before it is sent: one statement that reads. The only entry of it.

We split it into words as the database would, because a comment or a quoted text that only one of us sees could hide a
second statement: PostgreSQL nests comments, MariaDB executes some, and quotes and dollars differ. What the statement
means is the database's business, in a session that cannot write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from connectors.errors import NotReadOnly

_READS = ("select", "with", "values", "table")
_CHANGES = ("insert", "update", "delete", "merge")
_LOCKS = {"for": ("update", "share", "key", "no"), "lock": ("in",)}
_FUNCTIONS = re.compile(
    # PostgreSQL: files, other servers and statements, settings, sequences, locks, administration
    "pg_(read|stat)_(binary_)?file|pg_read_.*|pg_ls_.*|pg_current_logfile|lo_.*|lowrite|loread|set_config"
    "|nextval|setval|pg_(try_)?advisory.*|pg_notify|pg_(terminate|cancel)_backend|pg_reload_conf|pg_rotate_logfile.*"
    "|pg_switch_(wal|xlog)|pg_create_.*|pg_drop_.*|pg_copy_.*|pg_logical.*|pg_replication.*|pg_promote"
    "|pg_(start|stop)_backup|pg_backup_.*|pg_wal_replay_.*|pg_import_.*|pg_file_.*|pg_log.*|pg_stat_reset.*"
    # PostgreSQL: SQL that is given as text, which is read as a second statement; other servers
    "|ts_stat|ts_rewrite|(query|table|schema|database|cursor)_to_xml.*|xpath_table|crosstab.*|connectby.*|cypher|dblink.*"
    "|postgres_fdw_.*|http|http_.*|urlencode_.*|aws_.*|query_export_to_s3|table_import_from_s3"
    # MariaDB and MySQL
    "|load_file|get_lock|release_(all_)?locks?|is_(free|used)_lock|sys_.*|lib_mysqludf.*|http_(get|put|post|delete)"
    "|master_.*wait.*|source_pos_wait|wait_for_executed_gtid_set|wait_until_sql_thread_after_gtids|benchmark|sleep|spider_.*"
    # SQLite
    "|load_extension|readfile|writefile|edit|fsdir|lsmode|zipfile|sqlar_.*|eval|fts3_tokenizer"
    # DuckDB
    "|read_(csv|parquet|json|ndjson|text|blob|xlsx).*|sniff_csv|parquet_.*|(sqlite|postgres|mysql)_(scan|query|attach).*"
    "|query_table|(iceberg|delta|lance)_.*|st_read.*|getenv|which_secret|duckdb_secrets"
)
"""Functions that write, read files, run SQL that they are given, reach other servers, or hold what others need.

A session that cannot write has no say in these.
"""

_WORD, _QUOTED, _TEXT, _SIGN = "word", "quoted", "text", "sign"
_COMMON = r"""
    (?P<space>\s+)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>\d[\w.]*)
"""
_ENDED = r"(?:'(?:[^']|'')*')"
_LEXICONS = {
    "postgresql": rf"""
    (?P<comment>--[^\r\n]*)
  | (?P<text>[eE]'(?:[^'\\]|\\.|'')*' | (?:[bBxXnN])?{_ENDED} | \$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)
  | (?P<quoted>"(?:[^"]|"")*")
  | {_COMMON}""",
    "mysql": rf"""
    (?P<comment>--(?=\s|\Z)[^\n]* | \#[^\n]* | /\*(?!M?!).*?\*/)
  | (?P<text>(?:[bBxXnN])?'(?:[^'\\]|\\.|'')*')
  | (?P<quoted>`(?:[^`]|``)*` | "(?:[^"\\]|\\.|"")*")
  | {_COMMON}""",
    "sqlite": rf"""
    (?P<comment>--[^\n]* | /\*.*?(?:\*/|\Z))
  | (?P<text>[xX]?{_ENDED})
  | (?P<quoted>"(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\])
  | {_COMMON}""",
    "": rf"""
    (?P<comment>--[^\n]* | /\*.*?\*/)
  | (?P<text>{_ENDED} | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
  | (?P<quoted>"(?:[^"]|"")*" | `(?:[^`]|``)*`)
  | {_COMMON}""",
}
"""How each database reads its SQL; "" for any other."""
_COMPILED = {name: re.compile(text, re.VERBOSE | re.DOTALL) for name, text in _LEXICONS.items()}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)

    @property
    def name(self) -> str:
        """The word or quoted name, in lower case and without its quotes."""
        return self.text.strip('"`[]').lower() if self.kind == _QUOTED else self.text.lower()


class _Unreadable(Exception):
    """The text cannot be split as the database would; the message is a clause."""


def read_only(source: str, query: str, dialect: str = "") -> str:
    """Return the query without a closing semicolon, usable in parentheses. Raises NotReadOnly."""
    reason = refusal(query, dialect)
    if reason is not None:
        raise NotReadOnly(source, reason)
    ends = [token for token in _tokens(query, dialect) if token.text == ";"]
    return query[: ends[0].at if ends else None].strip() + "\n"


def refusal(query: str, dialect: str = "") -> str | None:
    """Return why the query is not sent, as a clause; None for one statement that only reads."""
    try:
        tokens = list(_tokens(query, dialect))
    except _Unreadable as problem:
        return str(problem)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    first = next((token.name for token in tokens if token.text != "("), None)
    if first not in _READS:
        return f"it starts with {first!r}" if first else "it is empty"
    if any(token.kind == _SIGN and token.text == ";" for token in tokens):
        return "it holds more than one statement"
    if not _is_balanced(tokens):
        return "its parentheses do not match"
    return _forbidden(tokens)


def with_value(query: str, parameter: str, literal: str, dialect: str) -> str:
    """Return the query with this literal in place of `:parameter`, where that is no part of a text or a comment."""
    pieces, end, colon = [], 0, -1
    for token in _tokens(query, dialect):
        if token.text == parameter and token.at == colon + 1 and query[colon - 1 : colon] != ":":
            pieces += [query[end:colon], literal]
            end = token.end
        colon = token.at if token.text == ":" else -2
    return "".join([*pieces, query[end:]])


def _forbidden(tokens: Sequence[_Token]) -> str | None:
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        after = following.text.lower() if following is not None else ""
        if after == "(" and token.kind in (_WORD, _QUOTED) and _FUNCTIONS.fullmatch(token.name):
            return f"it calls {token.name}, which does more than read"
        if token.kind != _WORD:
            continue
        if after in _LOCKS.get(token.name, ()):
            return "it locks records"
        if token.name in _CHANGES and after != "(":
            return f"it holds {token.name!r}, which changes data; a column of that name needs quotes"
        if token.name == "into":
            return "it holds 'into', which writes its result"
    return None


def _is_balanced(tokens: Sequence[_Token]) -> bool:
    depth = 0
    for token in tokens:
        if token.kind == _SIGN:
            depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            return False
    return depth == 0


def _tokens(query: str, dialect: str) -> Iterator[_Token]:
    """Yield words, quoted names, texts and signs; raises _Unreadable."""
    lexicon = _COMPILED.get(dialect, _COMPILED[""])
    if "\x00" in query:
        raise _Unreadable("it holds a NUL character")
    at = 0
    while at < len(query):
        match = lexicon.match(query, at)
        if dialect == "postgresql" and query.startswith("/*", at):
            at = _after_nested_comment(query, at)
        elif match is None:
            yield _Token(_SIGN, _sign(query, at, dialect), at)
            at += 1
        else:
            kind = str(match.lastgroup if match.lastgroup != "tag" else _TEXT)
            if kind in (_TEXT, _QUOTED) and dialect == "mysql" and re.search(r"(?<!\\)(?:\\\\)*\\['\"]", match[0]):
                raise _Unreadable("it holds a quote after a backslash; write the quote twice instead")
            if kind not in ("space", "comment"):
                yield _Token(kind, match[0], at)
            at = match.end()


def _sign(query: str, at: int, dialect: str) -> str:
    if query[at] in "'\"`" or (query[at] == "[" and dialect == "sqlite"):
        raise _Unreadable("a quotation mark in it is not closed")
    if query.startswith("/*", at):
        executed = dialect == "mysql" and re.match(r"/\*M?!", query[at:])
        raise _Unreadable("it holds a comment that is executed" if executed else "a comment in it is not closed")
    if (
        dialect == "postgresql"
        and query[at] == "&"
        and query[at - 1 : at] in ("u", "U")
        and query[at + 1 : at + 2] in "'\""
    ):
        raise _Unreadable("it holds text with Unicode escapes; write the characters themselves")
    return query[at]


def _after_nested_comment(query: str, at: int) -> int:
    depth = 0
    for mark in re.finditer(r"/\*|\*/", query[at:]):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return at + mark.end()
    raise _Unreadable("a comment in it is not closed")
