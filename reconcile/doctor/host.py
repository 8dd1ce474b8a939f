"""Checks of this host and installation: packages, Python and time zones.

Checks of the state's storage: intact, private, and on a durable disk.
"""

from __future__ import annotations

import datetime as dt
import importlib
import importlib.metadata
import platform
import re
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from notifications.wording.words import plural
from reconcile import __version__
from reconcile.app import Application
from reconcile.coordination import clock
from reconcile.doctor.diagnosis import Diagnosis
from reconcile.schedule.schedules import tzdata_version
from reconcile.store import Transaction, health

_PACKAGES = ("reconcile", "rules", "connectors", "notifications")


def packages(_application: Application) -> Iterator[Diagnosis]:
    strangers = [name for name in _PACKAGES if not getattr(importlib.import_module(name), "__reconcile__", False)]
    if strangers:
        sentence = (
            f"{', '.join(strangers)} belongs to another package; install reconcile-runner in a virtual environment of "
            "its own"
        )
        yield Diagnosis("installation", "error", sentence)
    else:
        versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
        yield Diagnosis("installation", "ok", f"Reconcile {__version__}, its packages are intact; {versions}")


def time_zones(_application: Application) -> Iterator[Diagnosis]:
    yield of_time_zones(tzdata_version(), importlib.import_module("tzdata").IANA_VERSION)


def of_time_zones(used: str, packaged: str) -> Diagnosis:
    """Python takes the host's data (`system 2025b`) before the package's, even when they are older."""
    where, _, version = used.partition(" ")
    if where == "tzdata":
        return Diagnosis("time zones", "ok", f"tzdata package {version}")
    if not version[:1].isdigit():
        sentence = f"this host's time zone data has no version; the tzdata package has {packaged}"
        return Diagnosis("time zones", "ok", sentence)
    if version < packaged:
        sentence = (
            f"this host's time zone data ({version}) is older than the tzdata package ({packaged}): due times can be "
            "an hour off; update the host's tzdata, or set PYTHONTZPATH= to use the package"
        )
        return Diagnosis("time zones", "warning", sentence)
    return Diagnosis("time zones", "ok", f"this host's data, {version}")


LITTLE, ALMOST_NONE = 500_000_000, 50_000_000
"""Bytes left on the disk of the state."""
RECENT = dt.timedelta(days=7)
"""The time whose growth is taken for that of a year."""
FEW_FILES = 10
"""Files that can still be created there."""
OFF, FAR_OFF = dt.timedelta(seconds=5), dt.timedelta(minutes=1)
"""Differences between this host's clock and the database's."""

_NETWORK = re.compile(r"nfs\d?|cifs|smb\w*|9p|afs|ceph|glusterfs|lustre|fuse\.(sshfs|s3fs|rclone|gcsfuse|glusterfs)")
_MEMORY = ("tmpfs", "ramfs")
_LOSSY = {
    "fsync": "a crash of its host can destroy the state",
    "synchronous_commit": "a crash of its host can lose the last transactions",
    "full_page_writes": "a crash of its host can leave torn pages",
}
_ESCAPED = re.compile(r"\\([0-7]{3})")


def whole(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    """Run SQLite's own check of the file, and compare the end of the audit log with its recorded head."""
    damage = health.damage(tx)
    if damage is not None:
        sentence = f"{tx.store.where} is damaged ({damage}); stop every process, then use `reconcile restore`"
        yield Diagnosis("state", "error", sentence)
    else:
        yield Diagnosis("state", "ok", f"{tx.store.where} is reachable, schema {tx.store.revision}")
    entries = health.audit_length(tx)
    if entries is None:
        yield Diagnosis("audit log", "error", "its end does not match its recorded head; run `reconcile audit verify`")
    else:
        yield Diagnosis("audit log", "ok", f"{entries:,} entries; `reconcile audit verify` checks each")


def key_file(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    file = tx.store.key_file
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        yield Diagnosis("key file", "error", f"{file} can be read by other users: chmod 600 {file}")
    else:
        yield Diagnosis("key file", "ok", f"{file}; a backup of the state is useless without it")


def disk(application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    if not tx.store.is_shared:
        folder = Path(tx.store.where).resolve().parent
        yield of_filesystem(folder, Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace"))
    yield from room(application, tx)


def room(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    """Check that the state can be written and grow."""
    disk_room = health.room(tx.store)
    if disk_room is not None:
        folder = Path(tx.store.where).resolve().parent
        yield of_room(folder, disk_room.bytes)
        if disk_room.files is not None and disk_room.files < FEW_FILES:
            sentence = (
                f"{folder} has room for {disk_room.files} more files; delete some, or the state cannot be written"
            )
            yield Diagnosis("disk files", "error", sentence)
    if (obstacle := health.write_obstacle(tx)) is not None:
        yield Diagnosis("state", "error", f"{tx.store.where} cannot be written: {obstacle}")


def growth(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    """Say how much the state grows in a year, and warn if the disk has no room for that."""
    now = f"{health.size(tx) / 1_000_000:,.1f} MB"
    estimate = health.growth(tx, RECENT)
    if estimate is None:
        yield Diagnosis("state size", "ok", f"{now}; too new to say how fast it grows")
        return
    period = plural(max(1, round(estimate.days)), "day", "days")
    sentence = f"{now}, grows by about {estimate.bytes_a_year / 1_000_000:,.1f} MB a year, as in the last {period}"
    disk_room = health.room(tx.store)
    if disk_room is not None and estimate.bytes_a_year > disk_room.bytes:
        more = "its disk has room for less: free up space, run jobs less often, or shorten `retention`"
        yield Diagnosis("state size", "warning", f"{sentence}; {more}")
    else:
        yield Diagnosis("state size", "ok", sentence)


def of_filesystem(folder: Path, mounts: str) -> Diagnosis:
    """`mounts` is the kernel's list: one mount per line, where a later one hides an earlier one."""
    kind, longest = "", -1
    for line in mounts.splitlines():
        _, point, filesystem, *_ = line.split(" ")
        place = Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), point))
        if (folder == place or place in folder.parents) and len(place.parts) >= longest:
            kind, longest = filesystem, len(place.parts)
    if _NETWORK.fullmatch(kind):
        sentence = (
            f"{folder} is on a network file system ({kind}), where SQLite can lose or corrupt data; move it "
            "to a local disk, or keep the state in PostgreSQL"
        )
        return Diagnosis("disk", "error", sentence)
    if kind in _MEMORY:
        return Diagnosis(
            "disk", "warning", f"{folder} is in memory ({kind}) and lost after a restart; move it to a disk"
        )
    return Diagnosis("disk", "ok", f"{folder} is on a local disk ({kind})")


def of_room(folder: Path, free: int) -> Diagnosis:
    text = f"{free / 1_000_000:,.0f} MB free on the disk of {folder}"
    if free < ALMOST_NONE:
        return Diagnosis("disk space", "error", f"{text}; free up space, or the state cannot be written")
    return Diagnosis(
        "disk space", "warning" if free < LITTLE else "ok", f"{text}; free up space" if free < LITTLE else text
    )


def durability(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    """Find PostgreSQL settings that acknowledge a commit before it is durable."""
    if tx.store.is_shared:
        for setting, harm in _LOSSY.items():
            if health.setting(tx, setting) == "off":
                yield Diagnosis("database", "warning", f"`{setting}` is off: {harm}; turn it on for this database")


def clocks(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    yield of_clocks(tx.now, dt.datetime.now(dt.UTC))
    held = clock.held(tx)
    if held is not None:
        yield Diagnosis("clock", "warning", held.sentence)


def of_clocks(database: dt.datetime, host: dt.datetime) -> Diagnosis:
    off = abs(database - host)
    if off <= OFF:
        return Diagnosis("clock", "ok", "the database and this host agree")
    sentence = f"the clocks of the database and this host differ by {off.total_seconds():.0f} s; sync both with NTP"
    return Diagnosis("clock", "error" if off > FAR_OFF else "warning", sentence)
