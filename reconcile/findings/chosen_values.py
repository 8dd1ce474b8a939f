"""The fields of a merged record that a person chose to take from single records of a finding. Pure.

A choice names a record, never a value. It is void once the record has left the finding, or has another value there:
`proof` is an HMAC of the value at the choice.
"""

from __future__ import annotations

import datetime as dt
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rules.values import canonical_instant

if TYPE_CHECKING:
    from connectors.target import Cell
    from reconcile.findings.shown import Finding, FindingMember


@dataclass(frozen=True)
class GivenValue:
    """A person's choice to take a field from a record: by whom, when, and a proof of the value at that time."""

    by: str
    at: dt.datetime
    proof: str


def proof_of(key: bytes, record: str, column: str, cell: Cell) -> str:
    """Return a name for this value of a record, under the store's key, that tells nothing about the value."""
    content = json.dumps([record, column, cell], separators=(",", ":"))
    return hmac.digest(key, b"reconcile/value/1|" + content.encode(), "sha256").hex()[:32]


def read(stored: Mapping[str, Any] | None) -> dict[str, GivenValue]:
    """Return the fields that a stored record gives."""
    given = (stored or {}).items()
    return {name: GivenValue(each["by"], dt.datetime.fromisoformat(each["at"]), each["proof"]) for name, each in given}


def written(value: GivenValue) -> dict[str, str]:
    """Return the stored form of a field that a record gives."""
    return {"by": value.by, "at": canonical_instant(value.at), "proof": value.proof}


def chosen_values(finding: Finding) -> dict[str, tuple[FindingMember, GivenValue]]:
    """Return the record that gives each field, by column; of several choices the last one counts."""
    chosen: dict[str, tuple[FindingMember, GivenValue]] = {}
    for member in finding.members:
        for column, value in member.gives.items():
            if column not in chosen or chosen[column][1].at < value.at:
                chosen[column] = member, value
    return dict(sorted(chosen.items()))


def by_record(finding: Finding) -> list[tuple[FindingMember, str, list[str]]]:
    """Return each record that gives fields, with who chose it and the columns."""
    grouped: dict[tuple[str, str], tuple[FindingMember, str, list[str]]] = {}
    for column, (member, value) in chosen_values(finding).items():
        grouped.setdefault((repr(member.id), value.by), (member, value.by, []))[2].append(column)
    return list(grouped.values())


def with_values(finding: Finding, wanted: Mapping[str, tuple[FindingMember, GivenValue] | None]) -> Finding:
    """Return the finding with these fields given by these records; None takes the choice of a field back."""
    members = []
    for member in finding.members:
        kept = {column: value for column, value in member.gives.items() if column not in wanted}
        new = {column: pair[1] for column, pair in wanted.items() if pair is not None and _is(pair[0], member)}
        members.append(replace(member, gives=kept | new))
    return replace(finding, members=tuple(members))


def _is(first: FindingMember, second: FindingMember) -> bool:
    return (first.dataset, first.id) == (second.dataset, second.id)
