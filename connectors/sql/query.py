"""The only entry of a user's own SQL: a dataset's `query`, which must be a single select."""

from __future__ import annotations

import re

from connectors.errors import NotReadOnly

_READS = ("select", "with", "values", "table")
_PASSED_OVER = re.compile(
    r"""--[^\n]*                           # a comment to the end of the line
      | /\*.*?\*/                          # a comment
      | '(?:[^']|'')*'                     # text
      | "(?:[^"]|"")*" | `(?:[^`]|``)*`    # a quoted name
      | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$    # PostgreSQL's dollar quotes
    """,
    re.VERBOSE | re.DOTALL,
)


def select_only(source: str, query: str) -> str:
    """The query without a closing semicolon, usable in parentheses. Raises NotReadOnly for anything but a select.

    This catches mistakes and pasted scripts; the read-only session keeps a hostile query from writing.
    """
    text = query.strip()
    bare = _PASSED_OVER.sub(lambda match: "''" if match[0][0] in "'\"`$" else " ", text)
    if bare.rstrip().endswith(";"):
        text, bare = text[: text.rindex(";")], bare.rstrip()[:-1]
    word = re.match(r"[\s(]*(\w*)", bare)
    first = word[1].lower() if word else ""
    if first not in _READS:
        raise NotReadOnly(source, f"it starts with {first!r}" if first else "it is empty")
    if ";" in bare:
        raise NotReadOnly(source, "it holds more than one statement")
    if not _balanced(bare):
        raise NotReadOnly(source, "its parentheses do not match")
    if re.search(r"['\"`]", bare.replace("''", "")):
        raise NotReadOnly(source, "a quotation mark in it is not closed")
    return text + "\n"


def _balanced(bare: str) -> bool:
    depth = 0
    for character in bare:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0
