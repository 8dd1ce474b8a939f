"""Resolve `use: preset/NAME` in a rule: the preset's settings under the rule's own, with the dataset's columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rules.document.mistakes import Mistake, Position, short, suggestion
from rules.document.tree import Entry, ListNode, MapNode, Node, ScalarNode
from rules.presets.preset import PREFIX, Preset, names, preset

_COLUMN = re.compile(r"\$([a-z_]+)")
_KEYS = ("use", "columns")
REMOVABLE = ("window", "gap", "keep")
"""Settings of a preset that a rule can do without."""


def uses_preset(node: Node) -> bool:
    return isinstance(node, MapNode) and "use" in node.entries


def named_preset(node: Node) -> str | None:
    """Return the name of the preset that a rule uses; None if it names none of ours."""
    use = node.entries["use"].node if isinstance(node, MapNode) and "use" in node.entries else None
    text = use.text or "" if isinstance(use, ScalarNode) else ""
    name = text.removeprefix(PREFIX)
    return name if text.startswith(PREFIX) and name in names() else None


def resolved(node: MapNode, chosen: Preset | None = None) -> tuple[MapNode, list[Mistake]]:
    """Return the rule that the preset and the rule's own settings make together, and every mistake.

    Own settings come first: mappings are merged, anything else is replaced, and an empty value removes a setting of
    the preset. All that comes from the preset is at the position of `use`. `chosen` replaces the preset that `use`
    names, where its value is not resolved yet.
    """
    use = node.entries["use"].node
    name = named_preset(node)
    if chosen is None and name is None:
        return node, [Mistake.at(use.at, _unknown(use))]
    using = _Using(chosen or preset(name or ""), use.at, node.entries.get("columns"))
    return using.rule(node), using.mistakes


def _unknown(use: Node) -> str:
    text = use.text if isinstance(use, ScalarNode) else None
    if text is None:
        return f"`use`: must name a preset, like {PREFIX}{names()[0]}"
    return f"`use`: there is no preset `{short(text)}`; {suggestion(text, [PREFIX + name for name in names()])}"


@dataclass
class _Using:
    """A preset in use at a position, with the entry that maps its columns."""

    preset: Preset
    at: Position
    mapping: Entry | None
    mistakes: list[Mistake] = field(default_factory=list)
    missing: dict[str, None] = field(default_factory=dict)

    def rule(self, own: MapNode) -> MapNode:
        columns = dict(self._columns())
        rest = dict(self._rest(columns))
        own_entries = {key: entry for key, entry in own.entries.items() if key not in _KEYS}
        if rest and self.mapping is not None:
            own_entries["columns"] = Entry(self.mapping.key_at, MapNode(self.mapping.node.at, rest))
        merged = self._merged(self.preset.rule, MapNode(own.at, own_entries), columns)
        at = self.mapping.key_at if self.mapping is not None else self.at
        for column in self.missing:
            sentence = f"preset `{self.preset.name}` needs `columns: {{{column}: …}}`, {self.preset.columns[column]}"
            self.mistakes.append(Mistake.at(at, f"{sentence}{self._without(column, own_entries)}"))
        return merged

    def _without(self, column: str, own: Mapping[str, Entry]) -> str:
        """Return how to do without a column, if the rule still makes sense then; empty if it does not."""
        using = [
            key for key, entry in self.preset.rule.entries.items() if key not in own and _names(entry.node, column)
        ]
        if not set(using) <= set(REMOVABLE):
            return ""
        return f"; if the dataset has none, write {' and '.join(f'`{key}: ~`' for key in using)}"

    def _columns(self) -> Iterator[tuple[str, str]]:
        """Yield the preset's columns with those of the dataset."""
        if self.mapping is None:
            return
        if not isinstance(self.mapping.node, MapNode):
            form = f"{{{next(iter(self.preset.columns))}: …}}"
            self.mistakes.append(Mistake.at(self.mapping.key_at, f"`columns`: must be a mapping like {form}"))
            return
        for name, entry in self.mapping.node.entries.items():
            if isinstance(entry.node, ScalarNode) and entry.node.text and name in self.preset.columns:
                yield name, entry.node.text
            elif isinstance(entry.node, ScalarNode):
                advice = suggestion(name, self.preset.columns)
                empty = f"`{short(name)}` is empty; write a column of the dataset"
                sentence = empty if name in self.preset.columns else f"`{short(name)}` is not known here; {advice}"
                self.mistakes.append(Mistake.at(entry.key_at, sentence))

    def _rest(self, columns: Mapping[str, str]) -> Iterator[tuple[str, Entry]]:
        """Yield what `columns` holds for the rule itself: mappings, by dataset."""
        entries = self.mapping.node.entries if self.mapping and isinstance(self.mapping.node, MapNode) else {}
        for name, entry in entries.items():
            if name not in columns and not isinstance(entry.node, ScalarNode):
                yield name, entry

    def _merged(self, ready: MapNode, own: MapNode, columns: Mapping[str, str]) -> MapNode:
        entries: dict[str, Entry] = {}
        more = dict(own.entries)
        for key, entry in ready.entries.items():
            name = self._name(key, columns)
            written = more.pop(name, None)
            if written is None:
                entries[name] = Entry(self.at, self._filled(entry.node, columns))
            elif isinstance(written.node, MapNode) and isinstance(entry.node, MapNode):
                entries[name] = Entry(written.key_at, self._merged(entry.node, written.node, columns))
            elif not isinstance(written.node, ScalarNode) or written.node.text is not None:
                entries[name] = written
        return MapNode(own.at, entries | more)

    def _filled(self, node: Node, columns: Mapping[str, str]) -> Node:
        """Return a node of the preset with the dataset's columns, at the position of `use`."""
        if isinstance(node, MapNode):
            entries = {
                self._name(key, columns): Entry(self.at, self._filled(entry.node, columns))
                for key, entry in node.entries.items()
            }
            return MapNode(self.at, entries)
        if isinstance(node, ListNode):
            return ListNode(self.at, tuple(self._filled(item, columns) for item in node.items))
        return ScalarNode(self.at, None if node.text is None else self._name(node.text, columns))

    def _name(self, text: str, columns: Mapping[str, str]) -> str:
        return _COLUMN.sub(lambda match: self._column(match[1], columns), text)

    def _column(self, name: str, columns: Mapping[str, str]) -> str:
        if name not in columns:
            self.missing[name] = None
        return columns.get(name, name)


def _names(node: Node, column: str) -> bool:
    """Return True if a part of a preset names this column."""
    if isinstance(node, MapNode):
        return any(column in _COLUMN.findall(key) or _names(entry.node, column) for key, entry in node.entries.items())
    if isinstance(node, ListNode):
        return any(_names(item, column) for item in node.items)
    return column in _COLUMN.findall(node.text or "")
