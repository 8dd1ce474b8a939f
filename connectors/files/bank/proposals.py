"""Settings to propose for a bank's file, from its content. Reading never guesses them."""

from __future__ import annotations

from typing import Any

from connectors.disk.opened_file import OpenedFile
from connectors.errors import ConnectorError
from connectors.files.bank.formats import format_in
from connectors.files.bank.qif import dates
from connectors.files.bank.qif_days import needs_order, orders_of
from connectors.files.bank.text import whole
from connectors.files.csv.facts import facts
from connectors.files.csv.fields import DUCKDB_LINE

_SAME = {"camt053": "camt"}


def proposed(file: OpenedFile, named: str | None) -> tuple[dict[str, Any], dict[str, str]] | None:
    """Return settings with the reason for each; None for a file of no bank. `named` is the format that its name says.

    Raises FileRefused and FileUnreadable.
    """
    kind = format_in(file)
    if kind is None:
        return None
    settings: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    if kind != _SAME.get(named or "", named):
        settings["format"], reasons["format"] = kind, "what is in the file"
    if kind in ("mt940", "qif") and not _is_utf_8(file):
        settings["encoding"] = facts(file, None, DUCKDB_LINE).encoding
        reasons["encoding"] = "it is not UTF-8"
    if kind == "qif" and (order := _only_order(file, settings.get("encoding"))):
        settings["date_order"], reasons["date_order"] = order, "the only order that fits all dates"
    return settings, reasons


def _is_utf_8(file: OpenedFile) -> bool:
    try:
        whole(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return True


def _only_order(file: OpenedFile, encoding: str | None) -> str | None:
    """The order of days, if they need one and only one reads them all."""
    try:
        texts = dates(file, encoding)
    except ConnectorError:
        return None  # the reader tells it with its place
    orders = orders_of(texts) if any(map(needs_order, texts)) else []
    return orders[0] if len(orders) == 1 else None
