"""A configuration as its author wrote it, for keeping: variables not filled in, and no secret that stands in clear.

It is written anew from what was read, in one plain form of YAML. So comments are left out, in which an old password
may stand, and the text says exactly what was read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from reconcile.config.release import model_of, names_a_database
from reconcile.config.secrets import hide_in_addresses, refers_to_secret, without_references
from reconcile.config.sections import SECTIONS, Sections
from reconcile.config.settings import TopSettings
from rules.document.reading import known_keys, wants_secret
from rules.document.tree import Data, MapNode, Node, ScalarNode, data, walk

_PLAIN = re.compile(r"[A-Za-z0-9_/$(](?:[\w./@+$(){}=<>'*%,-]|:(?=\S)| (?=[^ #:]))*", re.ASCII)
_NULLS = ("~", "null", "Null", "NULL")


def texts(sections: Sections) -> dict[str, str] | None:
    """The files of a configuration by path, the main one first; None where a secret stands in one in clear."""
    if any(_stands_in_clear(text, model, path) for model, path, text in _settings(sections)):
        return None
    made = {name: yaml_text(data(root)) for name, root in sections.written.items()}
    for text in made.values():
        bare = without_references(text)
        if hide_in_addresses(bare) != bare or any(secret in text for secret in sections.secrets):
            return None
    return made


def yaml_text(value: Data) -> str:
    """A tree as YAML, one value a line, which reads as the same tree."""
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Data) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _under(f"{_scalar(key)}:", one)
    elif isinstance(value, list) and value:
        for one in value:
            first, *more = _lines(one)
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
    return "".join(one if one.isprintable() else _escape(one) for one in json.dumps(value, ensure_ascii=False))


def _escape(one: str) -> str:
    """A character that would be refused, or read as the end of a line."""
    return f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}"


def _settings(sections: Sections) -> Iterator[tuple[type[BaseModel], tuple[str | int, ...], str]]:
    """Every text that stands where there can be secrets: the model it is for, its path there, and as it is written."""
    for root in sections.written.values():
        for key, entry in root.entries.items():
            if key in known_keys(TopSettings):
                yield from ((TopSettings, (key, *path), text) for path, text in _scalars(entry.node))
            elif key in SECTIONS and isinstance(entry.node, MapNode):
                for name, one in entry.node.entries.items():
                    model = model_of(key, sections[key][name])
                    if model is not None:
                        yield from ((model, path, text) for path, text in _scalars(one.node))


def _scalars(node: Node) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for path, one in walk(node):
        if isinstance(one, ScalarNode) and one.text is not None:
            yield path, one.text


def _stands_in_clear(text: str, model: type[BaseModel], path: tuple[str | int, ...]) -> bool:
    """Whether a secret setting is written out: neither a reference alone, nor the address of a database.

    A default of a variable is written out too. Passwords in addresses are looked for in all texts.
    """
    if refers_to_secret(text):
        return False
    bare = without_references(text)
    return bool(bare) and not names_a_database(bare) and wants_secret(model, path)
