"""Functions of texts, by code point. A result that is empty or white space only is null."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from rules.expressions.typed import IF_ASCII, SERVERS, CompileTarget, Typed, derived
from rules.functions import characters, ending, joined, not_blank, plain, text_part
from rules.functions import trimmed as trimmed_sql
from rules.normalise import Exactness
from rules.normalise.text import SEEN, simple_lower, simple_upper, trim
from rules.values import Type, Value, filled

Sql = Callable[[sa.ColumnElement[Any]], sa.ColumnElement[Any]]

# `||` joins texts of any length there; MariaDB gives null for a result beyond max_allowed_packet.
_JOINING: Mapping[str, Exactness] = {"duckdb": "always", "postgresql": "always", "sqlite": "always"}
_SPLITTING: Mapping[str, Exactness] = {"duckdb": "always", "postgresql": "always"}


def lowered(operand: Typed) -> Typed:
    """Simple lower case, as the normaliser `lower`."""
    return _of_text(operand, simple_lower, sa.func.lower, IF_ASCII)


def uppered(operand: Typed) -> Typed:
    """Simple upper case: letter by letter, so `ß` stays."""
    return _of_text(operand, simple_upper, sa.func.upper, IF_ASCII)


def trimmed(operand: Typed) -> Typed:
    """Without invisible characters, and without white space at the ends, as the normaliser `trim`."""
    return _of_text(operand, trim, trimmed_sql, SEEN)


def length(operand: Typed) -> Typed:
    """The number of code points."""

    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return len(value) if isinstance(value, str) else None

    # SQLite counts to the first NUL only.
    return derived(Type.INTEGER, (operand,), run, lambda t: characters(plain(operand.sql(t))), SERVERS)


def concatenated(parts: Sequence[Typed]) -> Typed:
    """The texts one after another; null if any is null."""

    def run(row: Any, slot: Any) -> Value:
        values = [part.run(row, slot) for part in parts]
        return None if None in values else "".join(map(str, values))

    return derived(Type.TEXT, parts, run, lambda t: joined(*(plain(part.sql(t)) for part in parts)), _JOINING)


def first_characters(operand: Typed, number: int) -> Typed:
    """The first characters, as the normaliser `prefix`."""
    return _part_of(operand, lambda text: text[:number], lambda x: sa.func.substr(x, 1, number), SERVERS)


def last_characters(operand: Typed, number: int) -> Typed:
    """The last characters, as the normaliser `suffix`."""
    return _part_of(operand, lambda text: text[-number:], lambda x: ending(x, sa.literal(number)), SERVERS)


def replaced_part(operand: Typed, old: str, new: str) -> Typed:
    """Every `old` replaced by `new`, from left to right."""
    own = dict(SERVERS)
    if len(new.encode()) > len(old.encode()):
        own.pop("mysql")  # a result beyond max_allowed_packet is null there

    def sql(x: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        return sa.func.replace(x, plain(sa.literal(old)), plain(sa.literal(new)), type_=sa.Text())

    return _part_of(operand, lambda text: text.replace(old, new), sql, own, adds=new)


def split_part(operand: Typed, separator: str, number: int) -> Typed:
    """The part of that number, from 1, between separators; null beyond the last part."""

    def part(text: str) -> str:
        parts = text.split(separator, number)
        return parts[number - 1] if number <= len(parts) else ""

    def sql(x: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        return sa.func.split_part(x, plain(sa.literal(separator)), number, type_=sa.Text())

    return _part_of(operand, part, sql, _SPLITTING)


def _of_text(operand: Typed, python: Callable[[str], str], function: Sql, own: Mapping[str, Exactness]) -> Typed:
    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return python(value) if isinstance(value, str) else None

    return derived(Type.TEXT, (operand,), run, lambda t: function(plain(operand.sql(t))), own)


def _part_of(
    operand: Typed, python: Callable[[str], str], function: Sql, own: Mapping[str, Exactness], adds: str = ""
) -> Typed:
    """Return a function whose result may be blank, and then is null; `adds` is text that it may contain."""

    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return filled(python(value)) if isinstance(value, str) else None

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        return text_part(operand.sql(target), lambda x: not_blank(function(plain(x)), target.dialect))

    typed = derived(Type.TEXT, (operand,), run, sql, own)
    return typed if adds.isascii() else replace(typed, stays_ascii=False)
