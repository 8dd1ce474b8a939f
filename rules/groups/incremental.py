"""Find the groups that may have changed since an earlier run, without reading the others.

The groups of a key change only if one of its records does. The keys of records that changed are looked up, and those of
open findings whose records no longer all have the finding's key. All records of these keys are read, and grouped as in
a full detection: with `gap`, `window` and `overlap`, into all groups that the key has.

A record of no finding that left its key cannot be noticed. It can only make groups smaller, and what was no finding is
none when it is smaller: a kind refuses rules for which that does not hold.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import pyarrow as pa

from rules.engines import answers
from rules.groups.dataset import DatasetGrouping
from rules.groups.detection import Detection
from rules.groups.group import DuplicateGroup, in_order
from rules.groups.implausible import FEW as MOST_FINDINGS
from rules.groups.keyed import Key
from rules.groups.scope import Changed, KnownGroup, KnownGroups, Scope, Unscoped
from rules.groups.settings import ChangingSettings
from rules.values import RecordId, Value, sameness

AT_ONCE = 5_000
"""Values in one look-up."""
FEW = 20
"""Records of findings below which a loss of most of them is no sign of an emptied table, and changed records below
which a loss of most keys is no sign of an emptied column."""


def detect(
    bound: ChangingSettings, changed: Changed, findings: KnownGroups, usable: Sequence[str], slot: dt.datetime
) -> Detection:
    """Return the groups of all keys that may have changed; `usable` are plain columns of the key to look records up by.

    Raises Unscoped.
    """
    search = _Search(bound, changed, findings, usable, slot)
    search.add_touched()
    search.add_changed_findings()
    if bound.rule.window is not None:
        search.add_judged()
    return search.detection()


class _Search:
    def __init__(
        self, bound: ChangingSettings, changed: Changed, findings: KnownGroups, usable: Sequence[str], slot: dt.datetime
    ) -> None:
        self._bound, self._changed, self._findings, self._slot = bound, changed, findings, slot
        self._grouping = DatasetGrouping(bound, slot)
        self._usable = tuple(usable)
        self._keys: dict[Hashable, Key] = {}
        self._followed: set[Hashable] = set()
        self._read = len(changed.touched)

    def add_touched(self) -> None:
        """Add the present keys of touched records."""
        rows = answers.rows(self._changed.touched)
        keys = [key for key, _ in self._grouping.with_keys(rows)]
        without_key = sum(key is None and self._takes_part(row) for row, key in zip(rows, keys, strict=True))
        if without_key >= FEW and without_key * 2 > len(rows):
            raise Unscoped(f"{without_key:,} of {len(rows):,} changed records have no key")
        self._add(key for row, key in zip(rows, keys, strict=True) if key is not None and self._takes_part(row))

    def add_changed_findings(self) -> None:
        """Add the keys of open findings that are due, or have a record that is gone or has another key now."""
        findings = self._findings.open()
        gone = sum(self._add_changed(part) for part in _in_parts(findings))
        looked_up = sum(len(finding.records) for finding in findings)
        if looked_up >= FEW and gone * 2 > looked_up:
            raise Unscoped(f"{gone:,} of {looked_up:,} known records are gone")

    def add_judged(self) -> None:
        """Add the keys that judged records left: what was settled with them may be a finding without them."""
        names = set(self._bound.key_names)
        for part in _in_parts([judged for judged in self._findings.judged() if judged.key.keys() <= names]):
            self._add_changed(part)

    def _add_changed(self, findings: Sequence[KnownGroup]) -> int:
        """Add the key of each finding that is due or changed, and those of its present records; return how many records
        are gone."""
        present, gone = self._present(findings), 0
        for finding in findings:
            key = self._as_key(finding.key)
            keys = [present[name] for name in map(sameness, finding.records) if name in present]
            gone += len(finding.records) - len(keys)
            same = [each for each in keys if each is not None and sameness(each) == sameness(key)]
            if finding.due or len(same) < len(finding.records):
                self._add([key, *(each for each in keys if each is not None)])
        return gone

    def detection(self) -> Detection:
        groups: list[DuplicateGroup] = []
        for part in self._parts_of_keys():
            groups += self._grouping.of_rows(self._repeated(part))
            records = sum(len(group.members) for group in groups)
            if records > MOST_FINDINGS:
                raise Unscoped(f"the groups that may have changed hold {records:,} records, and `max_share` counts all")
            if self._bound.rule.by_records:
                self._add_rivals(groups)
        keys = tuple(dict(zip(self._bound.key_names, key, strict=True)) for key in self._keys.values())
        return Detection(
            rule=self._bound.name,
            engine="pushdown",
            read=self._read,
            scanned=self._read,
            skipped=(),
            groups=in_order(groups),
            scope=Scope(keys),
        )

    def _parts_of_keys(self) -> Iterator[Sequence[Key]]:
        """Yield the keys in parts, also those that are added meanwhile."""
        done = 0
        while part := list(islice(self._keys.values(), done, done + AT_ONCE)):
            yield part
            done += len(part)

    def _add_rivals(self, groups: Sequence[DuplicateGroup]) -> None:
        """Add the keys of all records of the findings that these groups may continue: their groups may, too."""
        members = {sameness(member.id): member.id for group in groups for member in group.members}
        unseen = [members[name] for name in members.keys() - self._followed]
        self._followed.update(members)
        for part in _in_parts(self._findings.following(unseen)):
            self._add(key for key in self._present(part).values() if key is not None)

    def _repeated(self, keys: Sequence[Key]) -> Iterator[Mapping[str, Value]]:
        """Yield the records that take part and have one of these keys, of keys with enough of them for a group."""
        at = {part.column: n for n, part in enumerate(self._bound.parts) if not part.steps}
        values = dict.fromkeys(tuple(key[at[name]] for name in self._usable) for key in keys)
        by_key: dict[Hashable, list[Mapping[str, Value]]] = {sameness(key): [] for key in keys}
        rows = answers.rows(self._look_up(self._usable, list(values)))
        for row, key in zip(rows, self._keys_of(rows), strict=True):
            if key is not None and (alike := by_key.get(sameness(key))) is not None:  # the source may return others
                alike.append(row)
        yield from (row for alike in by_key.values() if len(alike) >= self._bound.minimum for row in alike)

    def _present(self, findings: Sequence[KnownGroup]) -> dict[Hashable, Key | None]:
        """Return the present keys of the findings' records by id, None for one that takes no part any more."""
        ids = dict.fromkeys(record for finding in findings for record in finding.records)
        rows = answers.rows(self._look_up(self._bound.relation.id, list(ids)))
        return {sameness(self._id(row)): key for row, key in zip(rows, self._keys_of(rows), strict=True)}

    def _look_up(self, names: tuple[str, ...], values: Sequence[tuple[Value, ...]]) -> pa.Table:
        table = self._changed.matching(names, values)
        self._read += len(table)
        return table

    def _keys_of(self, rows: Sequence[Mapping[str, Value]]) -> list[Key | None]:
        """Return each record's key, None if it takes no part."""
        keys = (key for key, _ in self._grouping.with_keys(rows))
        return [key if self._takes_part(row) else None for row, key in zip(rows, keys, strict=True)]

    def _takes_part(self, row: Mapping[str, Value]) -> bool:
        return self._bound.takes_part(row, self._slot)

    def _id(self, row: Mapping[str, Value]) -> RecordId:
        return tuple(row[name] for name in self._bound.relation.id)

    def _as_key(self, key: Mapping[str, Value]) -> Key:
        try:
            return tuple(key[name] for name in self._bound.key_names)
        except KeyError:
            raise Unscoped("findings have keys of an earlier version of the rule") from None

    def _add(self, keys: Iterable[Key]) -> None:
        self._keys.update((sameness(key), key) for key in keys)


def _in_parts(findings: Sequence[KnownGroup]) -> Iterator[list[KnownGroup]]:
    """Yield the findings in parts of about AT_ONCE records."""
    part: list[KnownGroup] = []
    size = 0
    for finding in findings:
        part.append(finding)
        size += len(finding.records)
        if size >= AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part
