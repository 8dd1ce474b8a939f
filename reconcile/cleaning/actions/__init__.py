"""The actions on the surplus of a group, one file each. Other packages add theirs in `reconcile.actions`."""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "delete": "reconcile.cleaning.actions.delete:Delete",
    "set": "reconcile.cleaning.actions.set:Set",
    "merge": "reconcile.cleaning.actions.merge:Merge",
    "move": "reconcile.cleaning.actions.move:Move",
}
