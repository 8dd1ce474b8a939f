"""Notices for the tests of channels: a night with double charges, as small or large as wanted."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal

from notifications.base import FailureNotice, GroupNotice, Notice, RuleNotice, TroubleNotice

SLOT = dt.datetime(2026, 11, 21, 5, 15, tzinfo=dt.UTC)

HOSTILE = (
    "<!channel>",
    "@here *bold* _it_ ~no~ `code`",
    "<https://evil.example|your bank> &amp; Co",
    "two\r\nlines\tand \u202eturned\u200b",
    "O'Brien; drop table charges",
    "𝔘" * 300,
    "\ud800",
    "",
)


def group(number: int, *, name: str = "A-17", state: str = "new") -> GroupNotice:
    first = SLOT - dt.timedelta(hours=7, minutes=number)
    return GroupNotice(
        finding=f"F-7K2M{number:04d}",
        state=state,
        key={"order_id": name, "amount": "20.00", "currency": "EUR"},
        keeper=f"ch_{2 * number + 1}",
        surplus=(f"ch_{2 * number + 2}",),
        records=2,
        money={"EUR": Decimal("20.00")},
        first=first,
        last=first + dt.timedelta(seconds=30),
        seconds_apart=(30.0,),
    )


def double_charges(groups: int, *, hostile: bool = False) -> RuleNotice:
    def name(number: int) -> str:
        return HOSTILE[number % len(HOSTILE)] if hostile else f"A-{number + 17}"

    return RuleNotice(
        rule="double-charge",
        severity="critical",
        dataset="charges",
        new=groups,
        grown=0,
        reopened=0,
        known=0,
        resolved=0,
        records=groups,
        money={"EUR": Decimal(20 * groups)},
        owner="@finance",
        runbook="https://wiki.example.com/double-charge",
        largest=tuple(group(number, name=name(number)) for number in range(groups)),
    )


def night(*rules: RuleNotice, failures: tuple[FailureNotice, ...] = (), name: str = "n-1") -> Notice:
    return Notice(
        id=name,
        job="nightly",
        run="4f1c09a2",
        slot=SLOT,
        rules=rules,
        failures=failures,
        since=SLOT - dt.timedelta(days=1),
        created=dt.datetime.now(dt.UTC),
        timezone="Europe/Berlin",
    )


def first_run(rule: RuleNotice) -> RuleNotice:
    return replace(rule, first_run=True)


LATE = TroubleNotice(
    "late:nightly",
    "Job nightly has not succeeded since 20 Nov 06:15 (expected every 26h). See its runs: reconcile runs nightly",
    SLOT + dt.timedelta(hours=2),
)


def trouble(about: TroubleNotice = LATE, *, job: str | None = "nightly", name: str = "t-1") -> Notice:
    """A message about Reconcile itself, written when the trouble began, or three hours later when it ended."""
    at = about.since + dt.timedelta(hours=3 if about.ended else 0)
    return Notice(id=name, job=job, run=None, slot=at, created=at, timezone="Europe/Berlin", trouble=about)
