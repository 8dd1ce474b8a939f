"""What can become of the surplus of a group: one file an action. Other packages add theirs in `reconcile.actions`."""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "delete": "reconcile.clean.actions.delete:Delete",
    "set": "reconcile.clean.actions.set:Set",
    "merge": "reconcile.clean.actions.merge:Merge",
    "move": "reconcile.clean.actions.move:Move",
}
