"""Checks of this host and installation: packages, Python and time zones."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import sqlite3
from collections.abc import Iterator

from reconcile import __version__
from reconcile.app import Application
from reconcile.doctor.diagnosis import Diagnosis
from reconcile.schedule.schedules import tzdata_version

_PACKAGES = ("reconcile", "rules", "connectors", "notifications")


def packages(_application: Application) -> Iterator[Diagnosis]:
    strangers = [name for name in _PACKAGES if not getattr(importlib.import_module(name), "__reconcile__", False)]
    if strangers:
        sentence = (
            f"{', '.join(strangers)} belongs to another package; install reconcile-runner in a virtual environment of "
            "its own"
        )
        yield Diagnosis("installation", "broken", sentence)
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
        return Diagnosis("time zones", "look", sentence)
    return Diagnosis("time zones", "ok", f"this host's data, {version}")
