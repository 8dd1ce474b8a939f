"""Rules of kind `check` through the program: findings of files and databases, decisions, messages and mistakes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.cli import Project
from tests.support.servers import MARIADB, POSTGRES, scratch_database
from tests.support.web import cheap_hashes, site_of
from tests.support.world import World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]  # a fixture

RULES = """\
rules:
  refund-above-charge: {kind: check, dataset: payments, where: amount <= 0 or amount > charge, severity: high}
  balance-carried:
    {kind: check, dataset: payments, where: charge <> previous(charge), order: [booked], by: [account]}
  missing-payments: {kind: check, dataset: payments, gaps: number}
channels: {team: {type: file, path: told.txt}}
jobs: {nightly: {rules: all, notify: [team], existing: report}}
"""
HEAD = """\
version: 1
state: sqlite:///state.db
sources: {shop: {type: files, root: .}}
datasets:
  payments:
    source: shop
    path: payments.csv
    id: id
    columns: {amount: decimal, charge: decimal, booked: date}
    money: {amount: amount, currency: EUR}
"""
PAYMENTS = [
    ("p1", "A", "10.00", "10.00", "2026-01-01", "INV-0001"),
    ("p2", "A", "-5.00", "10.00", "2026-01-02", "INV-0002"),
    ("p3", "B", "20.00", "15.00", "2026-01-02", "INV-0006"),
    ("p4", "A", None, "12.00", "2026-01-03", "INV-0007"),
]
NAMES = ("id", "account", "amount", "charge", "booked", "number")
EXPECTED = {
    ("refund-above-charge", "p2", "-5.00"),
    ("refund-above-charge", "p3", "20.00"),
    ("balance-carried", "p4", "12.00"),
    ("missing-payments", "INV-0003 to INV-0005 are missing between INV-0002 and INV-0006"),
}
OTHER_KINDS = re.compile(r"keep|surplus|duplicate|group|missing in|partner|left|right", re.IGNORECASE)


class Shop(Project):
    """Payments in a file."""

    def pay(self, *payments: tuple[str | None, ...]) -> None:
        lines = [",".join(value or "" for value in payment) for payment in (NAMES, *payments)]
        (self.folder / "payments.csv").write_text("\n".join(lines) + "\n")

    def run(self, day: int = 21) -> str:
        answer = self("run", "--slot", f"2026-11-{day}T05:00:00Z")
        assert answer.code == 0, answer.said
        return answer.out

    def findings(self, rule: str, *options: str) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = self("findings", "--rule", rule, "--json", *options).json
        return shown

    @property
    def told(self) -> str:
        path = self.folder / "told.txt"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.write(HEAD + RULES)
    shop.pay(*PAYMENTS)
    return shop


def summary(shop: Shop) -> set[tuple[str, ...]]:
    keys = [(finding["rule"], finding["key"]) for finding in shop("findings", "--json").json]
    return {
        (rule, *(str(key[name]) for name in ("id", "amount") if name in key and rule == "refund-above-charge"))
        if rule == "refund-above-charge"
        else (rule, key["id"], key["charge"])
        if rule == "balance-carried"
        else (rule, key["gap in number"])
        for rule, key in keys
    }


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'shop.sqlite'}"
        return
    yield from scratch_database({"postgresql": POSTGRES, "mariadb": MARIADB}[request.param])


def test_a_database_has_the_findings_of_a_file(shop: Shop, database: str) -> None:
    amounts = sa.Numeric(12, 2)
    kinds: tuple[Any, ...] = (sa.String(20), sa.String(20), amounts, amounts, sa.Date(), sa.String(20))
    columns: list[sa.Column[Any]] = [
        sa.Column(name, kind, primary_key=name == "id") for name, kind in zip(NAMES, kinds, strict=True)
    ]
    table, engine = sa.Table("payments", sa.MetaData(), *columns), sa.create_engine(database)
    with engine.begin() as connection:
        table.create(connection)
        connection.exec_driver_sql(
            "insert into payments values "
            + ", ".join("(" + ", ".join("null" if v is None else f"'{v}'" for v in row) + ")" for row in PAYMENTS)
        )
    engine.dispose()
    shop.run()
    of_file = summary(shop)
    place = "    path: payments.csv\n    id: id\n    columns: {amount: decimal, charge: decimal, booked: date}\n"
    head = HEAD.replace("{type: files, root: .}", f'{{type: sql, url: "{database}"}}').replace("state.db", "other.db")
    shop.write(head.replace(place, "    table: payments\n    id: id\n") + RULES)

    out = shop.run()

    assert summary(shop) == of_file == EXPECTED
    inside = "embedded" if not database.startswith("postgresql") else "pushdown"
    assert re.search(rf"refund-above-charge .* {inside}\b", out)
    assert re.search(r"missing-payments .* embedded\b", out)


def test_messages_speak_of_records_and_name_what_fails(shop: Shop) -> None:
    out = shop.run()

    told = shop.told
    assert "2 new failing records in payments, 25.00 EUR at risk" in told
    assert "amount is at most 0 or amount is more than charge · p2 · 5.00 EUR" in told
    assert "charge 12.00 · previous(charge) 10.00 · previous(id) p2" in told
    assert "1 new gap in payments" in told
    assert "gap in number INV-0003 to INV-0005 are missing between INV-0002 and INV-0006" in told
    assert "1 record skipped: the condition is unknown: a value in it is null" in told
    assert not OTHER_KINDS.search(told)
    assert "refund-above-charge: 2 failing records" in out
    assert "missing-payments: 1 gap" in out


def test_a_finding_says_why_and_shows_its_record(shop: Shop) -> None:
    shop.run()
    [finding] = shop.findings("balance-carried")

    shown = shop("show", finding["id"]).out

    assert "payments must have no record where charge is not previous(charge)." in " ".join(shown.split())
    assert "previous(charge) = 10.00" in " ".join(shown.split())
    assert not OTHER_KINDS.search(shown)
    assert finding["form"] == "condition"
    assert finding["record"] == [{"dataset": "payments", "id": ["p4"]}]
    assert not finding.keys() & {"keeper", "surplus", "left", "right"}


def test_a_dry_run_and_explain_speak_of_records(shop: Shop) -> None:
    dry = shop("run", "--dry-run", "--json", "--slot", "2026-11-21T05:00:00Z").json
    explained = shop("explain", "missing-payments").out

    assert {finding["form"] for finding in dry["findings"]} == {"condition", "gap"}
    assert not any(finding.keys() & {"keeper", "surplus", "left", "right"} for finding in dry["findings"])
    assert "1 gap, of 4 read" in explained
    assert "numbers of number that are missing" in explained


def test_a_dismissed_record_stays_settled_until_a_value_that_fails_changes(shop: Shop) -> None:
    shop.run()
    [finding] = [each for each in shop.findings("refund-above-charge") if each["key"]["id"] == "p2"]
    assert shop("dismiss", finding["id"], "--note", "agreed").code == 0
    shop.pay(PAYMENTS[0], ("p2", "A", "-5.00", "10.00", "2026-02-09", "INV-0002"), *PAYMENTS[2:])
    shop.run(22)
    [settled] = shop.findings("refund-above-charge", "--state", "dismissed")

    shop.pay(PAYMENTS[0], ("p2", "A", "-7.00", "10.00", "2026-02-09", "INV-0002"), *PAYMENTS[2:])
    shop.run(23)

    [back] = [each for each in shop.findings("refund-above-charge") if each["id"] == finding["id"]]
    assert settled["id"] == finding["id"]
    assert (back["state"], back["last_change"]) == ("open", "reopened")


def test_a_gap_keeps_its_finding_and_is_told_again_only_when_more_numbers_are_missing(shop: Shop) -> None:
    payments = [(*row[:2], "1.00", *row[3:]) for row in PAYMENTS]
    shop.pay(*payments)
    shop.run()
    [finding] = shop.findings("missing-payments")
    shop.pay(*payments, ("p5", "A", "1.00", "10.00", "2026-01-01", "INV-0005"))
    shop.run(22)
    [smaller] = shop.findings("missing-payments")
    (shop.folder / "told.txt").unlink()

    shop.pay(*(payment for payment in payments if payment[0] != "p3"))
    shop.run(23)

    [larger] = shop.findings("missing-payments")
    assert smaller["id"] == larger["id"] == finding["id"]
    assert smaller["key"] == {"gap in number": "INV-0003 to INV-0004 are missing between INV-0002 and INV-0005"}
    assert smaller["last_change"] == "new"
    assert larger["last_change"] == "grown"
    assert "more numbers are missing than before" in shop.told


def test_a_corrected_record_resolves_its_finding(shop: Shop) -> None:
    shop.run()

    shop.pay(*(("p2", "A", "5.00", *row[3:]) if row[0] == "p2" else row for row in PAYMENTS))
    shop.run(22)

    assert [each["key"]["id"] for each in shop.findings("refund-above-charge")] == ["p3"]


def test_personal_data_is_masked_also_in_previous_values_and_gaps(shop: Shop) -> None:
    shop.write((HEAD + RULES).replace("    money:", "    pii: [number, charge, account]\n    money:"))

    out = shop.run()

    listed = shop("findings").out
    shown = "".join(shop("show", finding["id"]).said for finding in shop("findings", "--json").json)
    for text in (out, shop.told, listed, shown):
        assert "INV-" not in text
        assert "12.00" not in text


def test_examples_name_the_record(shop: Shop) -> None:
    examples = """\
    examples:
      - given:
          - {id: a, number: A-1}
          - {id: b, number: A-3}
        expect: [{record: a}]
      - given: [{id: a, number: A-1}, {id: b, number: A-2}]
        expect: [{record: b, form: gap}]
"""
    rules = RULES.replace(
        "missing-payments: {kind: check, dataset: payments, gaps: number}\n",
        f"missing-payments:\n    kind: check\n    dataset: payments\n    gaps: number\n{examples}",
    )
    shop.write(HEAD + rules)

    answer = shop("test")

    assert answer.code == 1
    assert "1 of 2" in answer.said or "1 passed" in answer.said or "1 failed" in answer.said


@pytest.mark.parametrize(
    ("written", "place", "sentence"),
    [
        ("gaps: number, clean: {action: delete}", "clean", "a rule of kind check only reports; remove it"),
        ("where: previous(previous(x)) > 1, order: id", "where", "`previous` cannot be inside `previous`"),
        ("where: amount < 0 and amount > 5", "where", "no record can meet this condition; correct it"),
        ("order: id", "missing-payments", "a check needs `where`, the condition that no record may meet, or `gaps`"),
        ("gaps: number, keep: {first: booked}", "keep", "is not known here"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(shop: Shop, written: str, place: str, sentence: str) -> None:
    shop.write(HEAD + RULES.replace("gaps: number", written))

    answer = shop("check")

    assert answer.code == 2
    assert re.search(r"reconcile\.yaml:\d+:\d+", answer.said)
    assert sentence in answer.said
    assert place in answer.said
    assert "Traceback" not in answer.said


def test_an_edit_shows_in_diff_which_records_fail_no_longer(shop: Shop) -> None:
    shop.write(HEAD + RULES.replace("amount <= 0 or amount > charge", "amount > charge"), "new.yaml")

    answer = shop("diff", "reconcile.yaml", "new.yaml")

    assert "refund-above-charge vanishes  p2 · -5.00 · 10.00: record p2, 5.00 EUR at risk" in answer.out
    assert not OTHER_KINDS.search(answer.out)


def test_an_unchanged_file_is_not_read_again(shop: Shop) -> None:
    shop.write((HEAD + RULES).replace("    money:", "    incremental: {by: content}\n    money:"))
    shop.run()

    out = shop.run(22)

    assert "unchanged" in out


def test_the_console_shows_the_record_and_why_it_fails(tmp_path: Path) -> None:
    rule = {"where": "name <> 'Anna' and id > previous(id)", "order": ["id"]}
    world = World(tmp_path / "w", {}, {"rules": {"not-anna": {"kind": "check", "dataset": "customers", **rule}}})
    world.folder.mkdir()
    world.shop.sql("CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
    world.add((1, "a@x", "Anna"), (2, "b@x", "Bob"))
    world.run()

    with site_of(world) as site:
        page = site.browser("rita").get("/review").text

    assert "customers must have no record where name is not 'Anna' and id is more than previous(id)." in page
    assert "Accept as it is" in page
    assert not re.search(r"keeper|surplus|missing in|partner", page.partition("not-anna")[2], re.IGNORECASE)


def test_an_erasure_reaches_the_findings_that_show_a_record_as_the_previous_or_following_one(shop: Shop) -> None:
    shop.write((HEAD + RULES).replace("    money:", "    pii: [number, charge]\n    money:"))
    shop.run()
    assert "INV-0002" in shop("findings", "--json", "--show").out

    assert shop("erase", "payments", "--id", "p2").code == 0

    [carried] = shop.findings("balance-carried", "--show")
    [gap] = shop.findings("missing-payments", "--show")
    assert (carried["key"], gap["key"]) == ({}, {})
    assert "INV-0002" not in shop("findings", "--json", "--show").out
