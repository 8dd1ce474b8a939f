"""One project over four systems: a ledger, an order table, a bank export and a CRM; one run tells what disagrees."""

from pathlib import Path

import pytest
import sqlalchemy as sa
import xlsxwriter

from tests.support.cli import Project

pytestmark = [pytest.mark.server, pytest.mark.slow]

CONFIGURATION = """\
version: 1
sources:
  books: {type: sql, url: "%(ledger)s"}
  shop: {type: sql, url: "%(shop)s"}
  bank: {type: files, root: .}
  crm: {type: workbook, path: contacts.xlsx}
datasets:
  ledger: {source: books, table: ledger, id: id, money: {amount: amount, currency: currency}}
  orders: {source: shop, table: orders, id: id, pii: [email], money: {amount: total, currency: currency}}
  bookings:
    source: bank
    path: bank.csv
    id: line
    skip: {to: line}
    decimal: ","
    columns:
      booked: date %%d.%%m.%%Y
      debit: decimal
      credit: decimal
      amount: {is: "coalesce(credit, 0) - coalesce(debit, 0)"}
    money: {amount: amount, currency: currency}
  contacts: {source: crm, sheet: Contacts, id: contact, pii: [email]}
rules:
  bank-vs-ledger:
    kind: reconciliation
    left: bookings
    right: ledger
    key: [currency, {left: [reference, docno], right: [doc_no, docno]}]
    tolerance: {date: {left: booked, right: posted, days: 3}, amount: {left: amount, right: amount, by: 0.01}}
  orders-vs-ledger:
    kind: reconciliation
    left: orders
    right: ledger
    where: {right: amount > 0}
    key: [{left: [invoice, docno], right: [doc_no, docno]}]
    report: [left_only]
  known-in-both:
    kind: duplicates
    datasets: [contacts, orders]
    key: [{email: [mailbox]}]
    distinct: dataset
    keep: [{prefer: {dataset: [contacts, orders]}}]
channels: {team: {type: file, path: messages.txt}}
jobs: {nightly: {rules: all, notify: [team], existing: report}}
"""
BANK = """\
Account;DE89370400440532013000
line;booked;reference;debit;credit;currency
1;02.03.2026;INV-0042;;1.190,00;EUR
2;02.03.2026;INV-0043;;75,00;EUR
3;03.03.2026;RENT;500,00;;EUR
"""


def ledger(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as tx:
        tx.exec_driver_sql(
            "create table ledger (id int primary key, doc_no text, posted date, amount numeric(12, 2), currency text)"
        )
        tx.exec_driver_sql(
            "insert into ledger values (1, 'inv 42', '2026-02-27', 1190.00, 'EUR'), "
            "(2, 'INV 44', '2026-03-01', 80.00, 'EUR'), (3, 'rent', '2026-03-03', -500.00, 'EUR')"
        )
    engine.dispose()


def orders(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as tx:
        tx.exec_driver_sql(
            "create table orders (id varchar(9) primary key, invoice varchar(20), email varchar(50), "
            "total decimal(12, 2), currency varchar(3))"
        )
        tx.exec_driver_sql(
            "insert into orders values ('A-1', 'INV-0042', 'ada@example.com', 1190.00, 'EUR'), "
            "('A-2', 'INV-0099', 'grace@example.com', 60.00, 'EUR')"
        )
    engine.dispose()


def contacts(path: Path) -> None:
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Contacts")
    for number, row in enumerate([("contact", "email"), ("C-1", "Ada+news@example.com"), ("C-2", "cyd@example.com")]):
        sheet.write_row(number, 0, row)
    book.close()


@pytest.fixture
def project(tmp_path: Path, postgres_url: str, mariadb_url: str) -> Project:
    ledger(postgres_url)
    orders(mariadb_url)
    (tmp_path / "bank.csv").write_text(BANK)
    contacts(tmp_path / "contacts.xlsx")
    return Project(tmp_path).write(CONFIGURATION % {"ledger": postgres_url, "shop": mariadb_url})


def test_four_systems_are_compared_in_one_run_and_told_in_one_message(project: Project, tmp_path: Path) -> None:
    answer = project("run", "nightly", "--json")

    assert answer.code == 0, answer.said
    findings = answer.json["findings"]
    told = {(finding["rule"], finding.get("form", "duplicate")) for finding in findings}
    assert told == {
        ("bank-vs-ledger", "left_only"),
        ("bank-vs-ledger", "right_only"),
        ("orders-vs-ledger", "left_only"),
        ("known-in-both", "duplicate"),
    }
    balances = {rule["rule"]: rule.get("balance") for rule in answer.json["rules"]}
    assert balances["bank-vs-ledger"][0]["currency"] == "EUR"
    messages = (tmp_path / "messages.txt").read_text()
    assert messages.count("nightly") >= 1
    assert "ada" not in messages.lower()


def test_the_next_run_tells_nothing_until_the_partner_arrives(
    project: Project, tmp_path: Path, postgres_url: str
) -> None:
    project("run", "nightly")
    before = (tmp_path / "messages.txt").read_text()

    again = project("run", "nightly", "--json")

    assert all(rule["findings"]["new"] == 0 for rule in again.json["rules"])
    assert (tmp_path / "messages.txt").read_text() == before

    engine = sa.create_engine(postgres_url)
    with engine.begin() as tx:
        tx.exec_driver_sql("insert into ledger values (4, 'INV-43', '2026-03-02', 75.00, 'EUR')")
    engine.dispose()
    late = project("run", "nightly", "--json")

    [bank] = [rule for rule in late.json["rules"] if rule["rule"] == "bank-vs-ledger"]
    assert bank["findings"]["resolved"] == 1
