"""The canonical text of a configuration without secrets; its hash names the release."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from reconcile.config.secrets import hide_in_addresses
from reconcile.config.sections import HIDDEN, Sections
from reconcile.config.settings import JobEntry, TopSettings
from reconcile.plugins import Kinds
from rules.document.reading import wants_secret
from rules.document.tree import Data, Entry, ListNode, MapNode, Node, ScalarNode, locate


def canonical(sections: Sections) -> str:
    """Return one line of JSON: resolved values without secrets, comments, order of keys or division into files."""
    settings: dict[str, Any] = {
        section: {name: _shown(entry.node, model_of(section, entry)) for name, entry in entries.items()}
        for section, entries in sections.named.items()
        if entries
    }
    settings |= {key: _shown(entry.node, TopSettings, (key,)) for key, entry in sections.top.entries.items()}
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def model_of(section: str, entry: Entry) -> type[BaseModel] | None:
    """Return the model that marks the secret settings of an entry, if there is one."""
    if section == "jobs":
        return JobEntry
    group = {"sources": "connectors", "channels": "channels"}.get(section)
    named = locate(entry.node, ("type",)).node
    if group is None or not isinstance(named, ScalarNode) or named.text is None:
        return None
    model: type[BaseModel] = Kinds(group).load(named.text).Settings
    return model


def _shown(node: Node, model: type[BaseModel] | None, path: tuple[str | int, ...] = ()) -> Data:
    """Return a tree as data in which a secret appears as its author's reference, or as ***."""
    if isinstance(node, MapNode):
        return {key: _shown(entry.node, model, (*path, key)) for key, entry in node.entries.items()}
    if isinstance(node, ListNode):
        return [_shown(item, model, (*path, index)) for index, item in enumerate(node.items)]
    text = node.sealed_as or node.text
    if text is None:
        return None
    if node.sealed_as is None and model is not None and wants_secret(model, path) and not names_a_database(text):
        return HIDDEN
    return hide_in_addresses(text)


def names_a_database(text: str) -> bool:
    """Return True for the address of a database, which is part of a release, although its password is a secret.

    The whole address of a web hook is a secret.
    """
    scheme, separator, _ = text.partition("://")
    return bool(separator and scheme) and scheme.lower() not in ("http", "https")
