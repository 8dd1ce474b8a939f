"""How a dataset of cells declares its columns, in the words of the readers of sheets."""

from __future__ import annotations

from typing import Any

from connectors.base import DatasetSettings
from connectors.declared import Declared, Notation, declared


def kinds_of(dataset: DatasetSettings) -> dict[str, Declared]:
    """The declared types by column. Raises ColumnTypeUnknown."""
    return {name: declared(name, word) for name, word in dataset.columns.items()}


def notation_of(dataset: DatasetSettings) -> Notation:
    return Notation(dataset.decimal, dataset.null_values, dataset.timezone)


def text_forms(dataset: DatasetSettings) -> dict[str, dict[str, Any]]:
    """The form of the cells of each declared column if it becomes text, so that the text can be read as declared."""
    mark = notation_of(dataset).mark
    return {name: _text_form(kind, mark) for name, kind in kinds_of(dataset).items()}


def _text_form(kind: Declared, mark: str) -> dict[str, Any]:
    number = kind.word in ("integer", "decimal", "float") or kind.epoch is not None
    form = kind.formats[0] if kind.formats and "%z" not in kind.formats[0] else None
    return {
        "force": kind.word == "text",
        "approximate": kind.word == "float",
        "mark": mark if number else ".",
        "form": form,
    }
