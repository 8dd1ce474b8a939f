"""Functions of text, by code point, independent of the database's collation, padding and case rules."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from rules.functions.dialects import arguments
from rules.values.normal_forms import INVISIBLE

# Every character for which str.isspace() is true, so that trimming in SQL can mean what str.strip() means.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


class _TextFunction(FunctionElement[str]):
    type = sa.Text()
    inherit_cache = True


class plain(_TextFunction):  # noqa: N801  functions in a statement read like functions
    """The text itself, as functions should see it: no citext, no locale, no collation of the column."""

    name = "plain"
    inherit_cache = True


class exact(_TextFunction):  # noqa: N801
    """Text to compare, group and order by code point: `A1`, `A1 `, `a1` and `Ä1` are four values.

    On MariaDB the result is binary: compare and group by it, but select the text itself.
    """

    name = "exact"
    inherit_cache = True


class is_ascii(FunctionElement[bool]):  # noqa: N801
    """True if every character of the text is ASCII; null for null."""

    type = sa.Boolean()
    name = "is_ascii"
    inherit_cache = True


class trim_sp(_TextFunction):  # noqa: N801
    """The text without spaces (U+0020 only) at both ends."""

    name = "trim_sp"
    inherit_cache = True


class strip(_TextFunction):  # noqa: N801
    """The text without Unicode white space at both ends: Python's str.strip()."""

    name = "strip"
    inherit_cache = True


class seen(_TextFunction):  # noqa: N801
    """The text without characters that show nothing. Elsewhere than on DuckDB, PostgreSQL and MariaDB: of ASCII."""

    name = "seen"
    inherit_cache = True


class trimmed(_TextFunction):  # noqa: N801
    """`strip` of `seen`."""

    name = "trimmed"
    inherit_cache = True


class squeezed(_TextFunction):  # noqa: N801
    """Every run of Unicode white space becomes one space, none at the ends. Not on SQLite."""

    name = "squeezed"
    inherit_cache = True


class replaced(_TextFunction):  # noqa: N801
    """`replaced(text, pattern, replacement)`: all matches of a regular expression. Not on SQLite.

    On PostgreSQL and MariaDB only for our own patterns, which mean the same there as in RE2.
    """

    name = "replaced"
    inherit_cache = True


class zeros_stripped(_TextFunction):  # noqa: N801
    """Without the leading zeros of each run of the digits 0 to 9; a run of zeros keeps one. Not on SQLite."""

    name = "zeros_stripped"
    inherit_cache = True


class sorted_words(_TextFunction):  # noqa: N801
    """The runs of ASCII letters and digits, sorted, each once, with one blank between. Only on DuckDB."""

    name = "sorted_words"
    inherit_cache = True


class digits_apart(_TextFunction):  # noqa: N801
    """ASCII letters and digits only; one hyphen replaces the characters between two digits. Not on SQLite."""

    name = "digits_apart"
    inherit_cache = True


class find(FunctionElement[int]):  # noqa: N801
    """`find(text, part)`: the position of the part, in characters counted from 1; 0 when it is missing."""

    type = sa.Integer()
    name = "find"
    inherit_cache = True


class characters(FunctionElement[int]):  # noqa: N801
    """The number of code points of the text."""

    type = sa.Integer()
    name = "characters"
    inherit_cache = True


def filled(text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return the text, or null where it is empty or white space only.

    The first comparison avoids the costly second one for nearly all texts.
    """
    first = exact(text)
    visible = sa.and_(first >= exact(sa.literal("!")), first < exact(sa.literal("\x7f")))
    return sa.case((visible, text), (characters(strip(plain(text))) > 0, text), else_=sa.null())


def white(compiler: SQLCompiler, **kw: Any) -> str:
    """Return the white space as a value of the statement."""
    return _bound(compiler, WHITE_SPACE, **kw)


def _bound(compiler: SQLCompiler, text: str, **kw: Any) -> str:
    return compiler.process(sa.literal(text, sa.String()), **kw)


@compiles(plain, "duckdb")
@compiles(exact, "duckdb")
def _duck_text(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({arguments(element, compiler, **kw)[0]} AS VARCHAR)"


@compiles(plain, "postgresql")
@compiles(exact, "postgresql")
def _pg_text(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f'(CAST({arguments(element, compiler, **kw)[0]} AS TEXT) COLLATE "C")'


@compiles(plain, "sqlite")
@compiles(exact, "sqlite")
def _sqlite_text(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"({arguments(element, compiler, **kw)[0]} COLLATE BINARY)"


@compiles(plain, "mysql", "mariadb")
def _mysql_plain(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"(CONVERT({arguments(element, compiler, **kw)[0]} USING utf8mb4) COLLATE utf8mb4_bin)"


@compiles(exact, "mysql", "mariadb")
def _mysql_exact(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST(CONVERT({arguments(element, compiler, **kw)[0]} USING utf8mb4) AS BINARY)"


@compiles(is_ascii, "duckdb")
def _duck_is_ascii(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return f"(strlen({x}) = length({x}))"


@compiles(is_ascii, "postgresql")
def _pg_is_ascii(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    # In UTF-8, that is: texts of databases in other encodings are not pushed down.
    [x] = arguments(element, compiler, **kw)
    return f"(octet_length(CAST({x} AS TEXT)) = char_length(CAST({x} AS TEXT)))"


@compiles(is_ascii, "mysql", "mariadb")
def _mysql_is_ascii(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return f"(LENGTH(CONVERT({x} USING utf8mb4)) = CHAR_LENGTH({x}))"


@compiles(is_ascii, "sqlite")
def _sqlite_is_ascii(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return f"(length(CAST({x} AS BLOB)) = length({x}))"


@compiles(trim_sp, "duckdb")
@compiles(trim_sp, "sqlite")
def _trim_sp(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"trim({arguments(element, compiler, **kw)[0]}, ' ')"


@compiles(trim_sp, "postgresql")
def _pg_trim_sp(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"btrim({arguments(element, compiler, **kw)[0]}, ' ')"


@compiles(trim_sp, "mysql", "mariadb")
def _mysql_trim_sp(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"TRIM(BOTH ' ' FROM {arguments(element, compiler, **kw)[0]})"


@compiles(strip, "duckdb")
def _duck_strip(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    # DuckDB trims a set of characters ten times slower than it checks both ends, and most texts need no trimming.
    [x] = arguments(element, compiler, **kw)
    trimmed = f"trim({x}, {white(compiler, **kw)})"
    if isinstance(_unwrapped(element), FunctionElement):
        return trimmed  # repeating it would multiply nested calls
    visible = f"{x} >= '!' AND {x} < chr(127) AND ({x})[-1] BETWEEN '!' AND '~'"
    return f"CASE WHEN {visible} THEN {x} ELSE {trimmed} END"


@compiles(strip, "sqlite")
def _strip(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"trim({arguments(element, compiler, **kw)[0]}, {white(compiler, **kw)})"


@compiles(strip, "postgresql")
def _pg_strip(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    trimmed = f"btrim({x}, {white(compiler, **kw)})"
    if not _is_column(element):
        return trimmed
    # Trimming many characters takes longer than checking both ends, and most texts need no trimming.
    begin = f"({x}) COLLATE \"C\" >= '!' AND ({x}) COLLATE \"C\" < '~'"
    end = f"abs(ascii(reverse({x})) - 80) <= 46"  # " to ~, without reversing the text twice
    return f"CASE WHEN ({begin} AND {end}) THEN {x} ELSE {trimmed} END"


def _is_column(element: Any) -> bool:
    """Return True if the argument is an unchanged column, so that repeating it costs nothing."""
    return isinstance(_unwrapped(element), sa.ColumnClause)


def _unwrapped(element: Any) -> Any:
    [inner] = element.clauses
    while isinstance(inner, (plain, exact)):
        [inner] = inner.clauses
    return inner


@compiles(strip, "mysql", "mariadb")
def _mysql_strip(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    pattern = _bound(compiler, f"\\A[{WHITE_SPACE}]+|[{WHITE_SPACE}]+\\z", **kw)
    return f"REGEXP_REPLACE({x}, {pattern}, '')"


@compiles(seen)
def _seen(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return arguments(element, compiler, **kw)[0]


@compiles(seen, "duckdb")
@compiles(seen, "postgresql")
@compiles(seen, "mysql", "mariadb")
def _seen_of_all(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = element.clauses
    dropped = replaced(x, sa.literal(_invisible(compiler.dialect.name)), sa.literal(""))
    if not _is_column(element):
        return compiler.process(dropped, **kw)  # repeating it would multiply nested calls
    return compiler.process(sa.case((is_ascii(x), x), else_=dropped), **kw)


def _invisible(dialect: str) -> str:
    """Return the pattern of characters that show nothing, in ASCII."""
    form = "\\U{0:08x}-\\U{1:08x}" if dialect == "postgresql" else r"\x{{{0:x}}}-\x{{{1:x}}}"
    return f"[{''.join(form.format(first, last) for first, last in INVISIBLE)}]+"


@compiles(trimmed)
def _trimmed(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    if isinstance(_unwrapped(element), trimmed):
        return compiler.process(_unwrapped(element), **kw)
    [x] = element.clauses
    return compiler.process(strip(x), **kw)


@compiles(trimmed, "duckdb")
@compiles(trimmed, "postgresql")
@compiles(trimmed, "mysql", "mariadb")
def _trimmed_of_all(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    if isinstance(_unwrapped(element), trimmed):  # each level nests two functions, and trimming twice is trimming
        return compiler.process(_unwrapped(element), **kw)
    [x] = element.clauses
    if not _is_column(element):
        return compiler.process(strip(seen(x)), **kw)
    dropped = replaced(x, sa.literal(_invisible(compiler.dialect.name)), sa.literal(""))
    return compiler.process(sa.case((is_ascii(x), strip(x)), else_=strip(dropped)), **kw)


@compiles(squeezed)
def _squeezed(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = element.clauses
    return compiler.process(trim_sp(replaced(x, sa.literal(f"[{WHITE_SPACE}]+"), sa.literal(" "))), **kw)


@compiles(replaced, "duckdb")
@compiles(replaced, "postgresql")
def _replaced(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    x, pattern, replacement = arguments(element, compiler, **kw)
    return f"regexp_replace({x}, {pattern}, {replacement}, 'g')"


@compiles(replaced, "mysql", "mariadb")
def _mysql_replaced(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    x, pattern, replacement = arguments(element, compiler, **kw)
    return f"REGEXP_REPLACE({x}, {pattern}, {replacement})"


@compiles(zeros_stripped, "duckdb")
@compiles(zeros_stripped, "postgresql")
def _zeros_stripped(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return rf"regexp_replace({x}, '(^|[^0-9])0+([0-9])', '\1\2', 'g')"


@compiles(zeros_stripped, "mysql", "mariadb")
def _mysql_zeros_stripped(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    # Looking around instead of \1: MariaDB and MySQL write groups differently.
    [x] = arguments(element, compiler, **kw)
    return f"REGEXP_REPLACE({x}, '(?<![0-9])0+(?=[0-9])', '')"


@compiles(sorted_words, "duckdb")
def _sorted_words(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return f"array_to_string(list_sort(list_distinct(regexp_extract_all({x}, '[A-Za-z0-9]+'))), ' ')"


@compiles(digits_apart, "duckdb")
@compiles(digits_apart, "postgresql")
def _digits_apart(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    after_letters = rf"regexp_replace({x}, '(^|[A-Za-z])[^A-Za-z0-9]+', '\1', 'g')"
    before_letters = rf"regexp_replace({after_letters}, '[^A-Za-z0-9]+($|[A-Za-z])', '\1', 'g')"
    return f"regexp_replace({before_letters}, '[^A-Za-z0-9]+', '-', 'g')"


@compiles(digits_apart, "mysql", "mariadb")
def _mysql_digits_apart(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    signs = "[^A-Za-z0-9]+"
    pattern = rf"(?<=[A-Za-z]){signs}|\A{signs}|{signs}(?=[A-Za-z]|\z)"
    dropped = f"REGEXP_REPLACE({x}, {_bound(compiler, pattern, **kw)}, '')"
    return f"REGEXP_REPLACE({dropped}, '{signs}', '-')"


@compiles(find, "duckdb")
@compiles(find, "postgresql")
def _find(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    text, part = element.clauses
    return f"strpos({compiler.process(plain(text), **kw)}, {compiler.process(plain(part), **kw)})"


@compiles(find, "mysql", "mariadb")
def _mysql_find(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    text, part = element.clauses
    return f"LOCATE({compiler.process(plain(part), **kw)}, {compiler.process(plain(text), **kw)})"


@compiles(find, "sqlite")
def _sqlite_find(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    text, part = arguments(element, compiler, **kw)
    return f"instr({text}, {part})"


@compiles(characters)
def _characters(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"length({arguments(element, compiler, **kw)[0]})"


@compiles(characters, "mysql", "mariadb")
def _mysql_characters(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CHAR_LENGTH({arguments(element, compiler, **kw)[0]})"
