"""Identity of findings across runs: the rule's identity, canonical keys, fingerprints, short ids. Pure."""

from __future__ import annotations

import base64
import datetime as dt
import enum
import hashlib
import hmac
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from rules.groups.group import Group
from rules.kinds.base import Rule
from rules.models import Severity
from rules.normalise import NORMALISERS
from rules.pairs.evidence import LinkingValues, differing_values, linking_values
from rules.values import RecordId, Value, canonical, canonical_instant, canonical_json
from rules.values.compact import encoder

_LINKING = "@by "
_DIFFERING = "@not "
_JSON = encoder()
_DOMAIN = "reconcile/finding/1"
_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_MISREAD = str.maketrans("OIL", "011")
SHORTEST_ID = 6
_ERASED = re.compile("erased:[0-9a-f]{16}")
_CONTENT = re.compile("[0-9a-f]{32}")
_DATASET = "@"
"""The tag of a dataset in a record's name; no value has it."""


class InDataset(Protocol):
    """A record; `dataset` is None for one of its rule's first dataset."""

    @property
    def id(self) -> RecordId: ...

    @property
    def dataset(self) -> str | None: ...


class Existing(enum.Enum):
    """How to report the findings of a rule's first run, or of the first run after an edit of what it matches."""

    SUMMARY = "summary"  # one message with the totals
    REPORT = "report"  # reported like any other new finding
    IGNORE = "ignore"  # remembered; reported only when it grows or comes back


@dataclass(frozen=True)
class RuleIdentity:
    """The properties of a rule that identify its findings.

    `definition` is the hash of the settings that decide what the rule matches; other settings may change without
    making it another rule. `unversioned` is that hash without the versions of the normalisers: if only it is the
    same, another release wrote the keys. `by_records`: one key can hold several groups (`gap`, `window`), so a
    finding is recognised by its records. `datasets` are those whose records its groups hold.
    `hides_amounts`: its amounts are personal data, so they order nothing.
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
    datasets: tuple[str, ...] = ()
    hides_amounts: bool = False

    @classmethod
    def of(cls, rule: Rule, *, existing: Existing = Existing.SUMMARY, dataset_definition: str = "") -> RuleIdentity:
        """Return the identity of a rule; `dataset_definition` is a text for the records its dataset lets through."""
        settings = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(rule.not_matching))
        matching = [rule.kind, settings, dataset_definition]
        versions = _versions(rule)
        return cls(
            name=rule.name,
            kind=rule.kind,
            dataset=rule.dataset,
            definition=_definition([*matching, versions] if versions else matching),
            severity=rule.severity,
            by_records=rule.by_records,
            was=rule.was,
            existing=existing,
            unversioned=_definition(matching),
            datasets=rule.member_datasets,
        )


def _definition(matching: Sequence[Any]) -> str:
    text = json.dumps(matching, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _versions(rule: Rule) -> dict[str, int]:
    """Return the versions of the key's normalisers that changed since an earlier release."""
    names = {step.name for _, part in rule.key_parts() for step in part.steps}
    return {name: NORMALISERS[name].version for name in names if NORMALISERS[name].version > 1}


def record_of(record_id: RecordId, dataset: str | None = None) -> str:
    """Return the record's name in the store: its id as one line of canonical JSON.

    With a dataset, one that is not the first of its rule, the name begins with that.
    """
    name = canonical_json(record_id)
    return name if dataset is None else f"{beginning(dataset)},{name[1:]}"


def beginning(dataset: str | None = None) -> str:
    """Return how the names of the dataset's records begin, or the names of records of any but the first dataset."""
    return f'[["{_DATASET}",' + ("" if dataset is None else f"{json.dumps(dataset)}]")


def member_name(member: InDataset) -> str:
    """Return the name of a group's or a finding's record."""
    return record_of(member.id, member.dataset)


def records_of(group: Group) -> tuple[str, ...]:
    """Return the names of a group's records, in their order."""
    return tuple(map(member_name, group.members))


def dataset_of(record: str) -> str | None:
    """Return the dataset in a record's name; None for a record of its rule's first dataset."""
    first, *_ = json.loads(record)
    return str(first[1]) if first is not None and first[0] == _DATASET else None


def without_dataset(record: str) -> str:
    """Return a record's name as it is in rules that read its dataset first."""
    dataset = dataset_of(record)
    return record if dataset is None else f"[{record.removeprefix(beginning(dataset))[1:]}"


def judged_values(group: Group) -> dict[str, Value]:
    """Return the values a decision about the group is about: if one of them changes, it needs another decision.

    For a group with links they are the values that link its records; then another value that does needs another
    decision.
    """
    if group.links:
        return {f"{_LINKING}{column}": value for column, value in group.identity_key.items()}
    return {**group.identity_key, **group.decided_on}


def linking_in(judged: Mapping[str, Value]) -> LinkingValues:
    """Return the values that link records among those of `judged_values`."""
    items = judged.items()
    return linking_values((name.removeprefix(_LINKING), value) for name, value in items if name.startswith(_LINKING))


PairValues = tuple[dict[str, Value], dict[str, Value]]
"""The values that a judgement of two records is about, those of the first and those of the second."""


def agreeing(first: Mapping[str, Value], second: Mapping[str, Value]) -> PairValues:
    """Return the values in which two records agree, in the form of `judged_values`: "not the same" is about them."""
    shared = {f"{_LINKING}{name}": value for name, value in first.items() if _is_equal(value, second.get(name))}
    return shared, shared


def differing(first: Mapping[str, Value], second: Mapping[str, Value]) -> PairValues:
    """Return the values in which two records differ, where both have one: "the same" is about them."""
    names = [
        name
        for name, value in first.items()
        if value is not None and second.get(name) is not None and not _is_equal(value, second[name])
    ]
    of_first, of_second = ({f"{_DIFFERING}{name}": record[name] for name in names} for record in (first, second))
    return of_first, of_second


def differing_in(first: Mapping[str, Value], second: Mapping[str, Value]) -> LinkingValues:
    """Return the values among those of `differing`."""
    return differing_values(
        (name.removeprefix(_DIFFERING), value, second[name])
        for name, value in first.items()
        if name.startswith(_DIFFERING) and name in second
    )


def compared_name(name: str) -> str:
    """Return the column of a value that a judgement is about."""
    return name.removeprefix(_LINKING).removeprefix(_DIFFERING)


def _is_equal(first: Value, second: Value) -> bool:
    return first is not None and canonical(first) == canonical(second)


def key_text(key: Mapping[str, Value]) -> str:
    """Return a key as one canonical line, independent of the order of its columns."""
    return _JSON([[name, canonical(key[name])] for name in sorted(key)])


def holds(judged: Mapping[str, Value], now: Mapping[str, Value]) -> bool:
    """Return True if every value a decision was about is still the same; a missing column counts as a change.

    Of values that link records, none may be new.
    """
    if linking := linking_in(now):
        return linking <= linking_in(judged)
    return all(name in now and canonical(now[name]) == canonical(value) for name, value in judged.items())


def stands(judged: Mapping[str, Value], now: Mapping[str, Value]) -> bool:
    """Return True if no value a decision was about is known to differ: a rule may not read all of them.

    Of values that linked records, one must still do so.
    """
    if (linking := linking_in(now)) and (former := linking_in(judged)):
        return not linking.isdisjoint(former)
    return all(name not in now or canonical(now[name]) == canonical(value) for name, value in judged.items())


def fingerprint(rule: str, kind: str, key: Mapping[str, Value], anchor: Value = None, again: int = 0) -> str:
    """Return 64 hex digits that identify a finding: its rule, its key and, if a key has several groups, its start.

    It stays inside: whoever sees one can compare it with guesses of a masked key.
    `again` distinguishes findings that would have the same name by history, as when another rule takes a rule's name.
    """
    parts = [_DOMAIN, rule, kind, key_text(key), canonical(anchor), again]
    return hashlib.sha256(_JSON(parts).encode()).hexdigest()


def fingerprint_of(rule: RuleIdentity, group: Group, again: int = 0) -> str:
    """Return the fingerprint of a detected group. Groups of one key differ by their start, or by their first record."""
    anchor: Value = None
    if rule.by_records:
        anchor = group.span[0] if group.span else member_name(group.anchor)
    return fingerprint(rule.name, rule.kind, group.identity_key, anchor, again)


def keyed(mark: str, key: bytes) -> str:
    """Return the 64 hex digits that the id of a new finding comes from: nobody without the state's key can guess it."""
    return hmac.digest(key, f"reconcile/finding-id/1|{mark}".encode(), "sha256").hex()


def short_id(digits: str, length: int = SHORTEST_ID) -> str:
    """Return an id like `F-7K2M9Q`: the first of these hexadecimal digits in Crockford's base 32, at most 51."""
    enough = digits[: 10 * -(-length // 8)]  # ten hexadecimal digits are eight in base 32
    characters = base64.b32encode(bytes.fromhex(enough)).rstrip(b"=").translate(_CROCKFORD).decode()
    return f"F-{characters[:length]}"


def read_id(text: str) -> str:
    """Convert an id as people type it (`f-7k2m9q`, `7K2M9Q`, an O for a 0) to the form in the store."""
    stripped = text.strip().upper().removeprefix("F-")
    return f"F-{stripped.translate(_MISREAD)}"


def short_ids(marks: Sequence[str], taken: Collection[str], key: bytes) -> dict[str, str]:
    """Return a free id for each fingerprint under the state's key, independent of the order of the fingerprints."""
    used_ids, ids = set(taken), {}
    for mark in sorted(marks):
        digits, length = keyed(mark, key), SHORTEST_ID
        while (candidate := short_id(digits, length)) in used_ids:
            length += 1
        used_ids.add(candidate)
        ids[mark] = candidate
    return ids


def encode(value: Value) -> list[str] | None:
    """Return a value as JSON that `decode` turns back into the same value, with its type and its trailing zeros."""
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
    raise TypeError(f"a {type(value).__name__} cannot be stored")


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
    """Return the value from its form by `encode`."""
    if stored is None:
        return None
    tag, text = stored
    value: Value = _DECODERS[tag](text)
    return value


def public(value: Value) -> str | int | float | bool | None:
    """Return a value as public JSON: decimals and non-finite floats as text, times in ISO form, bytes in hex."""
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
    """Return plain digits without trailing zeros, but keep up to two decimal places: 312.40, not 312.4."""
    text = format(value, "f")
    integer, point, places = text.partition(".")
    digits = places.rstrip("0")
    return integer + point + digits.ljust(min(2, len(places)), "0") if point else integer


def id_of(record: str) -> RecordId:
    """Return the record id of a canonical name; a whole number becomes an int, any other number a Decimal."""
    parts = json.loads(record)
    return tuple(None if part is None else _id_part(*part) for part in parts if part is None or part[0] != _DATASET)


def erased_name(mark: str, record: str) -> str:
    """Return the name of a record after its erasure: a recognisable, distinct id of as many columns."""
    return record_of((f"erased:{mark[:16]}", *(None,) * (len(id_of(record)) - 1)), dataset_of(record))


def is_erased(record_id: RecordId) -> bool:
    """Return True if the id has the form of `erased_name`; no record of a source has it."""
    first, *rest = record_id
    return isinstance(first, str) and _ERASED.fullmatch(first) is not None and rest == [None] * len(rest)


def is_of_content(record_id: Sequence[Any]) -> bool:
    """Return True if the id comes from a record's content, as in a dataset without id: a digest and a number."""
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
