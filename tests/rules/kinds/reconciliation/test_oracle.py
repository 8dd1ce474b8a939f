"""Small datasets, any rule of kind reconciliation: the answer is that of an independent oracle, in any order."""

import datetime as dt
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rules.groups.detection import Detection
from rules.groups.group import Discrepancy
from rules.kinds.reconciliation import assigning, matching
from rules.values import Type
from tests.rules.kinds.reconciliation.compared import MONEY, SLOT, TYPES, Compared
from tests.rules.kinds.reconciliation.oracle import Answer, Case, Row, answer, balance
from tests.support.chance import examples
from tests.support.rules import databases, pushed_together

pytestmark = pytest.mark.slow

FRIDAY = dt.date(2026, 2, 27)
AMOUNTS = [Decimal(text) for text in ("10.00", "10.01", "10.02", "5.00", "5.01", "15.00", "0", "-10.00")]
__all__ = ["databases"]
seeds = st.integers(0, 2**32)
"""Hypothesis alone draws records that are rarely alike."""


def datasets(seed: int, blocks: int = 12) -> tuple[list[Row], list[Row]]:
    """Records of both sides in blocks that share keys only among themselves: many cases for one run."""
    drawn = random.Random(seed)
    sides: tuple[list[Row], list[Row]] = ([], [])
    for number in range(blocks):
        few = drawn.choice([1, 2, 8])  # of few different values, records are alike
        for rows in sides:
            rows += [
                _record(drawn, number, few) | {"id": len(rows) + n} for n in range(drawn.choice([0, 1, 1, 2, 3, 4]))
            ]
    return sides


def _record(drawn: random.Random, number: int, few: int) -> dict[str, Any]:
    at = dt.datetime(2026, 3, 7, 22, tzinfo=dt.UTC) + dt.timedelta(hours=drawn.randrange(8 * few))
    values = {
        "ref": f"{drawn.choice('Aa')}{number}{drawn.choice(['', ' '])}",
        "day": FRIDAY + dt.timedelta(days=drawn.randrange(min(few + 1, 6))),
        "at": at,
        "amount": drawn.choice(AMOUNTS[:few]),
        "currency": drawn.choice(["EUR"] * 9 + ["USD"]),
        "status": drawn.choice(["ok", "ok", "ok", "no", None]),
    }
    return {name: None if drawn.random() < 0.03 else value for name, value in values.items()}


def key(row: Row) -> Any:
    """`[ref: [trim, lower], currency]`."""
    if row["ref"] is None or row["currency"] is None:
        return None
    return row["ref"].strip().lower(), row["currency"]


def ref(row: Row) -> Any:
    return None if row["ref"] is None else (row["ref"].strip().lower(),)


def ref_and(column: str) -> Callable[[Row], Any]:
    return lambda row: None if None in (row["ref"], row[column]) else (row["ref"].strip().lower(), row[column])


def ref_and_any(column: str) -> Callable[[Row], Any]:
    return lambda row: None if row["ref"] is None else (row["ref"].strip().lower(), row[column])


def every(*columns: str) -> Callable[[Row], Any]:
    return lambda row: None if None in (values := tuple(row[column] for column in columns)) else values


NULLS = "nulls: {status: match}\n"
KEY = "key: [{ref: [trim, lower]}, currency]\n"
KEYS: dict[str, tuple[Callable[[Row], Any], tuple[str, ...]]] = {
    KEY: (key, ("ref", "currency")),
    "key: {ref: [trim, lower]}\n": (ref, ("ref",)),
    "key: [{ref: [trim, lower]}, amount]\n": (ref_and("amount"), ("ref", "amount")),
    "key: [{ref: [trim, lower]}, day]\n": (ref_and("day"), ("ref", "day")),
    f"key: [{{ref: [trim, lower]}}, status]\n{NULLS}": (ref_and_any("status"), ("ref", "status")),
}


IN_TURN: dict[str, list[tuple[Callable[[Row], Any], tuple[str, ...]]]] = {
    "key: {any: [[status, day], {ref: [trim, lower]}]}\n": [
        (every("status", "day"), ("status", "day")),
        (ref, ("ref",)),
    ],
    "key: {any: [[{ref: [trim, lower]}, amount], [{ref: [trim, lower]}, currency], [amount, status, day]]}\n": [
        (ref_and("amount"), ("ref", "amount")),
        (key, ("ref", "currency")),
        (every("amount", "status", "day"), ("amount", "status", "day")),
    ],
}
"""Rules with several keys."""


def tolerances() -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """The setting and its meaning."""
    dates = st.tuples(
        st.sampled_from(["day", "at"]), st.integers(0, 2), st.one_of(st.none(), st.integers(0, 2)), st.booleans()
    )
    amounts = st.tuples(
        st.one_of(st.none(), st.sampled_from(["0", "0.01", "5.00"])),
        st.one_of(st.none(), st.sampled_from(["0.1", "50"])),
        st.booleans(),
    )
    return st.tuples(st.one_of(st.none(), dates), st.one_of(st.none(), amounts)).map(_tolerance)


def _tolerance(drawn: tuple[Any, Any]) -> tuple[str, dict[str, Any]]:
    dates, amounts = drawn
    parts, meaning = [], dict[str, Any]()
    if dates is not None:
        column, days, before, business = dates
        unit = "business_days" if business else "days"
        extra = "" if before is None else f", before: {before}"
        parts.append(f"date: {{left: {column}, right: {column}, {unit}: {days}{extra}}}")
        earlier = days if before is None else before
        meaning |= {"date": column, "window": (earlier, days), "business": business}
    if amounts is not None:
        by, percent, is_either = amounts if any(amounts[:2]) else ("0", None, False)
        limits = [f"by: {by}"] * (by is not None)
        limits += [f"{'percent' if limits else 'by'}: {percent}%"] * (percent is not None)
        limits += ["hold: either"] * (is_either := is_either and len(limits) == 2)
        parts.append(f"amount: {{left: amount, right: amount, {', '.join(limits)}}}")
        meaning |= {"amounts": True, "by": _decimal(by), "percent": _decimal(percent), "is_either": is_either}
    return (f"tolerance: {{{', '.join(parts)}}}\n" if parts else ""), meaning


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


MATCHES = ("one_to_one", "one_to_one", "one_to_many", "many_to_one", "many_to_many", "many_to_many")


@st.composite
def rules(draw: st.DrawFn, matches: Sequence[str] = MATCHES) -> tuple[str, Case]:
    text, meaning = draw(tolerances())
    setting = draw(st.sampled_from([KEY, *KEYS, *IN_TURN]))
    keys = IN_TURN[setting] if setting in IN_TURN else [KEYS[setting]]
    case = Case(*keys[0], **meaning)
    text = setting + text
    match = draw(st.sampled_from(matches)) if len(keys) == 1 else "one_to_one"
    text += f"match: {match}\n"
    case = replace(case, many=(match.startswith("many"), match.endswith("many")))
    if case.amounts and case.percent is None and match in ("one_to_many", "many_to_one") and draw(st.booleans()):
        most = draw(st.sampled_from([2, 12]))
        text += f"bundle: {{max: {most}}}\n"
        case = replace(case, search=most)
    if case.is_assigned and draw(st.sampled_from([False, False, True])):
        text += "differ: status\n"
        case = replace(case, differ=("status",))
    preferred = draw(st.sampled_from([(), (), ("status",), ("status", "at"), ("day", "amount"), ("at", "status")]))
    preferred = tuple(name for name in preferred if case.is_assigned and not _is_decided(case, name))
    if preferred:
        text += f"prefer: [{', '.join(preferred)}]\n"
        case = replace(case, prefer=preferred)
    if draw(st.booleans()):
        text += "compare: status\n"
        case = replace(case, compare=("status",))
    if draw(st.booleans()):
        condition = "status is null or status = 'ok' or amount > 0"
        text += f"where: {{left: {condition}, right: {condition}}}\n"
        case = replace(case, where=_passes)
    if draw(st.booleans()):
        text += "grace: {left: {at: 2d}, right: {at: 12h}}\n"
        case = replace(case, grace={"left": dt.timedelta(days=2), "right": dt.timedelta(hours=12)})
    money = draw(st.booleans())
    zones = draw(st.sampled_from([("UTC", "UTC"), ("Europe/Berlin", "America/New_York")]))
    case = replace(case, money=money, zones=zones, slot=SLOT)
    if money and case.many != (False, False) and not case.amounts:
        case = replace(case, amounts=True)
    return text, replace(case, others=tuple(replace(case, key=key, parts=parts) for key, parts in keys[1:]))


def _is_decided(case: Case, column: str) -> bool:
    return column in case.parts or column in case.differ


def _passes(row: Row) -> bool | None:
    """Three-valued: `status is null or status = 'ok' or amount > 0`."""
    if row["status"] is None or row["status"] == "ok":
        return True
    return None if row["amount"] is None else row["amount"] > 0


def found(detection: Detection) -> Answer:
    given = Answer(matched=detection.matched or 0, waiting=detection.not_yet_due)
    for group in detection.groups:
        assert isinstance(group, Discrepancy)
        ids = [tuple(sorted(int(str(m.id[0])) for m in members)) for members in (group.left, group.right)]
        given.findings.append((group.form, ids[0], ids[1], group.reason))
    given.findings.sort(key=repr)
    return given


@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(rules(), seeds)
def test_the_answer_is_that_of_the_oracle_in_any_order(rule: tuple[str, Case], seed: int) -> None:
    text, case = rule
    left, right = datasets(seed)
    shuffled = random.Random(seed)
    compared = Compared(
        shuffled.sample(left, len(left)),
        shuffled.sample(right, len(right)),
        money=MONEY if case.money else None,
        timezones=case.zones,
    )

    detection = compared.detect(text)

    assert found(detection) == answer(case, left, right)
    totals = balance(left, case.where), balance(right, case.where)
    assert len(detection.balance) == (len({*totals[0], *totals[1]}) if case.money else 0)
    for line in detection.balance:
        assert (line.left, line.right) == tuple(total[line.currency] for total in totals)
        assert line.left - line.right == line.matched + line.explained + line.not_yet_due
        assert line.explained == sum(line.by_form.values())


@settings(max_examples=examples(16), deadline=None, suppress_health_check=list(HealthCheck))
@given(seeds, st.sampled_from([None, "0.01", "5"]), st.booleans(), st.booleans())
def test_totals_are_those_of_the_oracle(seed: int, by: str | None, money: bool, by_currency: bool) -> None:
    left, right = datasets(seed)
    names = "[{ref: [trim, lower]}, currency]" if by_currency else "[{ref: [trim, lower]}]"
    text = f"totals: {{by: {names}, sum: {{left: amount, right: amount}}}}\n"
    text += f"tolerance: {{amount: {{by: {by}}}}}\n" if by else ""
    case = Case(_partial_key if by_currency else _partial_ref, totals=True, by=_decimal(by), money=money)

    detection = Compared(left, right, money=MONEY if money else None).detect(text)

    assert found(detection).findings == answer(case, left, right).findings


def _partial_ref(row: Row) -> Any:
    return (None if row["ref"] is None else row["ref"].strip().lower(),)


def _partial_key(row: Row) -> Any:
    return None if row["ref"] is None else row["ref"].strip().lower(), row["currency"]


@pytest.fixture
def in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "RECORDS_OF_A_PART", 3)
    monkeypatch.setattr(assigning, "AT_ONCE", 2)


@pytest.mark.usefixtures("in_small_parts")
@settings(max_examples=examples(16), deadline=None, suppress_health_check=list(HealthCheck))
@given(rules(), seeds)
def test_it_does_not_depend_on_the_parts_in_which_keys_are_matched(
    tmp_path_factory: pytest.TempPathFactory, rule: tuple[str, Case], seed: int
) -> None:
    text, case = rule
    left, right = datasets(seed)
    folder: Path = tmp_path_factory.mktemp("rows")

    compared = Compared(left, right, money=MONEY if case.money else None, timezones=case.zones)

    assert found(compared.detect(text, folder=folder)) == answer(case, left, right)


@pytest.mark.server
@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
@settings(max_examples=examples(14), deadline=None, suppress_health_check=list(HealthCheck))
@given(rules(["one_to_one"]), seeds, st.sampled_from([KEY, "key: [ref]\n", "key: [{ref: [trim]}, amount]\n"]))
def test_a_database_that_settles_keys_gives_the_same_answer(
    databases: dict[str, sa.Engine], database: str, rule: tuple[str, Case], seed: int, key_setting: str
) -> None:
    text, case = rule
    left, right = datasets(seed)
    compared = Compared(left, right, money=MONEY if case.money else None, timezones=case.zones)

    own = text.partition("\n")[0] + "\n"
    settled = (
        text.replace(own, key_setting)
        .replace(NULLS, "")
        .replace("differ: status\n", "")
        .replace("[day, amount]", "[day]")
        .replace("prefer: [amount]\n", "")
    )
    assert_agrees_inside(compared, databases[database], settled)


CLOSE = "tolerance: {amount: {left: amount, right: amount, by: 1.5}}\n"


@pytest.mark.parametrize("tolerance", ["", CLOSE, f"{CLOSE}prefer: [status]\n"])
@settings(max_examples=examples(14), deadline=None, suppress_health_check=list(HealthCheck))
@given(seeds, st.sampled_from(["key: [ref]\n", KEY]), st.booleans())
def test_sqlite_settles_keys_of_texts_and_integers(
    databases: dict[str, sa.Engine], tolerance: str, seed: int, key_setting: str, money: bool
) -> None:
    names = ("id", "ref", "amount", "currency", "status")
    sides = [[{name: row[name] for name in names} for row in rows] for rows in datasets(seed)]
    for row in (*sides[0], *sides[1]):
        row["amount"] = None if row["amount"] is None else int(row["amount"] * 100) * 10**14
    types = {name: Type.INTEGER if name == "amount" else TYPES[name] for name in names}
    compared = Compared(*sides, types=types, money=MONEY if money else None)

    assert_agrees_inside(compared, databases["sqlite"], f"{key_setting}{tolerance}compare: [status]\n")


def assert_agrees_inside(compared: Compared, engine: sa.Engine, text: str) -> None:
    """Assert that the database and DuckDB answer alike."""
    with pushed_together(engine, compared.rows) as [bank, ledger]:
        inside = compared.fitted(text).detect({"bank": bank, "ledger": ledger}, SLOT)

    embedded = compared.detect(text)

    assert inside.engine == "pushdown"
    assert list(inside.groups) == list(embedded.groups)
    assert replace(inside, **UNCOMPARED) == replace(embedded, **UNCOMPARED)


UNCOMPARED: dict[str, Any] = {"groups": (), "statements": (), "engine": ""}
