"""Which findings a channel gets, by the rule's owner and severity, its name, and the amount at risk. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal

from reconcile.config.channel_entries import RouteEntry
from reconcile.config.settings import Project
from rules.kinds.base import Rule
from rules.values import by_currency


def fitting(project: Project, channel: str, rules: Collection[str]) -> list[str]:
    """Return the rules whose findings the channel may get."""
    route = project.channels[channel].entry.route
    return [name for name in rules if route is None or _fits(route, project.rules[name])]


def is_large_enough(project: Project, channel: str, money: Mapping[str, Decimal]) -> bool:
    """Return True unless the channel only gets findings with more at risk."""
    route = project.channels[channel].entry.route
    if route is None or not route.amount:
        return True
    amounts = by_currency(money)
    return any(abs(amounts[currency]) >= least for currency, least in route.amount.items() if currency in amounts)


def concerns(subject: str, rules: Collection[str]) -> bool:
    """Return True if a failed check is of one of the rules, or of a whole source."""
    what, _, name = subject.partition(" ")
    return what != "rule" or name in rules


def _fits(route: RouteEntry, rule: Rule) -> bool:
    return (
        (not route.rule or rule.name in route.rule)
        and (not route.owner or rule.owner in route.owner)
        and (route.severity is None or rule.severity >= route.severity)
    )
