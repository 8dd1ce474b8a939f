"""Searching findings by a text that a person has at hand: an id, the id of a record, or a value of a key."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from notifications.base import MASK
from reconcile.config.settings import Project
from reconcile.errors import Wrong
from reconcile.findings.identity import dataset_of, id_of, member_name, record_of
from reconcile.findings.shown import Finding, FindingMember
from reconcile.masking.personal import Masking
from reconcile.store.finding_search import Amount, begins_with, candidates, folded, in_key, is_of_record
from reconcile.store.findings import FindingFilter, some
from reconcile.views.findings import FindingView, of_all
from rules.document.mistakes import RuleError
from rules.normalise import chain_type, normalise
from rules.values import Type, Value

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.people.roles import Person
    from reconcile.store import Transaction

_LONGEST = 200
_PARTS = 4
"""The most columns of an id that are looked for."""
_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,40})?")
_READ_AT_ONCE = 50


class SearchRefused(Wrong):
    """The text cannot be searched for."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; type the id of a finding or a record, or part of a key value")


@dataclass(frozen=True)
class SearchResult:
    """The findings that fit, the worst first; `is_cut`: there are more."""

    findings: tuple[FindingView, ...]
    is_cut: bool


def search_by(
    application: Application, person: Person, text: str, criteria: FindingFilter, *, limit: int
) -> SearchResult:
    """Return the findings that fit a text for a person of the console or the API, as `search`.

    Where masked values fit for them, the search is recorded and counted: an answer tells a part of a value, so many
    answers tell it whole. Raises also TooManyAttempts.
    """
    wanted = _checked(text)
    if person.sees_personal and any(dataset.pii for dataset in application.project.datasets.values()):
        from reconcile.audit import log  # noqa: PLC0415 - the command line searches without it
        from reconcile.people import sessions  # noqa: PLC0415 - see above

        with application.memory.begin() as tx:
            sessions.count_search(tx, person.name)
            body = {"user": person.name, "system": person.origin}
            log.append(tx, person.name, "personal_data.searched", f"user:{person.name}", body)
    return search(application, wanted, criteria, limit=limit, sees_personal=person.sees_personal)


def search(
    application: Application,
    text: str,
    criteria: FindingFilter,
    *,
    limit: int | None,
    sees_personal: bool,
    show: bool = False,
) -> SearchResult:
    """Return the findings that fit a text: by the beginning of their id, a record's id, a part of a value of their
    key, or their amount at risk.

    Masked values fit only for a person who `sees_personal`; otherwise a search would tell them. Raises SearchRefused,
    StoreError.
    """
    with application.memory.read() as tx:
        fitting = list(matching(application, tx, text, criteria, limit=limit, sees_personal=sees_personal))
        views = of_all(application, tx, fitting[:limit], show=show)
    return SearchResult(tuple(views), is_cut=limit is not None and len(fitting) > limit)


def matching(
    application: Application,
    tx: Transaction,
    text: str,
    criteria: FindingFilter,
    *,
    limit: int | None,
    sees_personal: bool,
) -> Iterator[Finding]:
    """Yield the findings that fit a text, as `search`, and one more than `limit` if there are more."""
    wanted = _Wanted.of(application, _checked(text))
    records = wanted.records | wanted.of_dataset
    sight = None if sees_personal else _Sight(application.project)
    names = candidates(tx, wanted.text, records, wanted.keys, criteria, wanted.amount, sight)
    masking = dict[tuple[str, str], Masking]()
    number = 0
    while (limit is None or number <= limit) and (chunk := list(itertools.islice(names, _READ_AT_ONCE))):
        for finding in some(tx, chunk):
            of_rule = finding.dataset, finding.rule
            if of_rule not in masking:
                masking[of_rule] = Masking() if sees_personal else Masking.of(application.project, *of_rule)
            if wanted.fits(finding, masking[of_rule]):
                number += 1
                yield finding


@dataclass(frozen=True)
class _Sight:
    """Findings as a person sees them who may not see personal data."""

    project: Project
    _hidden: dict[tuple[str, str], Masking] = field(default_factory=dict)

    @property
    def rules_without_key(self) -> Collection[str]:
        columns = {name: [part.column for _, part in rule.key_parts()] for name, rule in self.project.rules.items()}
        return [name for name, of_rule in columns.items() if of_rule and self._hides_all(name, of_rule)]

    def of_key(self, rule: str, dataset: str, key: Mapping[str, Value]) -> Collection[Value]:
        hidden = self._of(rule, dataset)
        return [value for column, value in key.items() if not hidden.hides_of_key(column)]

    def shows_record(self, rule: str, dataset: str, record: str) -> bool:
        return MASK not in self._of(rule, dataset).side(dataset_of(record)).record(id_of(record))

    def _hides_all(self, rule: str, columns: Sequence[str]) -> bool:
        hidden = self._of(rule, self.project.rules[rule].dataset)
        return all(map(hidden.hides_of_key, columns))

    def _of(self, rule: str, dataset: str) -> Masking:
        place = rule, dataset
        if place not in self._hidden:
            self._hidden[place] = Masking.of(self.project, dataset, rule)
        return self._hidden[place]


def _checked(text: str) -> str:
    wanted = text.strip()
    if not wanted:
        raise SearchRefused("The search text is empty")
    if len(wanted) > _LONGEST:
        raise SearchRefused(f"A search text has at most {_LONGEST} characters")
    return wanted


@dataclass(frozen=True)
class _Wanted:
    """A text, the names it can be of records of any dataset, and as `crm 5` of the records of a `dataset`.

    `keys` are what the rules' normalisers make of it: people search for what they see, and keys hold that. `amount` is
    the number that it is.
    """

    text: str
    records: frozenset[str]
    dataset: str
    of_dataset: frozenset[str]
    keys: frozenset[str]
    amount: Amount | None

    @classmethod
    def of(cls, application: Application, text: str) -> _Wanted:
        others = {name for rule in application.project.rules.values() for name in rule.member_datasets[1:]}
        named, _, rest = text.partition(" ")
        of_dataset = _names(rest, (None, named)) if named in application.project.datasets else ()
        records, keys = frozenset(_names(text, (None, *others))), frozenset(_keys(application, text))
        return cls(text, records, named, frozenset(of_dataset), keys, Amount.of(text))

    def fits(self, finding: Finding, hidden: Masking) -> bool:
        """Return True if what the person may see of the finding fits."""
        key = finding.key.items()
        shown = [value for column, value in key if not hidden.hides_of_key(column, finding.datasets)]
        return (
            begins_with(finding.id, self.text)
            or in_key(shown, self.text, self.keys, self.amount)
            or (self.amount is not None and self.amount.is_in(finding.money) and not hidden.hides_amounts)
            or any(
                self._is(member, finding) and not hidden.side(member.dataset).masks_name(member)
                for member in finding.members
            )
        )

    def _is(self, member: FindingMember, finding: Finding) -> bool:
        name, dataset = member_name(member), member.dataset or finding.dataset
        return is_of_record(name, self.records) or (dataset == self.dataset and is_of_record(name, self.of_dataset))


def _names(text: str, datasets: Iterable[str | None]) -> Iterator[str]:
    """Yield the names of the records that the text can be the id of, as people see it: `5` or `DE / 5`."""
    return (record_of(record_id, dataset) for dataset in datasets for record_id in _ids(text))


def _keys(application: Application, text: str) -> Iterator[str]:
    """Yield what the normalisers of each key make of the text."""
    for rule in application.project.rules.values():
        for _, part in rule.key_parts():
            with contextlib.suppress(RuleError):  # the normalisers take no texts
                chain_type(Type.TEXT, part.steps)
                value = normalise(text, part.steps, application.project.timezone)
                if isinstance(value, str) and folded(value) not in folded(text):
                    yield value


def _ids(text: str) -> Iterator[tuple[Value, ...]]:
    parts = [part.strip() for part in text.split(" / ")]
    if 1 < len(parts) <= _PARTS:
        yield from itertools.product(*map(_values, parts))
    yield from ((value,) for value in _values(text))


def _values(text: str) -> list[Value]:
    """Return the values that are shown as this text."""
    values: list[Value] = [*dict.fromkeys((text, text.lower(), text.upper()))]
    if _NUMBER.fullmatch(text):
        values.append(Decimal(text))
    with contextlib.suppress(ValueError):
        values.append(dt.date.fromisoformat(text))
    return values
