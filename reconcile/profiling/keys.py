"""Columns that together may say which records are the same thing: candidates for the key of a rule. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from reconcile.profiling import headers
from reconcile.profiling.columns import ProfiledColumn
from reconcile.profiling.headers import ColumnRole
from rules.values import PLACE, Type

_OF_TEXT = ("squeeze", "casefold", "unaccent")
_STEPS: Mapping[ColumnRole, tuple[str, ...]] = {
    ColumnRole.EMAIL: ("mailbox",),
    ColumnRole.PHONE: ("digits",),
    ColumnRole.IBAN: ("alnum", "upper"),
    ColumnRole.POSTCODE: ("alnum", "upper"),
    ColumnRole.DOCUMENT: ("docno",),
    ColumnRole.NAME: ("name",),
    ColumnRole.STREET: ("address",),
    **dict.fromkeys((ColumnRole.GIVEN_NAME, ColumnRole.SURNAME, ColumnRole.TEXT), _OF_TEXT),
}
_MOST_OF_ROLE = 3


@dataclass(frozen=True)
class KeyColumn:
    """A column of a key with its normalisers."""

    name: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A possible key, and how plausible it is; `all` stands for every column."""

    columns: tuple[KeyColumn, ...]
    weight: float

    @property
    def names(self) -> frozenset[str]:
        return frozenset(column.name for column in self.columns)

    @property
    def is_all(self) -> bool:
        return not self.columns

    @property
    def as_written(self) -> Candidate:
        return replace(self, columns=tuple(KeyColumn(column.name) for column in self.columns))

    def without_steps(self, name: str) -> Candidate:
        """Return the key with that column as it is written."""
        return replace(self, columns=tuple(KeyColumn(c.name) if c.name == name else c for c in self.columns))

    @property
    def setting(self) -> str | list[str | dict[str, list[str]]]:
        """The key as a rule writes it."""
        return "all" if self.is_all else [{c.name: list(c.steps)} if c.steps else c.name for c in self.columns]


def candidates(
    columns: Sequence[ProfiledColumn], people: Mapping[str, ColumnRole], id_columns: Sequence[str]
) -> list[Candidate]:
    """Return possible keys, the most plausible first. `people` are columns with personal data, by what they hold."""
    usable = [c for c in columns if c.name not in (*PLACE, *id_columns) and c.different > 1 and not c.is_unique]
    # A unique text may still repeat once it is normalised.
    usable += [c for c in columns if c.is_unique and c.type is Type.TEXT and c.name not in id_columns]
    roles: dict[ColumnRole, list[ProfiledColumn]] = {}
    for column in columns:
        if column in usable:
            roles.setdefault(people.get(column.name, column.role), []).append(column)
    proposed: dict[tuple[KeyColumn, ...], float] = {}
    for weight, parts in _combinations(
        roles, [c for c in columns if c.role is ColumnRole.CURRENCY and c.different > 1]
    ):
        key = tuple(KeyColumn(c.name, _steps(c, people.get(c.name, c.role))) for c in parts)
        if len({column.name for column in key}) == len(key):
            proposed[key] = max(weight, proposed.get(key, 0))
    possible = [Candidate(key, weight) for key, weight in proposed.items()]
    if any(column.name not in (*PLACE, *id_columns) for column in columns):
        possible.append(Candidate((), 4.5))
    return sorted(possible, key=lambda candidate: -candidate.weight)


def _combinations(
    roles: Mapping[ColumnRole, Sequence[ProfiledColumn]], currencies: Sequence[ProfiledColumn]
) -> Iterator[tuple[float, tuple[ProfiledColumn, ...]]]:
    def of(*names: ColumnRole) -> list[ProfiledColumn]:
        return [column for name in names for column in roles.get(name, ())][:_MOST_OF_ROLE]

    money = [(amount, *currencies[:1]) for amount in of(ColumnRole.AMOUNT)]
    moments, documents, parties = (
        of(ColumnRole.CREATED, ColumnRole.MOMENT)[:2],
        of(ColumnRole.DOCUMENT),
        of(ColumnRole.IBAN, ColumnRole.PARTY),
    )
    names: list[tuple[ProfiledColumn, ...]] = [
        *zip(of(ColumnRole.SURNAME)[:1], of(ColumnRole.GIVEN_NAME)[:1], strict=False)
    ]
    names += [(column,) for column in of(ColumnRole.NAME, ColumnRole.SURNAME)]
    yield from ((10, (column,)) for column in of(ColumnRole.EMAIL))
    yield from ((9.8, (column, *name)) for column, name in product(of(ColumnRole.EMAIL), names))
    yield from ((7, (column,)) for column in of(ColumnRole.PHONE))
    yield from ((6.8, (column, *name)) for column, name in product(of(ColumnRole.PHONE), names))
    yield from ((9.5, (party, document, *sums)) for party, document, sums in product(parties, documents, money))
    yield from (
        (9.4, (document, *sums, state)) for document, sums, state in product(documents, money, of(ColumnRole.STATE))
    )
    yield from ((9.2, (document, *sums)) for document, sums in product(documents, money))
    yield from ((8.5, (document, *sums, at)) for document, sums, at in product(documents, money, moments))
    yield from ((8, (party, *sums, at)) for party, sums, at in product(parties, money, moments))
    yield from ((6, (document,)) for document in documents)
    yield from ((9, (*name, birth)) for name, birth in product(names, of(ColumnRole.BIRTH)))
    yield from ((8, (*name, place)) for name, place in product(names, of(ColumnRole.POSTCODE, ColumnRole.STREET)))
    yield from ((5, name) for name in names)
    texts = of(ColumnRole.TEXT)
    others = [*parties, *documents, *of(ColumnRole.AMOUNT), *moments]
    yield from ((4, (text,)) for text in texts)
    yield from ((3, (text, other)) for text, other in product(texts, others))
    yield from ((2, pair) for pair in pairwise(texts))


def _steps(column: ProfiledColumn, role: ColumnRole) -> tuple[str, ...]:
    if column.type is Type.INSTANT:
        return ("day",)
    if role is ColumnRole.TEXT and headers.COMPANY_NAMES.fullmatch(column.words):
        return ("company",)
    return _STEPS.get(role, ()) if column.type is Type.TEXT else ()
