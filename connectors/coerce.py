"""Convert text to the types that `columns:` declares: exactly, by one definition for every connector.

The definition is a DuckDB expression per type, so that DuckDB reading a file itself and batches streaming through
`Coercion` give the same values. Unreadable values become null and are counted; nothing is ever guessed.

    text                as it is
    integer             64 bits; digits with an optional sign
    decimal             38 digits, 12 of them after the mark; decimal(p,s) for other sizes. Exact, never through floats.
                        Also amounts with a currency, in parentheses, or with CR or DR: see connectors.amounts
    float               digits, mark, exponent; no NaN, no infinity
    boolean             true false yes no y n t f 1 0, in any case
    date [formats]      2026-03-01, or strptime formats separated by " | ": date %d.%m.%Y | %Y%m%d
    instant [formats]   ISO 8601, with offset or in the dataset's time zone; or formats, which may hold %z
    instant epoch s     a number of seconds since 1970 in UTC, also with places; or of ms or us

Numbers may be grouped in threes by the other mark ("." when `decimal` is ","), blanks, no-break blanks or
apostrophes: 1.234,56 and 1'234.56. A group of any other size, or a first one that begins with 0, is unreadable. 1,234
is also unreadable if the dataset does not set `decimal`, because elsewhere it means 1.234; 1,234.5 and 1,234,567 are
clear. A sign comes before the number, or a minus after it, as SAP writes it. Of several formats, the first one with a
believable value counts. White space around a typed value and invisible characters in it are ignored; years before
1000 are unreadable, because they are two-digit years read by %Y.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from connectors import amounts
from connectors.base import UnreadableCells
from connectors.currencies import Currencies
from connectors.declared import Declared, Notation
from connectors.duck import literal, literals

if TYPE_CHECKING:
    import duckdb

INSTANT = pa.timestamp("us", "UTC")
TRUE, FALSE = ("true", "yes", "y", "t", "1"), ("false", "no", "n", "f", "0")
BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
INVISIBLE = (
    r"[\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{200b}-\x{200f}\x{202a}-\x{202e}"
    r"\x{2060}-\x{206f}\x{3164}\x{fe00}-\x{fe0f}\x{feff}\x{ffa0}\x{fff0}-\x{fff8}\x{1bca0}-\x{1bca3}"
    r"\x{1d173}-\x{1d17a}\x{e0000}-\x{e0fff}]+"
)
"""Unicode's Default_Ignorable_Code_Point: characters that programs do not show, as `trim` of rules drops them."""
GROUPS = " \u00a0\u202f\u2009'\u2019"
EXPONENT = "(?:[eE][+-]?[0-9]{1,4})"
TIME = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?"
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
OFFSET = "(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)"


@dataclass(frozen=True)
class ValueSql:
    """The SQL of one value; `local` are naive times, to be placed in the dataset's zone later."""

    value: str
    local: str | None = None


def expression(kind: Declared, text: str, notation: Notation, *, plain: bool = False) -> ValueSql:
    """The SQL that turns `text`, an SQL expression of a VARCHAR that is null for null values, into `kind`.

    `plain` leaves out amounts, whose patterns take long to compile.
    """
    if kind.word == "text":
        return ValueSql(text)
    if kind.word in ("integer", "decimal", "float"):
        return ValueSql(_number(kind, text, notation, plain=plain or kind.word != "decimal"))
    if kind.epoch:
        number = _number(Declared("decimal"), text, notation, plain=True)
        return ValueSql(_since_1970(kind.epoch, number))
    trimmed = _trimmed(text)
    if kind.word == "boolean":
        low = f"lower({trimmed})"
        return ValueSql(
            f"case when list_contains({literals(TRUE)}, {low}) then true "
            f"when list_contains({literals(FALSE)}, {low}) then false end"
        )
    if kind.word == "date":
        return ValueSql(_date(kind, trimmed))
    return _instant(kind, trimmed, notation.timezone)


def unreadable(text: str, value: str) -> str:
    """The SQL condition that a value is not empty but unreadable."""
    return f"case when ({value}) is null then {_trimmed(text)} <> '' else false end"


def currency(kind: Declared, text: str) -> str:
    """The SQL of the currency that is written in an amount, also in an unreadable one; null without a currency."""
    if kind.word != "decimal":
        return "null::varchar"
    return f"case when not regexp_full_match({text}, '[-+0-9.,]*') then nullif({amounts.currency(text)}, '') end"


def _trimmed(text: str) -> str:
    """The text without invisible characters and outer white space; both are slow to drop, so only if it has any."""
    clean = f"regexp_full_match({text}, '[!-~](?:[ -~]*[!-~])?')"
    visible = f"regexp_replace({text}, '{INVISIBLE}', '', 'g')"
    return f"(case when {clean} then {text} else trim({visible}, {literal(BLANKS)}) end)"


def _number(kind: Declared, text: str, notation: Notation, *, plain: bool) -> str:
    mark, point = notation.mark, re.escape(notation.mark)
    digits = f"{{1,{kind.precision - kind.scale}}}" if kind.word == "decimal" and kind.precision > kind.scale else "+"
    places = {"integer": None, "decimal": f"{{0,{kind.scale}}}", "float": "*"}[kind.word]
    tail = EXPONENT + "?" if kind.word == "float" else ""
    usual = f"[+-]?[0-9]{digits}" + ("" if places is None else f"(?:{point}[0-9]{places})?") + tail
    other_mark = "." if mark == "," else ","
    least = "{2,}" if notation.decimal is None else "+"  # one group may be the digits behind a decimal mark
    groups = other_mark + GROUPS
    grouped = "|".join(f"(?:{re.escape(g)}[0-9]{{3}}){least if g == other_mark else '+'}" for g in groups)
    full = f"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{grouped}))"
    if places is not None:
        marked = f"[1-9][0-9]{{0,2}}{re.escape(other_mark)}[0-9]{{3}}{point}[0-9]{places}"
        bare = f"{point}[0-9]{places.replace('0,', '1,')}"
        full = f"(?:{full}(?:{point}[0-9]{places})?|{marked}|{bare})"
    unsigned, full = full, f"[+\u2212-]?{full}{tail}|{full}[\u2212-]"
    trimmed = _trimmed(text)
    if places is not None:
        trimmed = amounts.without_dashes(trimmed, point)
    bare = f"translate({trimmed}, {literal(mark + chr(0x2212) + groups)}, '.-')"
    turned = f"(case when right({bare}, 1) = '-' then '-' || left({bare}, -1) else {bare} end)"
    quick = text if mark == "." else f"replace({text}, {literal(mark)}, '.')"
    target = {"integer": "BIGINT", "float": "DOUBLE", "decimal": _decimal(kind)}[kind.word]
    cast = (
        f"case when regexp_full_match({text}, {literal(usual)}) then try_cast({quick} as {target}) "
        f"when regexp_full_match({trimmed}, {literal(full)}) then try_cast({turned} as {target}) "
    )
    if not plain:
        is_amount = f"regexp_full_match({amounts.marked(trimmed)}, {literal(amounts.pattern(unsigned))})"
        cast += f"when {is_amount} then try_cast({amounts.digits(trimmed, mark)} as {target}) "
    cast += "end"
    return f"case when isfinite({cast}) then {cast} end" if kind.word == "float" else cast


def _decimal(kind: Declared) -> str:
    return f"DECIMAL({kind.precision},{kind.scale})"


def _date(kind: Declared, text: str) -> str:
    if kind.formats:
        return _first_believable(text, kind.formats, "date")
    pattern = f"{DAY}(?:[T ]00:00(?::00(?:[.]0+)?)?)?"
    parsed = f"case when regexp_full_match({text}, {literal(pattern)}) then try_cast(left({text}, 10) as date) end"
    return _believable(parsed, "date")


def _first_believable(text: str, formats: Sequence[str], kind: str) -> str:
    """The first believable value, format by format: %Y also reads the year 26, but %y may read it right."""
    tries = [_believable(f"try_strptime({text}, {literal(form)})::{kind}", kind) for form in formats]
    return f"coalesce({', '.join(tries)})" if tries else f"null::{kind}"


def _believable(parsed: str, kind: str) -> str:
    first, last = f"{kind} '1000-01-01'", f"{kind} '9999-12-31'"
    return f"case when {parsed} between {first} and {last} then {parsed} end"


_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_YEAR_1000, _YEAR_10000 = -30_610_224_000_000_000, 253_402_300_800_000_000
"""The first microseconds of these years."""


def _since_1970(unit: str, number: str) -> str:
    """The SQL of a believable instant from a DECIMAL; digits after the microseconds are cut."""
    factor = _MICROSECONDS[unit]
    micros = f"floor(({number})::decimal(30,12) * {factor}::decimal(7,0))::bigint"
    inside = f"({number}) >= {_YEAR_1000 // factor} and ({number}) < {_YEAR_10000 // factor}"
    return f"case when {inside} then make_timestamptz({micros}) end"


def _instant(kind: Declared, text: str, timezone: str) -> ValueSql:
    if kind.formats:
        placed = [form for form in kind.formats if "%z" in form]
        naive = [form for form in kind.formats if "%z" not in form]
        utc = f"regexp_replace({text}, '[Zz]$', '+00:00')"
        aware = _first_believable(utc, placed, "timestamptz")
        local = _first_believable(text, naive, "timestamp")
    else:
        clean = f"replace(replace(replace(upper({text}), ',', '.'), ' +', '+'), ' ', 'T')"
        moment = f"{DAY}{TIME} ?{OFFSET}"
        aware = f"case when regexp_full_match({text}, {literal(moment)}) then try_cast({clean} as timestamptz) end"
        wall = f"{DAY}(?:{TIME})?"
        point = f"replace({text}, ',', '.')"
        local = f"case when regexp_full_match({text}, {literal(wall)}) then try_cast({point} as timestamp) end"
        aware, local = _believable(aware, "timestamptz"), _believable(local, "timestamp")
    if timezone == "UTC":
        return ValueSql(f"coalesce({aware}, timezone('UTC', {local}))")
    return ValueSql(aware, local)


class Coercion:
    """Batches of one stream, turned into the declared types; counts what could not be read.

    Columns that are not declared pass through. A column that already has the declared type passes through as well, as
    does a decimal of any size if no size is declared; other types go by their shortest exact text, so a float 0.1
    becomes the decimal 0.1. A float is rounded to the declared places; a decimal with more of them is unreadable.
    """

    def __init__(self, schema: pa.Schema, columns: Mapping[str, Declared], notation: Notation) -> None:
        names = frozenset(schema.names)
        self._columns = {name: kind for name, kind in columns.items() if name in names}
        self._notation = notation
        self._con: duckdb.DuckDBPyConnection | None = None
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}
        self._currencies = {name: Currencies(name) for name in self._columns}
        self._position = 0
        self._plan = [_step(i, field, self._columns.get(field.name), notation) for i, field in enumerate(schema)]
        self.schema = pa.schema(
            [
                pa.field(f.name, s.arrow, f.nullable or s.sql is not None, f.metadata)
                for f, s in zip(schema, self._plan, strict=True)
            ]
        )

    def batch(self, batch: pa.RecordBatch, place: Callable[[int], str] | None = None) -> pa.RecordBatch:
        """The batch in the new types. `place` names the record with this position in the stream, for people."""
        work = [(i, step.sql) for i, step in enumerate(self._plan) if step.sql is not None]
        arrays = list(batch.columns)
        if work and batch.num_rows:
            answers = _fours(self._ask(batch, [sql for _, sql in work]))
            for (i, _), (value, local, bad, written) in zip(
                work, self._with_amounts(batch, work, answers), strict=True
            ):
                name = batch.schema.names[i]
                arrays[i] = self._counted(name, (value, local, bad), place)
                if written.null_count < len(written):
                    self._currencies[name].add(written, value, self._position, place)
        self._position += batch.num_rows
        return pa.RecordBatch.from_arrays(
            [a.cast(f.type) for a, f in zip(arrays, self.schema, strict=True)], schema=self.schema
        )

    @property
    def position(self) -> int:
        """Records that went through so far: the position of the next one."""
        return self._position

    def problems(self) -> tuple[UnreadableCells, ...]:
        """The values that became null so far, one Problem per column."""
        return tuple(
            UnreadableCells(name, self._columns[name].reason, count, self._first[name])
            for name, count in self._counts.items()
        ) + tuple(problem for each in self._currencies.values() if (problem := each.problem) is not None)

    def close(self) -> None:
        if self._con is not None:
            self._con.close()
            self._con = None

    def _with_amounts(
        self, batch: pa.RecordBatch, work: Sequence[tuple[int, str]], answers: list[list[pa.Array[Any]]]
    ) -> list[list[pa.Array[Any]]]:
        """The answers, in which unreadable numbers are read as amounts: a second query, which few batches need."""
        again = [n for n, (i, _) in enumerate(work) if self._plan[i].amounts and answers[n][2].true_count]
        if again:
            table = self._ask(batch, [self._plan[work[n][0]].amounts for n in again])
            for n, answer in zip(again, _fours(table), strict=True):
                answers[n] = answer
        return answers

    def _ask(self, batch: pa.RecordBatch, parts: Sequence[str]) -> pa.Table:
        if self._con is None:
            import duckdb  # noqa: PLC0415 - see above

            self._con = duckdb.connect(config={"threads": "2"})
            self._con.execute("set TimeZone = 'UTC'").complete()
        names = [f"c{i}" for i in range(batch.num_columns)]
        self._con.register("batch", pa.Table.from_arrays(batch.columns, names=names))
        answer: pa.Table = self._con.sql(f"select {', '.join(parts)} from batch").to_arrow_table()
        return answer

    def _counted(self, name: str, answer: Sequence[pa.Array[Any]], place: Callable[[int], str] | None) -> pa.Array[Any]:
        import pyarrow.compute as pc  # noqa: PLC0415 - makes hundreds of functions, which DuckDB's readers do not need

        value, local, bad = answer
        wrong = pc.sum(bad).as_py() or 0
        if wrong:
            position = self._position + pc.index(bad, pa.scalar(value=True)).as_py()
            self._first.setdefault(name, place(position) if place else f"record {position + 1}")
            self._counts[name] = self._counts.get(name, 0) + wrong
        if name in self._columns and self._columns[name].word == "instant":
            value = value.cast(INSTANT)
            if local.null_count < len(local):
                value = pc.coalesce(value, in_zone(local, self._notation.timezone))
        return value


@dataclass(frozen=True)
class _Conversion:
    arrow: pa.DataType
    sql: str | None = None
    amounts: str = ""
    """The SQL that also reads amounts, if the column is of decimals in text."""


def _step(position: int, field: pa.Field[Any], kind: Declared | None, notation: Notation) -> _Conversion:
    """How a column of the stream becomes the declared one."""
    column = f"c{position}"
    is_text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    if kind is None or _already(field.type, kind):
        if not (is_text and notation.null_values):
            return _Conversion(kind.arrow if kind and kind.word in ("text", "date") else field.type)
        kind = kind or Declared("text")
    if not is_text:
        sql = _from_typed(field.type, kind, column, notation)
        return _Conversion(kind.arrow, _parts(column, kind, f"{column}::varchar", sql))
    text = _without(column, notation.null_values)
    conversion = _Conversion(kind.arrow, _parts(column, kind, text, expression(kind, text, notation, plain=True)))
    if kind.word != "decimal":
        return conversion
    full = _parts(column, kind, text, expression(kind, text, notation), currency(kind, text))
    return replace(conversion, amounts=full)


def _parts(column: str, kind: Declared, text: str, sql: ValueSql, written: str = "null::varchar") -> str:
    """The SQL columns: value, naive times still without a zone, whether it was unreadable, its written currency."""
    value = sql.value if sql.local is None else f"coalesce({sql.value}, timezone('UTC', {sql.local}))"
    bad = "false" if kind.word == "text" else unreadable(text, value)
    parts = (sql.value, sql.local or "null::timestamp", f"coalesce({bad}, false)", written)
    return ", ".join(f"{part} as {column}_{i}" for i, part in enumerate(parts))


def _already(arrow: pa.DataType, kind: Declared) -> bool:
    t = pa.types
    same: dict[str, bool] = {
        "text": t.is_string(arrow) or t.is_large_string(arrow),
        "integer": t.is_integer(arrow),
        "decimal": t.is_decimal(arrow) and (kind.is_any_decimal or arrow == kind.arrow),
        "float": t.is_floating(arrow),
        "boolean": t.is_boolean(arrow),
        "date": t.is_date(arrow),
        "instant": bool(arrow == INSTANT),
    }
    return same[kind.word]


def _without(column: str, nulls: Sequence[str]) -> str:
    return f"case when not list_contains({literals(nulls)}, {column}) then {column} end" if nulls else column


def _from_typed(arrow: pa.DataType, kind: Declared, column: str, notation: Notation) -> ValueSql:
    t = pa.types
    if kind.word == "text":
        return ValueSql(f"{column}::varchar")
    if kind.epoch and (t.is_integer(arrow) or t.is_floating(arrow) or t.is_decimal(arrow)):
        exact = f"{column}::varchar" if t.is_floating(arrow) else column
        return ValueSql(_since_1970(kind.epoch, f"try_cast({exact} as {_decimal(Declared('decimal'))})"))
    if t.is_timestamp(arrow) and kind.word in ("date", "instant"):
        if kind.word == "instant":
            aware = arrow.tz is not None
            return ValueSql(f"{column}::timestamptz") if aware else _placed(f"{column}::timestamp", notation)
        wall = f"timezone({literal(notation.timezone)}, {column})" if arrow.tz else column
        return ValueSql(f"{wall}::date")
    if t.is_date(arrow) and kind.word == "instant":
        return _placed(f"{column}::timestamp", notation)
    if (t.is_floating(arrow) or t.is_decimal(arrow)) and kind.word == "integer":
        return ValueSql(f"case when {column} = trunc({column}) then try_cast({column} as bigint) end")
    if t.is_decimal(arrow) and kind.word == "decimal":
        cast = f"try_cast({column} as {_decimal(kind)})"
        return ValueSql(f"case when {cast} = {column} then {cast} end")
    if t.is_floating(arrow) and kind.word == "decimal":
        return ValueSql(f"try_cast({column}::varchar as {_decimal(kind)})")
    return expression(kind, f"{column}::varchar", Notation(timezone=notation.timezone), plain=True)


def _placed(local: str, notation: Notation) -> ValueSql:
    if notation.timezone == "UTC":
        return ValueSql(f"timezone('UTC', {local})")
    return ValueSql("null::timestamptz", local)


def in_zone(naive: pa.Array[Any], timezone: str) -> pa.Array[Any]:
    """Naive times as instants: the earlier of two possible ones, the first moment after a gap."""
    import pyarrow.compute as pc  # noqa: PLC0415 - see above

    options = pc.AssumeTimezoneOptions(timezone, ambiguous="earliest", nonexistent="latest")
    placed: pa.Array[Any] = pc.call_function("assume_timezone", [naive.cast(pa.timestamp("us"))], options)
    return placed.cast(INSTANT)


def _fours(table: pa.Table) -> list[list[pa.Array[Any]]]:
    arrays = [column.combine_chunks() for column in table.columns]
    return [arrays[i : i + 4] for i in range(0, len(arrays), 4)]
