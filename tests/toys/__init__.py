"""What another package may add: kinds of rules, a connector without SQL, a channel and an action, one module each.

Nothing of the product names them: `install` registers them by entry points.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from reconcile import plugins

ENTRY_POINTS = """\
[reconcile.connectors]
memory_sheet = tests.toys.sheet:MemorySheet
till = tests.toys.till:Till
[reconcile.rules]
overcounted = tests.toys.kind:Overcounted
mirrored = tests.toys.comparison:Mirrored
resembling = tests.toys.resembling:Resembling
[reconcile.channels]
letterbox = tests.toys.channel:Letterbox
[reconcile.actions]
stamp = tests.toys.action:Stamp
refund = tests.toys.till:Refund
"""


def packaged(folder: Path) -> str:
    """Write what a package of the toys installs; a process finds them with the returned folder on its path."""
    information = folder / "site" / "toys-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    return str(folder / "site")


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process find the toys as an installed package."""
    monkeypatch.syspath_prepend(packaged(folder))
    monkeypatch.setattr(plugins, "_foreign", functools.cache(plugins._foreign.__wrapped__))
