"""The columns whose values are personal data, and records' names with it masked. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from notifications.base import MASK
from notifications.wording import words
from reconcile.config.settings import Project
from reconcile.findings.identity import is_of_content, public
from reconcile.findings.shown import NamedRecord
from rules.groups.group import Difference
from rules.kinds.base import Rule
from rules.values import PLACE, Value

_IDENTIFYING = 3
"""A shorter text identifies nobody and would match everywhere."""


@dataclass(frozen=True)
class Masking:
    """The columns of a dataset whose values are masked; None: all of them. `id` are the columns that identify records.

    `span` is the column of a rule's window, `amount` the column of the money at risk. `texts` are masked values: a
    text or a record's name that contains one is masked too. `others` are the other datasets of a rule, by name; None:
    nothing of them is masked. `key` are the further names under which a finding's key shows a masked column of any of
    them.
    """

    columns: frozenset[str] | None = frozenset()
    id: tuple[str, ...] = ()
    span: str | None = None
    amount: str | None = None
    texts: frozenset[str] = frozenset()
    key: frozenset[str] = frozenset()
    others: Mapping[str, Masking] | None = None
    shown: frozenset[str] | None = None
    """The only columns that are shown, where a query of the rule may compute any other one of personal data."""

    @classmethod
    def of(cls, project: Project, dataset: str, rule: str, show: Collection[str] = ()) -> Masking:
        """Return the masked columns of a rule's findings, without those in `show`.

        For a dataset that is no longer in the configuration all columns are masked: its `pii` is unknown.
        """
        settings = project.rules.get(rule)
        datasets = () if settings is None else settings.member_datasets
        others = {name: _of_dataset(project, name, settings, show) for name in datasets if name != dataset}
        own = _of_dataset(project, dataset, settings, show)
        span = settings.ordered_by if settings else None
        key = frozenset[str]().union(*(side.columns or () for side in others.values()))
        return replace(own, span=span, key=key, others=others)

    def also(self, second: Masking) -> Masking:
        """Return the second masking, which then also masks all that this one does."""
        mine, others = self.others or {}, dict(second.others or {})
        others |= {name: side.also(others[name]) if name in others else side for name, side in mine.items()}
        columns = None if self.columns is None or second.columns is None else self.columns | second.columns
        joined = None if self.others is None and second.others is None else others
        return replace(second, columns=columns, key=self.key | second.key, others=joined)

    def side(self, dataset: str | None) -> Masking:
        """Return what is masked of a record of this dataset; None is the rule's first one."""
        if dataset is None or self.others is None:
            return self
        return self.others.get(dataset, _EVERYTHING)

    def hides(self, column: str | None) -> bool:
        """Return True if the column's values are masked; an unknown column (None) could be any of them.

        If a key has a column twice, the name of the second includes its normalisers: `email (lower)`.
        """
        if self.columns is None or column is None:
            return self.columns is None or bool(self.columns) or self.shown is not None
        return _names(column, self.columns) or (self.shown is not None and column not in self.shown)

    def value(self, column: str | None, value: Any) -> Any:
        """Return the value as it is shown; null is never personal."""
        return MASK if value is not None and self.hides(column) else value

    def hides_of_key(self, column: str | None, datasets: Sequence[str] = ()) -> bool:
        """Return True if a key's column is masked. `datasets` are those of the finding, if they are several."""
        others = self.others or {}
        unknown = self.others is not None and not others.keys() >= set(datasets[1:])
        if unknown or any(side.columns is None for side in others.values()):
            return True
        return self.hides(column) or (column is not None and _names(column, self.key))

    def of_key(self, column: str | None, value: Any, datasets: Sequence[str] = ()) -> Any:
        """Return a value of a key, or of its window's column, as it is shown."""
        return MASK if value is not None and self.hides_of_key(column, datasets) else value

    def compared(self, difference: Difference, datasets: Sequence[str]) -> tuple[Any, Any]:
        """Return both values of a field that differs between these datasets, as public JSON."""
        right = self.side(datasets[1] if len(datasets) > 1 else None)
        left_value = self.computed(difference.left_column, difference.left)
        return left_value, right.computed(difference.right_column, difference.right)

    def computed(self, column: str, value: Value) -> Any:
        """Return a value as public JSON; it may be computed of several columns, which `column` names: `net + fee`."""
        columns = (column, *re.findall(r"\w+", column))
        return MASK if value is not None and any(map(self.hides, columns)) else public(value)

    def with_values_of(self, rows: Iterable[Mapping[str, str]]) -> Masking:
        """Mask the personal values of these rows wherever they appear in a text or a record's name."""
        values = (text for row in rows for column, text in row.items() if self.hides(column))
        return replace(self, texts=frozenset(text for text in values if len(text) >= _IDENTIFYING))

    def text(self, text: str) -> str:
        """Return the text, masked if it contains a masked value."""
        return MASK if any(hidden in text for hidden in self.texts) else text

    def record(self, name: Sequence[Value]) -> list[Any]:
        """Return a record's id as public JSON. The dataset may have another `id` since."""
        if self.tells_content(name):
            return list(map(public, name))
        columns = self.id if len(self.id) == len(name) else (None,) * len(name)
        shown = (self.value(column, public(part)) for column, part in zip(columns, name, strict=True))
        return [MASK if self.text(str(part)) == MASK else part for part in shown]

    def tells_content(self, name: Sequence[Any]) -> bool:
        """Return True if the name is our own, of a record without an id, and tells nothing that is masked.

        It is a digest of the whole record, which can be compared with guesses of its masked values.
        """
        return not self.id and not self.hides(None) and is_of_content(name)

    @property
    def hides_amounts(self) -> bool:
        """True if the amount of a finding is masked: an amount of one of its datasets is personal."""
        sides = (self, *(self.others or {}).values())
        with_amount = [side for side in sides if side.amount is not None or side.columns is None]
        return any(side.hides(side.amount) for side in with_amount or (self,))

    def risk(self, amounts: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
        """Return amounts at risk, of one finding or summed up, as they may be shown; empty if they may not.

        A sum of masked amounts is masked too, however many they are: all but one of them may be nothing.
        """
        return {} if self.hides_amounts else amounts

    def at_risk(self, amounts: Mapping[str, Decimal]) -> str:
        """Return the same in words."""
        return words.money(amounts) if self.risk(amounts) or not amounts else MASK

    def names(self, members: Sequence[NamedRecord], datasets: Sequence[str] = ()) -> list[str]:
        """Return names for people for records of a finding, or for those near it.

        If the rule reads several `datasets`, each name begins with the record's one.
        """
        return [
            f"{member.dataset or datasets[0]} {name}" if len(datasets) > 1 else name
            for member in members
            for name in [self.side(member.dataset).name(member)]
        ]

    def name(self, member: NamedRecord) -> str:
        """Return a record's name for people: its id, or its place or its values if it has none."""
        if (place := self.place(member)) is not None:
            file, *sheet, row = place
            return ", ".join([file, *(f"sheet {name}" for name in sheet), f"row {row}"])
        if is_of_content(member.id):
            return " · ".join(map(_text, self.values(member).values()))
        return " / ".join(map(_text, self.record(member.id)))

    def masks_name(self, member: NamedRecord) -> bool:
        """Return True if the record's id, as it is shown, is masked in part."""
        return MASK in self.record(member.id)

    def place(self, member: NamedRecord) -> list[Any] | None:
        """Return file and row of a record without an id, with the sheet between them if its dataset may have several.

        None if they are unknown, or if it has an id.
        """
        names = [name for name in PLACE if name != "_sheet" or name in member.values]
        place = [public(member.values.get(name)) for name in names]
        return None if None in place or not is_of_content(member.id) else list(map(self.value, names, place))

    def values(self, member: NamedRecord) -> dict[str, Any]:
        return {name: self.value(name, public(value)) for name, value in member.values.items()}


_EVERYTHING = Masking(None)


def _of_dataset(project: Project, dataset: str, rule: Rule | None, show: Collection[str]) -> Masking:
    settings = project.datasets.get(dataset)
    if settings is None:
        return _EVERYTHING
    columns = frozenset(settings.pii) - frozenset(show)
    shown_as = () if rule is None else rule.shown_as(dataset, columns)
    amount = settings.money.amount if settings.money else None
    return Masking(columns.union(shown_as), settings.id, amount=amount, shown=_shown(project, rule, show))


def _shown(project: Project, rule: Rule | None, show: Collection[str]) -> frozenset[str] | None:
    """Return the columns that are shown of a rule's query over personal data: the id of its dataset and the amount."""
    if rule is None or not rule.shows_computed:
        return None
    read = [project.datasets[name] for name in rule.configured_datasets if name in project.datasets]
    about = project.datasets.get(rule.dataset)
    if about is None or not any(each.pii for each in read):
        return None
    amount = () if about.money is None else (about.money.amount,)
    return frozenset((*about.id, *amount, *show)) - (frozenset(about.pii) - frozenset(show))


def _names(column: str, columns: Collection[str]) -> bool:
    return column in columns or any(column.startswith(f"{name} (") for name in columns)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
