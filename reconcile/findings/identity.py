"""What makes a finding the same one tomorrow: the rule's identity, canonical keys, fingerprints, short ids. Pure."""

from __future__ import annotations

import base64
import datetime as dt
import enum
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rules.engines.base import Group
from rules.kinds.base import Rule
from rules.models import Severity
from rules.normalise import NORMALISERS
from rules.values import RecordId, Value, canonical, canonical_instant, canonical_json

_DOMAIN = "reconcile/finding/1"
_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_MISREAD = str.maketrans("OIL", "011")
SHORTEST_ID = 6
_ERASED = re.compile("erased:[0-9a-f]{16}")
_CONTENT = re.compile("[0-9a-f]{32}")


class Existing(enum.Enum):
    """What to do with what a rule finds in its first run, or the first after an edit of what it matches."""

    SUMMARY = "summary"  # one message with the totals
    REPORT = "report"  # told like any other new finding
    IGNORE = "ignore"  # remembered, told only when it grows or comes back


@dataclass(frozen=True)
class RuleIdentity:
    """What findings need to know of a rule.

    `definition` is the hash of what the rule matches: other settings may change without making it another rule.
    `unversioned` is that hash without the versions of the normalisers: where only it is the same, another release
    wrote the keys. `by_records`: one key can hold several groups (`gap`, `window`), so a finding is followed by its
    records.
    """

    name: str
    kind: str
    dataset: str
    definition: str
    severity: Severity = Severity.medium
    by_records: bool = False
    was: str | None = None
    existing: Existing = Existing.SUMMARY
    unversioned: str = ""

    @classmethod
    def of(cls, rule: Rule, *, existing: Existing = Existing.SUMMARY, dataset_definition: str = "") -> RuleIdentity:
        """The identity of a rule as it is written; `dataset_definition` is text for what its dataset matches."""
        said = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(rule.not_matching))
        matching = [rule.kind, said, dataset_definition]
        versions = _versions(rule)
        return cls(
            name=rule.name,
            kind=rule.kind,
            dataset=rule.dataset,
            definition=_definition([*matching, versions] if versions else matching),
            severity=rule.severity,
            by_records=rule.ordered_by is not None,
            was=rule.was,
            existing=existing,
            unversioned=_definition(matching),
        )


def _definition(matching: Sequence[Any]) -> str:
    text = json.dumps(matching, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _versions(rule: Rule) -> dict[str, int]:
    """Normalisers of the rule's key that wrote values in another way in an earlier release."""
    names = {step.name for _, part in rule.key_parts() for step in part.steps}
    return {name: NORMALISERS[name].version for name in names if NORMALISERS[name].version > 1}


def record_of(record_id: RecordId) -> str:
    """The name under which the store knows a record: its id as one line of canonical JSON."""
    return canonical_json(record_id)


def records_of(group: Group) -> tuple[str, ...]:
    """The names of a group's records, keeper first."""
    return tuple(record_of(member.id) for member in group.members)


def key_text(key: Mapping[str, Value]) -> str:
    """A key as one canonical line, whatever the order its columns are written in."""
    return json.dumps([[name, canonical(key[name])] for name in sorted(key)], separators=(",", ":"))


def holds(judged: Mapping[str, Value], now: Mapping[str, Value]) -> bool:
    """True while every value a decision was about is still the same; a column that is no longer there is a change."""
    return all(name in now and canonical(now[name]) == canonical(value) for name, value in judged.items())


def stands(judged: Mapping[str, Value], now: Mapping[str, Value]) -> bool:
    """True while no value that a decision was about is known to be another one: a rule may not look at all of them."""
    return all(name not in now or canonical(now[name]) == canonical(value) for name, value in judged.items())


def fingerprint(rule: str, kind: str, key: Mapping[str, Value], anchor: Value = None, again: int = 0) -> str:
    """64 hex digits that name a finding: the rule, its key and, where one key has several groups, where this one began.

    `again` tells apart findings that would have one name by chance of history (a rule's name given to another rule).
    """
    parts = [_DOMAIN, rule, kind, key_text(key), canonical(anchor), again]
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()


def fingerprint_of(rule: RuleIdentity, group: Group, again: int = 0) -> str:
    """The fingerprint of a group found today."""
    anchor = group.span[0] if rule.by_records and group.span else None
    return fingerprint(rule.name, rule.kind, group.key, anchor, again)


def short_id(mark: str, length: int = SHORTEST_ID) -> str:
    """`F-7K2M9Q`: the first characters of a fingerprint in Crockford's base 32, at most 51."""
    digits = base64.b32encode(bytes.fromhex(mark)).rstrip(b"=").translate(_CROCKFORD).decode()
    return f"F-{digits[:length]}"


def read_id(written: str) -> str:
    """An id as people type it (`f-7k2m9q`, `7K2M9Q`, an O for a 0) as the store writes it."""
    bare = written.strip().upper().removeprefix("F-")
    return f"F-{bare.translate(_MISREAD)}"


def short_ids(marks: Sequence[str], taken: Collection[str]) -> dict[str, str]:
    """An id for each fingerprint, none of them taken; the same whatever the order the fingerprints come in."""
    used, given = set(taken), {}
    for mark in sorted(marks):
        length = SHORTEST_ID
        while (candidate := short_id(mark, length)) in used:
            length += 1
        used.add(candidate)
        given[mark] = candidate
    return given


def encode(value: Value) -> list[str] | None:
    """A value as JSON that `decode` turns back into the same value, its type and its trailing zeros included."""
    match value:
        case None:
            return None
        case bool():
            return ["b", "true" if value else "false"]
        case str():
            return ["t", value]
        case int():
            return ["z", str(value)]
        case Decimal():
            return ["n", str(value)]
        case float():
            return ["f", repr(value)]
        case dt.datetime():
            return ["i", canonical_instant(value)]
        case dt.date():
            return ["d", value.isoformat()]
        case bytes():
            return ["y", value.hex()]
    raise TypeError(f"a {type(value).__name__} cannot be remembered")


_DECODERS: dict[str, Any] = {
    "b": lambda text: text == "true",
    "t": str,
    "z": int,
    "n": Decimal,
    "f": float,
    "i": dt.datetime.fromisoformat,
    "d": dt.date.fromisoformat,
    "y": bytes.fromhex,
}


def decode(stored: Sequence[str] | None) -> Value:
    """The value that `encode` was given."""
    if stored is None:
        return None
    tag, text = stored
    value: Value = _DECODERS[tag](text)
    return value


def public(value: Value) -> str | int | float | bool | None:
    """A value as public JSON: decimals and unending floats as text, instants and dates in ISO form, bytes in hex."""
    match value:
        case bool() | str() | None:
            return value
        case int():
            return value
        case Decimal():
            return _decimal_text(value)
        case float():
            return value if value - value == 0 else repr(value)
        case dt.datetime():
            return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
        case dt.date():
            return value.isoformat()
    return value.hex()


def _decimal_text(value: Decimal) -> str:
    """Plain digits without the zeros a column's scale adds, but two places where there were two: 312.40, not 312.4."""
    text = format(value, "f")
    whole, mark, places = text.partition(".")
    kept = places.rstrip("0")
    return whole + mark + kept.ljust(min(2, len(places)), "0") if mark else whole


def id_of(record: str) -> RecordId:
    """The record id behind its canonical name; a whole number is an int, another one a Decimal."""
    return tuple(None if part is None else _id_part(*part) for part in json.loads(record))


def erased_name(mark: str, columns: int) -> str:
    """The name of a record that was erased: an id of so many columns that says so, and tells it from others."""
    return record_of((f"erased:{mark[:16]}", *(None,) * (columns - 1)))


def is_erased(record_id: RecordId) -> bool:
    """Whether this is the id of such a name: no record of a source has it."""
    first, *rest = record_id
    return isinstance(first, str) and _ERASED.fullmatch(first) is not None and rest == [None] * len(rest)


def is_of_content(record_id: Sequence[Any]) -> bool:
    """Whether this names a record by all it says, as in a dataset without an id: a digest, and a number."""
    match record_id:
        case (str(digest), int()):
            return _CONTENT.fullmatch(digest) is not None
    return False


def _id_part(tag: str, text: str) -> Value:
    if tag == "n":
        return _number(text)
    value: Value = _DECODERS[tag](text)
    return value


def _number(text: str) -> Value:
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)
