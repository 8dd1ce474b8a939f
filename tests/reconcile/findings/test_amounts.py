"""Amounts below zero, as every bank debit is: what a finding puts at risk is the size, shown and ranked."""

import base64
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa

from notifications.wording import words
from reconcile.app import load
from reconcile.decisions import decide
from reconcile.messages import previews
from reconcile.store import tables
from reconcile.store.findings import FindingFilter
from reconcile.views import queue
from tests.support.cli import Project

TEXT = """\
version: 1
sources: {bank: {type: files, root: .}}
datasets:
  entries:
    {source: bank, path: entries.csv, id: id, columns: {amount: decimal}, money: {amount: amount, currency: EUR}}
rules: {twice: {kind: duplicates, dataset: entries, key: [text], severity: high}}
jobs: {nightly: {rules: all, notify: [told, hook], existing: report}}
channels:
  told: {type: file, path: told.txt}
  hook: {type: file, path: told.jsonl, format: jsonl}
  team: {type: slack, token: xoxb-1, channel: "#team"}
"""
AMOUNTS = (-5, -900, 40, -70, -3, -10)


@pytest.fixture
def bank(tmp_path: Path) -> Project:
    """Six entries that appear twice, all but one of them debits."""
    rows = [f"{n}-{twin},T{n},{amount}.00" for n, amount in enumerate(AMOUNTS) for twin in "ab"]
    (tmp_path / "entries.csv").write_text("\n".join(["id,text,amount", *rows]) + "\n")
    return Project(tmp_path).write(TEXT)


def test_a_dry_run_shows_the_largest_amounts_without_their_sign(bank: Project) -> None:
    answer = bank("run", "--dry-run")

    told = [line.rsplit(", ", 1)[1] for line in answer.out.splitlines() if line.startswith("twice: new")]
    assert told == ["900.00 EUR at risk", "70.00 EUR at risk", "40.00 EUR at risk"]
    assert "1,028.00 EUR" in answer.out
    assert "-9" not in answer.out


@pytest.mark.slow
def test_a_run_sums_sizes_and_writes_no_sign(bank: Project) -> None:
    """A debit and a credit of two findings don't cancel each other."""
    answer = bank("run", "--json")

    assert answer.json["rules"][0]["money"] == {"EUR": "1028.00"}
    assert sorted(finding["money"]["EUR"] for finding in answer.json["findings"]) == sorted(
        f"{abs(amount)}.00" for amount in AMOUNTS
    )
    assert "1,028.00 EUR" in bank("run").out


def test_findings_list_the_largest_amount_first_without_its_sign(bank: Project) -> None:
    bank("run", "--quiet")

    amounts = [finding["money"]["EUR"] for finding in bank("findings", "--json").json]

    assert amounts == ["900.00", "70.00", "40.00", "10.00", "5.00", "3.00"]
    assert "-" not in "".join(line.split()[-3] for line in bank("findings").out.splitlines()[1:])


@pytest.mark.slow
def test_pages_of_findings_have_the_order_of_the_list_and_their_addresses_hold_no_amount(
    url: str, bank: Project
) -> None:
    """An older finding does not come before a larger one; a decision about a finding moves no other."""
    bank.write(TEXT.replace("version: 1", f"version: 1\nstate: {url}"))
    bank("run", "--quiet")
    with (bank.folder / "entries.csv").open("a") as entries:
        entries.write("x-1,X,-50.00\nx-2,X,-50.00\n")
    bank("run", "--quiet")
    listed = bank("findings", "--json").json
    amounts, cursors, cursor = [], [], None

    with load(bank.folder / "reconcile.yaml") as application:
        for _ in listed:
            page = queue.listed(application, FindingFilter(), limit=1, cursor=cursor)
            [finding] = page.findings
            amounts.append(finding.money["EUR"])
            decide.dismiss(application.store, finding.id, actor="ada", note=None, seen=None)
            cursor = page.cursor
            cursors += [cursor] if cursor else []
        with pytest.raises(queue.CursorRefused):
            queue.listed(application, FindingFilter(), limit=1, cursor=cursors[0][:-9] + "AAAAAAAA=")

    assert [Decimal(finding["money"]["EUR"]) for finding in listed] == amounts == [900, 70, 50, 40, 10, 5, 3]
    assert (len(cursors), cursor) == (6, None)
    assert not any(base64.urlsafe_b64decode(text.rsplit(".", 1)[1]).count(b"900") for text in cursors)


@pytest.mark.slow
@pytest.mark.parametrize("channel", ["told", "team"])
def test_a_message_ranks_the_largest_amounts_first_and_sums_their_sizes(bank: Project, channel: str) -> None:
    bank("run", "--quiet")

    shown = bank("notify", "preview", channel).out

    assert "1,028.00 EUR at risk" in shown.splitlines()[0]
    assert shown.index("900.00 EUR") < shown.index("70.00 EUR") < shown.index("40.00 EUR")
    assert "-900" not in shown


@pytest.mark.slow
def test_a_webhook_gets_sizes_the_largest_first(bank: Project) -> None:
    bank("run", "--quiet")

    with load(bank.folder / "reconcile.yaml") as application:
        job = application.job("nightly")
        with application.store.read() as tx:
            message = previews.next_message(tx, application.project, job, "hook")

    assert message is not None
    notice, _ = message
    assert notice.rules[0].money == {"EUR": Decimal("1028.00")}
    assert [group.money["EUR"] for group in notice.rules[0].largest][:3] == [900, 70, 40]


def test_a_finding_of_an_earlier_version_is_shown_by_its_size(bank: Project) -> None:
    bank("run", "--quiet")
    with load(bank.folder / "reconcile.yaml") as application, application.store.begin() as tx:
        tx.connection.execute(sa.update(tables.findings).values(money={"EUR": "-900.00"}))

    assert {finding["money"]["EUR"] for finding in bank("findings", "--json").json} == {"900.00"}


def test_a_charge_and_its_refund_in_one_finding_come_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "entries.csv").write_text("id,text,amount\n1,T,50.00\n2,T,-50.00\n3,T,50.00\n")
    bank = Project(tmp_path).write(TEXT)

    assert bank("run", "--json").json["findings"][0]["money"] == {"EUR": "0.00"}


def test_an_amount_is_written_with_its_sign_where_it_is_a_record_of_the_data(bank: Project) -> None:
    """What is at risk has no sign; a record's own value keeps it."""
    bank("run", "--quiet")
    largest = bank("findings", "--json").json[0]["id"]

    shown = bank("show", largest).out

    assert "900.00 EUR at risk" in shown
    assert "-900.00" in shown
    assert words.money({"EUR": Decimal(-1)}) == "-1.00 EUR"
