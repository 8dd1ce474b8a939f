"""The text of a configuration for keeping: variables unresolved, and no secret in clear text.

We write it again from the tree, in one plain form of YAML. So it has no comments, which may hold an old password,
and it means exactly what was read.

The canonical text of a configuration without secrets; its hash names the release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from reconcile.config.secrets import hide_in_addresses, refers_to_secret, without_references
from reconcile.config.sections import HIDDEN, SECTIONS, Sections
from reconcile.config.settings import JobEntry, TopSettings
from reconcile.documents import JsonObject
from reconcile.plugins import Kinds
from rules.document.reading import known_keys, wants_secret
from rules.document.tree import Data, Entry, ListNode, MapNode, Node, ScalarNode, data, locate, walk


def canonical(sections: Sections) -> str:
    """Return one line of JSON: resolved values without secrets, comments, order of keys or division into files."""
    settings: JsonObject = {
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


_PLAIN = re.compile(r"[A-Za-z0-9_/$(](?:[\w./@+$(){}=<>'*%,-]|:(?=\S)| (?=[^ #:]))*", re.ASCII)
_NULLS = ("~", "null", "Null", "NULL")


def texts(sections: Sections) -> dict[str, str] | None:
    """Return the files of a configuration by path, the main one first; None if one holds a secret in clear text."""
    if any(_stands_in_clear(text, model, path) for model, path, text in _settings(sections)):
        return None
    files = {name: yaml_text(data(root)) for name, root in sections.written.items()}
    for text in files.values():
        bare = without_references(text)
        if hide_in_addresses(bare) != bare or any(secret in text for secret in sections.secrets):
            return None
    return files


def yaml_text(value: Data) -> str:
    """Write a tree as YAML, one value per line, that reads as the same tree."""
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Data) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _under(f"{_scalar(key)}:", item)
    elif isinstance(value, list) and value:
        for item in value:
            first, *more = _lines(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in more)
    else:
        yield _scalar(value)


def _under(key: str, value: Data) -> Iterator[str]:
    if isinstance(value, (dict, list)) and value:
        yield key
        yield from (f"  {line}" for line in _lines(value))
    else:
        yield f"{key} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if not isinstance(value, str):
        return "{}" if isinstance(value, dict) else "[]"
    if _PLAIN.fullmatch(value) and value not in _NULLS:
        return value
    return "".join(char if char.isprintable() else _escape(char) for char in json.dumps(value, ensure_ascii=False))


def _escape(character: str) -> str:
    """Escape a character that would be refused, or read as the end of a line."""
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _settings(sections: Sections) -> Iterator[tuple[type[BaseModel], tuple[str | int, ...], str]]:
    """Yield every text where secrets are possible: its model, its path there, and the text as written."""
    for root in sections.written.values():
        for key, entry in root.entries.items():
            if key in known_keys(TopSettings):
                yield from ((TopSettings, (key, *path), text) for path, text in _scalars(entry.node))
            elif key in SECTIONS and isinstance(entry.node, MapNode):
                for name, named_entry in entry.node.entries.items():
                    model = model_of(key, sections[key][name])
                    if model is not None:
                        yield from ((model, path, text) for path, text in _scalars(named_entry.node))


def _scalars(node: Node) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for path, scalar in walk(node):
        if isinstance(scalar, ScalarNode) and scalar.text is not None:
            yield path, scalar.text


def _stands_in_clear(text: str, model: type[BaseModel], path: tuple[str | int, ...]) -> bool:
    """Return True if a secret setting is in clear text: neither a reference alone, nor the address of a database.

    The default of a variable is clear text too. All texts are searched for passwords in addresses.
    """
    if refers_to_secret(text):
        return False
    bare = without_references(text)
    return bool(bare) and not names_a_database(bare) and wants_secret(model, path)
