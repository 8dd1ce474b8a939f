"""Findings by a text: the beginning of their id, the id of a record, a part of a value of their key, or an amount."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import sqlalchemy as sa

from reconcile.findings.identity import public, read_id
from reconcile.findings.payload import amount_rank
from reconcile.store.columns import json_text
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import CHUNK, FORMER, decode_key
from reconcile.store.findings import FindingFilter, filtered
from reconcile.store.tables import finding_members, findings
from rules.values import Value, canonical_number

_ID = re.compile(r"f-[0-9a-z]{1,51}|[0-9a-z]{6,51}", re.IGNORECASE)
_AMOUNT = re.compile(r"(-?(?:\d{1,3}(?:,\d{3}){1,12}|\d{1,40})(?:\.\d{1,40})?)(?: ([A-Z]{3}))?", re.ASCII)
_MOST_OF_RECORDS = 1_000
"""Findings of one record id."""
_SHORTEST_PART = 3


@dataclass(frozen=True)
class Amount:
    """A number as people see it, and its currency if the text names one."""

    number: Decimal
    currency: str | None = None

    @classmethod
    def of(cls, text: str) -> Amount | None:
        """Read `1500`, `1,500.00` or `1,500.00 EUR`; None for any other text."""
        match = _AMOUNT.fullmatch(text)
        return None if match is None else cls(Decimal(match[1].replace(",", "")), match[2])

    @property
    def digits(self) -> str:
        """The number without trailing zeros, which every way to store it contains."""
        return canonical_number(self.number)

    def is_in(self, money: Mapping[str, Decimal]) -> bool:
        """Return True if the amount of any currency, or of the named one, is this number."""
        named = money.values() if self.currency is None else filter(None, [money.get(self.currency)])
        return self.number in named

    def is_value(self, value: Value) -> bool:
        return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and value == self.number


class Sight(Protocol):
    """The parts of findings with this rule and dataset that a person may see.

    What is masked is left out before anything of a finding is read, so that the time of an answer does not tell it.
    """

    @property
    def rules_without_key(self) -> Collection[str]:
        """The rules of whose keys the person sees nothing."""
        ...

    def of_key(self, rule: str, dataset: str, key: Mapping[str, Value]) -> Collection[Value]:
        """Return the values of the key that the person sees."""
        ...

    def shows_record(self, rule: str, dataset: str, record: str) -> bool:
        """Return True if the person sees the record's id."""
        ...


def candidates(
    tx: Transaction,
    text: str,
    records: Collection[str],
    keys: Collection[str],
    criteria: FindingFilter,
    amount: Amount | None = None,
    sight: Sight | None = None,
) -> Iterator[str]:
    """Yield ids of findings that fit: those of the id or the record, then those of the key, each the worst
    first. Nothing may be written meanwhile.

    `records` are the names that the text can be of records; for ids of several columns also those that begin with it.
    `keys` are the values of keys that the text can become by normalising; `amount` is the number that it is, if any.
    `sight` is what the person may see; None: everything.
    """
    named = findings.c.id.in_(_of_records(tx, records, sight))
    exact = tx.connection.execute(filtered(sa.select(findings.c.id), criteria).where(sa.or_(named, *_begins(text))))
    first = dict.fromkeys(exact.scalars())
    yield from first
    columns = findings.c.id, findings.c.rule, findings.c.dataset, findings.c.key, findings.c.amount_rank
    rank = amount_rank({"": amount.number}) if amount is not None and amount.number else None  # 0: has no amount
    at_risk = [] if rank is None else [findings.c.amount_rank == rank]
    in_keys = sa.or_(*_holds(tx, text, keys, amount))
    if sight is not None:
        in_keys = sa.and_(findings.c.rule.not_in(list(sight.rules_without_key)), in_keys)
    query = filtered(sa.select(*columns), criteria).where(sa.or_(in_keys, *at_risk))
    for row in tx.connection.execute(query.execution_options(yield_per=CHUNK)):
        key = decode_key(row.key)
        values = key.values() if sight is None else sight.of_key(row.rule, row.dataset, key)
        fits = row.amount_rank == rank or in_key(values, text, keys, amount)
        if fits and row.id not in first:
            yield row.id


def folded(text: str) -> str:
    """Return the text regardless of case; İ is i, as in keys, not i with a dot above."""
    return text.casefold().replace("i\u0307", "i")


def in_key(values: Collection[Value], text: str, keys: Collection[str], amount: Amount | None = None) -> bool:
    """Return True if a text of a key contains this one, in upper or lower case, or another value begins with it.

    A text of a key that is one of `keys` fits too, or that contains one of `parts`, and a number that is the amount.
    """
    wanted, inside = folded(text), parts(text, keys)
    return any(
        wanted in folded(value) or value in keys or any(part in value for part in inside)
        if isinstance(value, str)
        else folded(str(public(value))).startswith(wanted) or (amount is not None and amount.is_value(value))
        for value in values
        if value is not None
    )


def parts(text: str, keys: Collection[str]) -> list[str]:
    """Return those of `keys` that a text of a key may contain: what rules make of letters with accents.

    Others fit as a whole: a rule may make very little of a text, such as its digits.
    """
    return [] if text.isascii() else [key for key in keys if len(key) >= _SHORTEST_PART]


def begins_with(finding: str, text: str) -> bool:
    """Return True if the text is the id of the finding or its beginning."""
    return _ID.fullmatch(text) is not None and finding.startswith(read_id(text))


def is_of_record(record: str, names: Collection[str]) -> bool:
    """Return True for a record with one of these names, or with an id that begins with one of them."""
    return record in names or any(record.startswith(f"{name[:-1]},") for name in names)


def _of_records(tx: Transaction, records: Collection[str], sight: Sight | None) -> Sequence[str]:
    record = finding_members.c.record
    longer = (sa.and_(record > f"{name[:-1]},", record < f"{name[:-1]}-") for name in records)
    query = (
        sa.select(finding_members.c.finding, record, findings.c.rule, findings.c.dataset)
        .join(findings, findings.c.id == finding_members.c.finding)
        .where(sa.or_(record.in_(list(records)), *longer), finding_members.c.role != FORMER)
        .limit(_MOST_OF_RECORDS)
    )
    rows = tx.connection.execute(query).all()
    return sorted(
        {row.finding for row in rows if sight is None or sight.shows_record(row.rule, row.dataset, row.record)}
    )


def _begins(text: str) -> Iterator[sa.ColumnElement[bool]]:
    if _ID.fullmatch(text):
        name = read_id(text)
        yield sa.and_(findings.c.id >= name, findings.c.id < f"{name}~")


def _holds(
    tx: Transaction, text: str, keys: Collection[str], amount: Amount | None
) -> Iterator[sa.ColumnElement[bool]]:
    """Yield conditions on the key as it is stored, where a value is a pair of a type's letter and a text in ASCII.

    They may fit too much: the databases fold the case of ASCII letters only, so any other letter fits all. They must
    fit all that `in_key` does, which folds both texts.
    """
    key = sa.type_coerce(findings.c.key, sa.Text)

    def like(pattern: str) -> sa.ColumnElement[bool]:
        is_shared = tx.store.is_shared  # that collation makes it twice as fast
        return sa.collate(key, "C").ilike(pattern, escape="!") if is_shared else key.like(pattern, escape="!")

    wanted = folded(text)
    digits = () if amount is None else (amount.digits,)
    contained = [f"%{_pattern(part)}%" for part in dict.fromkeys((wanted, *parts(text, keys), *digits))]
    for inside in (*contained, *map(_pattern, keys)):
        yield like(f'%["_","{inside}"]%')
    special = [character for character, letters in SPECIAL.items() if set(letters).intersection(wanted)]
    if special:
        replaced = {letter for character in special for letter in SPECIAL[character]}
        loose = "".join("%" if character in replaced else _of_character(character) for character in wanted)
        holds_special = sa.or_(*(like(f"%{json_text(character)[1:-1]}%") for character in special))
        yield sa.and_(holds_special, like(f'%["_","%{loose}%"]%'))


SPECIAL = dict.fromkeys("\u0130\u0307", "i") | dict.fromkeys("\u017f\u00df\u1e9e", "s")
SPECIAL |= {"\u0149": "n", "\u01f0": "j", "\u1e96": "h", "\u1e97": "t", "\u1e98": "w", "\u1e99": "y", "\u1e9a": "a"}
SPECIAL |= {"\u212a": "k", "\ufb00": "f"} | dict.fromkeys("\ufb01\ufb03", "fi") | dict.fromkeys("\ufb02\ufb04", "fl")
SPECIAL |= dict.fromkeys("\ufb05\ufb06", "st")
"""Characters of a key that `folded` turns into these ASCII letters, like ß into ss. A dot above an i is removed."""
MARKS = frozenset("\u02bc\u02be\u0300\u0301\u0307\u0308\u030a\u030c\u0313\u0331\u0342")
"""Characters without case that `folded` makes part of others, like the caron of \u01f0."""


def _pattern(text: str) -> str:
    return "".join(map(_of_character, text))


def _of_character(character: str) -> str:
    if not character.isascii() and (character in MARKS or character.lower() != character.upper()):
        return "%"
    return re.sub(r"([!%_])", r"!\1", json_text(character)[1:-1])
