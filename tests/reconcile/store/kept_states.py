"""States that this program wrote, kept in the tree by schema, so that every later version can be tried on them.

`python -m tests.reconcile.store.kept_states` adds the state of the present schema. Do it once, when a migration makes
that schema; a state that is kept is never written again.
"""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from reconcile.guard import Claim, Guard
from reconcile.store import tables
from tests.support.cli import Answer, Project

STATES = Path(__file__).with_name("states")
CONFIGURATION = """\
version: 1
state: sqlite:///state.db
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets:
  customers: {source: shop, table: customers, id: id}
  orders: {source: shop, table: orders, id: id, money: {amount: total, currency: EUR}}
  charges: {source: shop, table: charges, id: id, money: {amount: amount, currency: EUR}}
rules:
  twins:
    kind: duplicates
    dataset: customers
    key: [{email: [trim, lower]}]
    where: status <> 'duplicate'
    keep: [{first: id}]
    clean: {action: set, values: {status: duplicate, merged_into: "{{ keeper.id }}"}}
    limits: {records: 100, share: 100%}
  persons: {kind: duplicates, dataset: customers, key: {any: [[phone], [name]]}, max_share: 100%}
  paid:
    kind: reconciliation
    left: orders
    right: charges
    key: [{left: id, right: order_id}]
    compare: [{left: total, right: amount}]
  negative: {kind: check, dataset: charges, where: amount < 0}
channels: {team: {type: file, path: messages.jsonl}}
jobs: {nightly: {rules: all, notify: [team]}}
guard: {welcome: {}}
"""
TABLES = """\
create table customers (id integer primary key, name text, email text, phone text, status text, merged_into integer);
insert into customers values (1, 'Ada Byron', 'ada@example.com', '+49 1', 'new', null);
insert into customers values (2, 'A. Byron', ' Ada@example.com', '+49 1', 'new', null);
insert into customers values (3, 'Bob Roe', 'bob@example.com', '+49 3', 'new', null);
insert into customers values (4, 'Bob Roe', 'BOB@example.com', '+49 4', 'new', null);
insert into customers values (5, 'Cy Doe', 'cy@example.com', '+49 5', 'new', null);
insert into customers values (6, 'Cy Doe', 'cy@example.com', '+49 5', 'new', null);
insert into customers values (7, 'Di Poe', 'di@example.com', '+49 7', 'new', null);
insert into customers values (8, 'Di Poe', 'di@example.com', '+49 8', 'new', null);
create table orders (id text primary key, total decimal(9,2));
insert into orders values ('A', 10), ('B', 20), ('C', 30);
create table charges (id text primary key, order_id text, amount decimal(9,2));
insert into charges values ('c1', 'A', 10), ('c2', 'B', 21.50), ('c3', 'D', 7), ('c4', 'E', -3);
"""


def open_state(schema: str, folder: Path) -> Project:
    """Put the kept state of that schema into the folder, with its configuration and its database."""
    kept = STATES / schema
    for name in ("state", "shop"):
        with closing(sqlite3.connect(folder / f"{name}.db")) as database:
            database.executescript((kept / f"{name}.sql").read_text(encoding="utf-8"))
    key = folder / "state.db.key"
    key.write_text((kept / "state.key").read_text(encoding="ascii"), encoding="ascii")
    key.chmod(0o600)
    return Project(folder).write((kept / "reconcile.yaml").read_text(encoding="utf-8"))


def live(folder: Path) -> Project:
    """Run the rules, decide about their findings in every way, clean and undo."""
    with closing(sqlite3.connect(folder / "shop.db")) as database:
        database.executescript(TABLES)
    shop = Project(folder, typed="correct horse battery\n").write(CONFIGURATION)
    _done(shop("run", "--quiet"), 1)
    findings = _done(shop("findings", "--json")).json
    ids = {rule: [row["id"] for row in findings if row["rule"] == rule] for rule in ("persons", "paid")}
    of_email = {row["key"]["email"]: row["id"] for row in findings if row["rule"] == "twins"}
    undone, cleaned, dismissed, chosen = (of_email[f"{name}@example.com"] for name in ("ada", "bob", "cy", "di"))
    for words in (
        ("keep", chosen, "8", "--note", "the newer address"),
        ("approve", undone, cleaned),
        ("undo", undone),
        ("dismiss", dismissed, "--note", "two people"),
        ("snooze", ids["persons"][0], "--until", "2999-01-01"),
        ("assign", ids["persons"][1], "bob"),
        ("handle", ids["paid"][0], "--note", "refunded"),
        ("users", "add", "ada", "--role", "operator"),
    ):
        _done(shop(*words))
    with closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.execute("delete from charges where id = 'c4'")
        database.execute("insert into charges values ('c5', 'F', 99)")
    _done(shop("run", "--quiet"), 1)
    with Guard.open(folder / "reconcile.yaml") as guard:
        for customer in ("done", "failed", "in progress"):
            claim = guard.claim("welcome", customer, by="a program")
            assert isinstance(claim, Claim)
            if customer == "done":
                claim.complete({"message": "m-1"})
            elif customer == "failed":
                claim.fail("no address")
    return shop


def _done(answer: Answer, *codes: int) -> Answer:
    assert answer.code in (0, *codes), answer.said
    return answer


def keep() -> None:
    """Write the state of the present schema. Raises FileExistsError if it is kept already."""
    kept = STATES / tables.REVISION
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        live(folder)
        kept.mkdir(parents=True)
        for database in ("state", "shop"):
            with closing(sqlite3.connect(folder / f"{database}.db")) as connection:
                application = connection.execute("pragma application_id").fetchone()[0]
                lines = [f"PRAGMA application_id = {application};", *connection.iterdump()]
            (kept / f"{database}.sql").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (kept / "state.key").write_text((folder / "state.db.key").read_text(encoding="ascii"), encoding="ascii")
        (kept / "reconcile.yaml").write_text((folder / "reconcile.yaml").read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    keep()
