"""Slots: the moments a job is due, and the identity of its runs. Pure: no clock, no store."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import re
from zoneinfo import ZoneInfo

from reconcile.errors import Wrong
from rules.values import canonical_instant, canonical_json

_FORM = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?", re.ASCII)


class SlotRefused(Wrong):
    """`--slot` does not name exactly one instant."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"--slot {text!r} {why}")


def run_id(job: str, slot: dt.datetime) -> str:
    """The id of this job's run at this slot, the same in every process, on every host, for ever.

    A slot is an instant: two spellings of one instant are one run. Raises ValueError for a naive time.
    """
    digest = hashlib.sha256(b"reconcile/run/1\0" + canonical_json([job, slot]).encode()).digest()
    return "run1_" + base64.b32encode(digest[:16]).decode().rstrip("=").lower()


def parse_slot(text: str, zone: ZoneInfo) -> dt.datetime:
    """`2026-11-21T05:15Z`, with an offset, or without one in the job's time zone; returned in UTC.

    A local time that a clock change skips or repeats is ambiguous and refused; with an offset it is accepted. Raises
    SlotRefused.
    """
    stripped = text.strip()
    if not _FORM.fullmatch(stripped):
        raise SlotRefused(text, "is not a time; write it like 2026-11-21T05:15 or 2026-11-21T05:15:00+01:00")
    try:
        slot = dt.datetime.fromisoformat(stripped)
        return slot.astimezone(dt.UTC) if slot.tzinfo else _in_zone(text, slot, zone)
    except (ValueError, OverflowError) as error:
        raise SlotRefused(text, f"is not a time: {error}") from error


def _in_zone(text: str, naive: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    first, second = (naive.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    instants = sorted({instant.astimezone(dt.UTC) for instant in (first, second)})
    existing = [instant for instant in instants if instant.astimezone(zone).replace(tzinfo=None) == naive]
    if len(existing) == 1:
        return existing[0]
    if not existing:
        raise SlotRefused(text, f"does not exist in {zone.key}: the clock is set forward over it")
    choices = " or ".join(instant.astimezone(zone).isoformat() for instant in existing)
    raise SlotRefused(text, f"happens twice in {zone.key}, when the clock is set back; write {choices}")


def slot_text(slot: dt.datetime) -> str:
    """A slot for people and JSON: UTC, whole seconds without a fraction (`2026-11-21T05:15:00Z`)."""
    text = canonical_instant(slot)
    return text.replace(".000000Z", "Z")
