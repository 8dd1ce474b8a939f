"""Connectors, rule kinds, normalisers, channels and actions by name: ours, and those of other packages.

A package adds its own with an entry point in the group `reconcile.connectors`, `reconcile.rules`,
`reconcile.normalisers`, `reconcile.channels` or `reconcile.actions`, written like our own KINDS:
`name = "module:object"`. Nothing is imported before a configuration names it, and built-in names cannot be replaced.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import Any

import connectors
import notifications
import rules.kinds
from reconcile.errors import Wrong
from rules.cleaning import Verb
from rules.kinds.base import Kind, Rule

_BUILT_IN: dict[str, Mapping[str, str]] = {
    "connectors": connectors.KINDS,
    "rules": rules.kinds.KINDS,
    "normalisers": {},  # built-in normalisers are in rules.normalise; only those of other packages are loaded here
    "channels": notifications.KINDS,
    "actions": resolve_name("reconcile.cleaning.actions:KINDS"),  # by name: this package imports our module
}


class PluginBroken(Wrong):
    """A named connector, rule kind, normaliser, channel or action cannot be loaded."""

    def __init__(self, group: str, name: str, reason: str) -> None:
        super().__init__(
            f"`{name}` of {group} cannot be loaded: {reason}; install its dependencies, for ours with "
            f"pip install 'reconcile-runner[all]'"
        )


class Kinds(Mapping[str, str]):
    """Names to `module:object`. Other packages are searched only for names that are not built in."""

    def __init__(self, group: str) -> None:
        self.group = group
        self._ours = _BUILT_IN[group]

    def __getitem__(self, name: str) -> str:
        return self._ours[name] if name in self._ours else _foreign(self.group)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._ours, *_foreign(self.group)]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def load(self, name: str) -> Any:
        """Import the object. Raises KeyError for an unknown name, PluginBroken when it cannot be imported."""
        reference = self[name]
        try:
            return resolve_name(reference)
        except (ImportError, AttributeError) as error:
            reason = str(error) if isinstance(error, ImportError) else f"{reference} does not exist"
            raise PluginBroken(self.group, name, reason) from error


def kind_of(rule: Rule) -> Kind:
    """The kind of a rule. Raises KeyError for an unknown name, PluginBroken when it cannot be imported."""
    kind: Kind = Kinds("rules").load(rule.kind)()
    return kind


def verb_of(action: str) -> Verb:
    """The verb of an action, for people; that of an undo, or of an action that is not installed, is `change`."""
    try:
        settings = Kinds("actions").load(action).Settings
    except (KeyError, PluginBroken):
        return Verb()
    verb: Verb = settings.verb
    return verb


@functools.cache
def _foreign(group: str) -> Mapping[str, str]:
    points = importlib.metadata.entry_points(group=f"reconcile.{group}")
    return {point.name: point.value for point in sorted(points, key=lambda p: (p.name, p.value))}
