"""Notice settings of files that their format ignores, where a reader of the configuration would expect an effect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from connectors.disk.paths import format_of

_NAMES = {"csv": "CSV", "tsv": "TSV", "json": "JSON", "jsonl": "JSON Lines", "parquet": "Parquet"}
_NAMES |= {"camt": "CAMT", "camt053": "CAMT", "mt940": "MT940", "ofx": "OFX"}
_OWN_ENCODING = {"jsonl": ", which is always UTF-8", "parquet": "", "camt": "", "camt053": ""}
_COLUMN = "columns: {booked: date %d.%m.%Y}"


def remarks(settings: Any) -> Iterator[str]:
    """Yield the sentences of `check` about settings without effect; none for datasets that are not files."""
    if "date_order" not in type(settings).model_fields:
        return
    kind = settings.format or format_of(Path(settings.path))
    if settings.date_order is not None and kind in _NAMES:
        is_text = kind in ("csv", "tsv")
        advice = f"declare the format of each column instead, like `{_COLUMN}`" if is_text else "remove it"
        yield f"`date_order` has no effect on {_NAMES[kind]}; {advice}"
    if settings.encoding is not None and kind in _OWN_ENCODING:
        yield f"`encoding` has no effect on {_NAMES[kind]}{_OWN_ENCODING[kind]}; remove it"
