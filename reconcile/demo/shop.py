"""The demo's shop: a database with double charges, a contacts workbook with duplicates, a bank's CSV files.

Everything is generated from a seed and an instant, so two demos of the same moment are equal.
"""

from __future__ import annotations

import datetime as dt
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

FIRST = tuple(
    "Anna Ben Chloé Dmitri Elif Finn Greta Hugo Inés Jonas Kira Léo Mia Noah Olga Paul Rosa Sören Tara Uwe".split()  # noqa: SIM905 - names read better so
)
LAST = tuple(
    "Adler Becker Çelik Díaz Engel Fischer García Huber Ivanov Jansen Koch López Müller Nowak Öztürk Petit".split()  # noqa: SIM905
)
HOSTS = ("gmail.com", "example.com", "example.org", "mail.example", "post.example")
SUPPLIERS = ("Nordlicht Paper", "Hansa Logistics", "Blue Door Cleaning", "Alpine Coffee", "Kontor IT", "Green Grid")

CONFIGURATION = """\
# One night's job of a small shop. `reconcile run nightly` runs it, `reconcile explain double-charge` explains a rule.
version: 1
timezone: Europe/Berlin

sources:
  shop: {type: sql, url: "sqlite:///shop.sqlite"}
  crm:  {type: workbook, path: contacts.xlsx}
  bank: {type: files, root: bank}

datasets:
  charges:  {source: shop, table: charges, id: id, money: {amount: amount, currency: currency}}
  contacts: {source: crm, sheet: Contacts, id: contact_id, pii: [email, phone]}
  payments: {source: bank, path: "payments-*.csv", id: entry, decimal: ",",
             columns: {amount: decimal, booked: "date %d.%m.%Y"}, money: {amount: amount, currency: EUR}}
  customers: {source: shop, table: customers, id: id, where: merged_into is null, display: [name, email]}

rules:
  double-charge:                      # a client that timed out and tried again
    kind: duplicates
    dataset: charges
    where: status = 'succeeded'
    key: [order_id, amount, currency]
    window: {charged_at: 15m}
    keep: [{first: charged_at}]
    severity: critical
    owner: "@finance"
  paid-twice:                         # one invoice, typed in by two people
    kind: duplicates
    dataset: payments
    key: [iban, {reference: [docno]}, amount]
    keep: [{first: booked}]
    severity: high
    owner: "@finance"
  twin-contact:                       # families share an e-mail; the surname tells them apart
    kind: duplicates
    dataset: contacts
    key: [{email: [mailbox]}, {surname: [trim, casefold, unaccent]}]
    keep: [most_complete, {first: created}]
  twin-customer:                      # two people entered the same customer
    kind: duplicates
    dataset: customers
    key: [{email: [mailbox]}]
    keep: [{first: id}]
    clean:
      action: merge
      references: repoint             # orders of the twin become orders of the customer who stays
      fields: {name: longest, phone: {last: id}}
      surplus: {set: {merged_into: "{{ keeper.id }}"}}
    approval: required                # nothing is changed before a person approved exactly that plan

jobs:
  nightly:
    rules: [double-charge, paid-twice, twin-contact]
    notify: [team]
  customers:
    rules: [twin-customer]
    notify: [team]

channels:
  team: {type: file, path: messages.txt}
"""


TWINS = (
    (401, "M. Berg", "maria.berg@example.com"),
    (402, "Maria Berg", "Maria.Berg+shop@example.com"),
    (403, "Noah Lindt", "noah.lindt@example.org"),
    (404, "Noah Lindt-Weber", " noah.lindt@EXAMPLE.org"),
)
ORDERS_OF_TWINS = (("B-1", 401, 39.0, "EUR"), ("B-2", 402, 24.5, "EUR"), ("B-3", 404, 64.9, "EUR"))


def build(folder: Path, now: dt.datetime, seed: int = 7) -> None:
    """Write shop.sqlite, contacts.xlsx, bank/*.csv and reconcile.yaml into `folder`; `now` is aware."""
    chance = random.Random(seed)  # noqa: S311 - a story, not a secret
    _write_database(folder / "shop.sqlite", now, chance)
    _write_workbook(folder / "contacts.xlsx", now, chance)
    (folder / "bank").mkdir()
    _write_bank(folder / "bank", now, chance)
    (folder / "reconcile.yaml").write_text(CONFIGURATION, encoding="utf-8")


def charge_again(folder: Path, now: dt.datetime) -> str:
    """Charge one more order twice, 30 s apart, and return the order."""
    order = "A-2000"
    with sqlite3.connect(folder / "shop.sqlite") as shop:
        for number, at in ((9001, now - dt.timedelta(seconds=95)), (9002, now - dt.timedelta(seconds=65))):
            shop.execute(
                "insert into charges values (?, ?, ?, ?, ?, ?)",
                (f"ch_{number}", order, 64.90, "EUR", "succeeded", _stamp(at)),
            )
    return order


def _write_database(path: Path, now: dt.datetime, chance: random.Random) -> None:
    with sqlite3.connect(path) as shop:
        shop.executescript(
            """
            create table customers (id integer primary key, name text not null, email text, phone text,
                                    merged_into integer);
            create table orders (id text primary key, customer_id integer not null references customers (id),
                                 total decimal(12, 2) not null, currency text not null);
            create table charges (id text primary key, order_id text not null, amount decimal(12, 2) not null,
                                  currency text not null, status text not null, charged_at timestamp not null);
            create index charges_order on charges (order_id);
            """
        )
        people = [(n, *_person(chance)) for n in range(1, 401)]
        customers = [(n, f"{f} {s}", e.replace("@", f".{n}@")) for n, f, s, e in people]
        shop.executemany("insert into customers (id, name, email) values (?, ?, ?)", [*customers, *TWINS])
        orders = list(_orders(chance))
        shop.executemany("insert into orders values (?, ?, ?, ?)", [*orders, *ORDERS_OF_TWINS])
        shop.executemany("insert into charges values (?, ?, ?, ?, ?, ?)", list(_charges(orders, now, chance)))


def _orders(chance: random.Random) -> Iterator[tuple[str, int, float, str]]:
    for number in range(1000, 2000):
        total = round(chance.choice((9.9, 14.9, 19.9, 24.5, 39.0, 64.9, 120.0)) * chance.randint(1, 3), 2)
        yield f"A-{number}", chance.randint(1, 400), total, chance.choice(("EUR", "EUR", "EUR", "GBP"))


def _charges(
    orders: list[tuple[str, int, float, str]], now: dt.datetime, chance: random.Random
) -> Iterator[tuple[str, str, float, str, str, str]]:
    """Charge every order once; 41 again after a client's time-out, 3 again after an impatient second click."""
    again = chance.sample(range(len(orders)), 44)
    delays = {n: chance.uniform(29.2, 30.9) for n in again[:41]} | {n: chance.uniform(1.5, 4) for n in again[41:]}
    number = 5000
    for position, (order, _, total, currency) in enumerate(orders):
        at = (
            now
            - dt.timedelta(days=30)
            + position * dt.timedelta(minutes=43)
            + chance.random() * dt.timedelta(minutes=9)
        )
        for status, delay in _attempts(delays.get(position), chance):
            number += 1
            yield f"ch_{number}", order, total, currency, status, _stamp(at + dt.timedelta(seconds=delay))


def _attempts(repeated_after: float | None, chance: random.Random) -> list[tuple[str, float]]:
    if repeated_after is not None:
        return [("succeeded", 0.0), ("succeeded", repeated_after)]
    declined_first = chance.random() < 0.03  # a declined card that then works is no duplicate
    return [("failed", 0.0), ("succeeded", 48.0)] if declined_first else [("succeeded", 0.0)]


def _write_workbook(path: Path, now: dt.datetime, chance: random.Random) -> None:
    import xlsxwriter  # noqa: PLC0415 - part of the extra `workbook`, needed by the demo alone

    book = xlsxwriter.Workbook(str(path), {"remove_timezone": True})
    sheet, day = book.add_worksheet("Contacts"), book.add_format({"num_format": "yyyy-mm-dd"})
    sheet.write_row(0, 0, ("contact_id", "first_name", "surname", "email", "phone", "city", "created"))
    for row, (name, surname, email, phone, city, age) in enumerate(_contacts(chance), 1):
        sheet.write_row(row, 0, (f"C{row:04d}", name, surname, email, phone, city))
        sheet.write_datetime(
            row, 6, (now - dt.timedelta(days=age)).replace(tzinfo=None, hour=0, minute=0, second=0), day
        )
    book.close()


def _contacts(chance: random.Random) -> list[tuple[str, str, str, str, str, int]]:
    rows = []
    for number in range(240):
        name, surname, email = _person(chance)
        mailbox, host = email.split("@")
        email = f"{mailbox}.{number}@{host}"
        phone = f"0{chance.randint(151, 179)}{chance.randint(1000000, 9999999)}"
        city = chance.choice(("Berlin", "Hamburg", "Köln", "Wien", "Zürich"))
        rows.append((name, surname, email, phone, city, chance.randint(40, 900)))
    for name, surname, email, _, city, age in chance.sample(rows, 11):
        mailbox, host = email.split("@")
        written = chance.choice(
            (f"{mailbox.upper()}@{host} ", f"{mailbox}+news@{host}", f"{mailbox.title()}@{host.upper()}")
        )
        rows.append((name, f" {surname.upper()}", written, "", city, age - chance.randint(1, 39)))
    for name, surname, email, phone, city, age in chance.sample(rows[:240], 6):
        rows.append((chance.choice(FIRST), f"{surname}-{name}", email, phone, city, age))  # family, not a twin
    chance.shuffle(rows)
    return rows


def _write_bank(folder: Path, now: dt.datetime, chance: random.Random) -> None:
    lines = []
    for number in range(160):
        supplier = chance.randrange(len(SUPPLIERS))
        amount = chance.randint(4_000, 240_000)
        day = now - dt.timedelta(days=chance.randint(1, 58))
        lines.append((day, supplier, f"INV-{number:05d}", amount))
    for day, supplier, reference, amount in chance.sample(lines, 7):
        typed = chance.choice((reference.lower(), f"Inv {int(reference[4:])}", reference.replace("-", "/")))
        lines.append((day + dt.timedelta(days=chance.randint(0, 1)), supplier, typed, amount))
    lines.sort(key=lambda line: line[0])
    half = len(lines) // 2
    for name, part, start in (("payments-1.csv", lines[:half], 0), ("payments-2.csv", lines[half:], half)):
        rows = [
            f'{start + n + 1:04d};{day:%d.%m.%Y};"{SUPPLIERS[supplier]}";DE{70 + supplier}500105175407324{supplier}31;'
            f"{reference};{amount // 100},{amount % 100:02d}"
            for n, (day, supplier, reference, amount) in enumerate(part)
        ]
        text = "\r\n".join(["entry;booked;supplier;iban;reference;amount", *rows, ""])
        (folder / name).write_bytes(text.encode("utf-8-sig"))


def _person(chance: random.Random) -> tuple[str, str, str]:
    name, surname = chance.choice(FIRST), chance.choice(LAST)
    plain = "".join(c for c in f"{name}.{surname}".lower() if c.isascii())
    return name, surname, f"{plain}@{chance.choice(HOSTS)}"


def _stamp(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
