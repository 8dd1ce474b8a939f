"""Presets as people and programs see them."""

from __future__ import annotations

from reconcile.documents import JsonObject
from reconcile.errors import Wrong
from rules.document.mistakes import short, suggestion
from rules.presets.preset import Preset, names, preset


class PresetUnknown(Wrong):
    """No preset has the given name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no preset {short(name)!r}; {suggestion(name, names())}")


def every() -> list[Preset]:
    return [preset(name) for name in names()]


def named(name: str) -> Preset:
    """Return the preset of that name. Raises PresetUnknown."""
    if name not in names():
        raise PresetUnknown(name)
    return preset(name)


def to_json(preset: Preset) -> JsonObject:
    return {"preset": preset.name, "description": preset.description, "columns": dict(preset.columns)}
