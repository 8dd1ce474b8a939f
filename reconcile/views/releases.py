"""Releases as every door shows them: a list, one with its texts, and the difference of two configurations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from notifications.wording.words import to_the_minute
from reconcile.coordination import releases
from reconcile.coordination.releases import shortened
from reconcile.documents import JsonObject
from reconcile.schedule.slots import slot_text
from reconcile.store import Transaction
from reconcile.store import releases as stored
from reconcile.store.releases import Current, ReleaseRow

if TYPE_CHECKING:
    from reconcile.app import Application


@dataclass(frozen=True)
class ReleaseView:
    """A stored release, and whether it is the current one, held by a person, or that of the configuration file."""

    row: ReleaseRow
    current: bool
    held: bool
    file: bool

    @property
    def jobs(self) -> int:
        return len(self.row.config.get("jobs", ())) or 1

    @property
    def rules(self) -> int:
        return len(self.row.config.get("rules", ()))

    def to_json(self) -> JsonObject:
        return {
            "release": self.row.release,
            "first_seen": slot_text(self.row.first_seen),
            "current": self.current,
            "held": self.held,
            "file": self.file,
            "kept": self.row.files is not None,
            "jobs": self.jobs,
            "rules": self.rules,
            "last_run": slot_text(self.row.last_run) if self.row.last_run else None,
        }

    def cells(self, timezone: str) -> tuple[str, ...]:
        """Return the row of the list for people, with times in that zone."""
        marks = ["held" if self.held else "current"] * self.current + ["this file"] * self.file
        counts = (str(self.jobs), str(self.rules))
        first_seen = to_the_minute(self.row.first_seen, timezone)
        last_run = "never" if self.row.last_run is None else to_the_minute(self.row.last_run, timezone)
        return (shortened(self.row.release), first_seen, ", ".join(marks), *counts, last_run)


def listed(application: Application, limit: int) -> tuple[Current | None, list[ReleaseView]]:
    """Return the current release, and the latest ones, newest first. Raises NothingRemembered, StoreError."""
    with application.memory.read() as tx:
        now, rows = stored.current(tx), stored.listed(tx, limit)
    file = application.project.release
    views = []
    for row in rows:
        is_current = now is not None and now.release == row.release
        is_held = is_current and now is not None and now.held
        views.append(ReleaseView(row, is_current, is_held, row.release == file))
    return now, views


def named(application: Application, name: str) -> ReleaseRow:
    """Return a stored release. Raises ReleaseUnknown, also if the file's release was never stored."""
    with application.memory.read() as tx:
        return _named(application, tx, name)


@dataclass(frozen=True)
class TextDifference:
    """The difference of two configurations by their hashes, as lines of a unified diff."""

    before: str
    after: str
    lines: Sequence[str]


def difference(application: Application, before: str, after: str | None) -> TextDifference:
    """Compare a stored release with another, or with the configuration file. Raises as `named`."""
    with application.memory.read() as tx:
        old = _named(application, tx, before)
        if after is None:
            project = application.project
            release, called, config = project.release, project.path.name, _config(project.canonical)
        else:
            new = _named(application, tx, after)
            release, called, config = new.release, shortened(new.release), new.config
    names = (shortened(old.release), called)
    return TextDifference(old.release, release, releases.difference(old.config, config, names))


def _config(canonical: str) -> Mapping[str, Any]:
    config: Mapping[str, Any] = json.loads(canonical)
    return config


def _named(application: Application, tx: Transaction, name: str) -> ReleaseRow:
    release, hashes = releases.named(tx, name, application.project), stored.hashes(tx)
    if release not in hashes:
        raise releases.ReleaseUnknown(name, hashes)
    return stored.get(tx, release)
