"""Records that joined a finding since a channel's last message about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from reconcile.config.settings import Project
from reconcile.findings.judgement import FindingChange
from reconcile.findings.shown import Finding, FindingMember
from rules.groups.money import amounts
from rules.values import add, sizes


def joined_records(finding: Finding) -> list[FindingMember]:
    """Return the records that joined since the last message; none if the finding did not grow since then."""
    if finding.notified_at is None or finding.change is not FindingChange.GROWN:
        return []
    return [member for member in finding.members if member.first_seen > finding.notified_at]


def added_money(project: Project, finding: Finding, joined: Sequence[FindingMember]) -> dict[str, Decimal]:
    """Return the money at risk that joined with these records, by currency; empty if the finding does not show it."""
    money: dict[str, Decimal] = {}
    for member in joined:
        settings = project.datasets[member.dataset or finding.dataset].money
        if settings is None or member.role != "surplus":
            continue
        columns = settings.columns(member.values)
        if not {columns.amount, columns.currency_column or columns.amount} <= member.values.keys():
            return {}
        add(money, amounts([member], columns))
    return sizes(money)
