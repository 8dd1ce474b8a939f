"""Notice titles above the header of a sheet or a text file, where the names of columns would come from a title."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from connectors.base import DatasetSettings, Queryable, Source, Suggesting
from connectors.disk.paths import format_of
from connectors.errors import ConnectorError
from connectors.headers import OURS

_UNNAMED = re.compile(r"column_\d+")


def remark(source: Source, settings: DatasetSettings) -> str | None:
    """Return the sentence of `check` that proposes where the header is; None if the dataset says it, or has no title.

    Raises no ConnectorError: reading the dataset reports it.
    """
    if isinstance(source, Queryable) or not isinstance(source, Suggesting):
        return None
    try:
        if "header_row" in type(settings).model_fields:
            return _of_sheet(source, settings)
        return _of_text(source, settings) if "skip" in type(settings).model_fields else None
    except ConnectorError:
        return None


def _of_sheet(source: Any, settings: Any) -> str | None:
    if settings.header_row is not None:
        return None
    names = [name for name in source.describe(settings.model_copy(update={"columns": {}})).names if name not in OURS]
    if 2 * sum(map(bool, map(_UNNAMED.fullmatch, names))) < len(names):
        return None  # most columns have a name
    row = source.declaration(settings.sheet or source.candidates()[0]).settings.get("header_row")
    return None if row is None else f"the header seems to be in row {row}, below a title; set `header_row: {row}`"


def _of_text(source: Any, settings: Any) -> str | None:
    kind = settings.format or format_of(Path(settings.path))
    if kind not in ("csv", "tsv") or settings.skip or settings.header is not True:
        return None
    skip = source.declaration(settings.path).settings.get("skip")
    return None if skip is None else f"the header seems to be on line {skip + 1}, below a title; set `skip: {skip}`"
