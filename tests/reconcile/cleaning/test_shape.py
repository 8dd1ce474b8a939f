"""A rule stops cleaning when its dataset does not look as it did: columns, types, empty values, size, groups."""

import datetime as dt
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from reconcile.app import Application
from reconcile.cleaning.planning import shape
from reconcile.cleaning.planning.binding import binding_of
from reconcile.cleaning.planning.shape import DatasetShape, Past
from reconcile.config import load
from reconcile.detection.detect import RuleDoesNotFit, detect
from reconcile.runs.report import RunReport
from reconcile.store import Store
from tests.support.chance import spread
from tests.support.cli import Project
from tests.support.findings import KEY, NOON
from tests.support.servers import emptied
from tests.support.shop import LOCAL, Shop

PROJECT = """
state: sqlite:///state.db
sources:
  shop: {{type: sql, url: "{url}"}}
datasets:
  customers: {{source: shop, table: customers, id: id, where: "kind <> 'test'"}}
rules:
  twins:
    kind: duplicates
    dataset: customers
    key: [email, city]
    {more}
    keep: {{last: seen}}
    clean: {{action: set, values: {{note: twin}}}}
jobs:
  nightly: {{rules: [twins]}}
"""
RECORDS = 100
TWINS = 30


class ShapeHistory:
    """A shop with customers, some of them twice, and the store that remembers what shape it had in each run."""

    def __init__(self, url: str, folder: Path) -> None:
        self.shop, self.folder = Shop(url, folder), folder
        self.store = Store.open("sqlite:///shapes.db", folder, key=KEY, clock=lambda: NOON)
        self.runs = 0
        self.shop.sql(
            "create table customers (id integer primary key, email varchar(40), city varchar(20), seen date, "
            "kind varchar(9), note varchar(9))"
        )
        self.add({number: f"c{number if number >= TWINS else number // 2}@x" for number in range(RECORDS)})

    def add(self, emails: Mapping[int, str]) -> None:
        rows = (f"({number}, '{email}', 'Ulm', '2026-01-01', 'person', null)" for number, email in emails.items())
        self.shop.sql(f"insert into customers values {', '.join(rows)}")

    def run(self, name: str | None = None, more: str = "") -> str | None:
        """What a run says of the shape: None, or why it cleans nothing. Raises RuleDoesNotFit."""
        self.runs += name is None
        path = self.folder / "reconcile.yaml"
        path.write_text(PROJECT.format(url=self.shop.url, more=more))
        with closing(Application(load(path, {}))) as app:
            rule, subject = app.rule("twins"), app.subject("customers")
            detection = detect(rule, {"customers": subject}, dt.datetime(2026, 11, 21, tzinfo=dt.UTC), app.budget)
            with self.store.begin() as tx:
                binding = binding_of(app.project, rule)
                return shape.refuse(tx, rule, detection, name or f"run-{self.runs}", binding)

    def whole_run(self, day: int, more: str, clean: str = "clean: {action: set, values: {note: twin}}") -> RunReport:
        """A run from detection to cleaning, in the state that the configuration names."""
        path = self.folder / "reconcile.yaml"
        p_r_o_j_e_c_t = PROJECT.format(url=self.shop.url, more="")
        path.write_text(p_r_o_j_e_c_t.replace("clean: {action: set, values: {note: twin}}", clean + more))
        with closing(Application(load(path, {}))) as app:
            return app.run("nightly", slot=f"2026-11-{day:02d}T05:00:00Z")

    def count(self) -> int:
        return len(self.shop.ids())

    def effects(self) -> int:
        """How many records were ever cleaned, as the state says and the receipts in the database do."""
        with closing(sqlite3.connect(self.folder / "state.db")) as state:
            [done] = state.execute("select count(*) from effects").fetchone()
        assert self.shop.sql("select count(*) from reconcile_receipts") == [(done,)]
        return int(done)

    def allow(self) -> bool:
        with self.store.begin() as tx:
            return shape.allow(tx, "customers", "twins")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ShapeHistory]:
    if request.param == "sqlite":
        shape_history = ShapeHistory(LOCAL, tmp_path)
    else:
        shape_history = ShapeHistory(emptied(request.getfixturevalue("postgres_server")), tmp_path)
    with closing(shape_history.store):
        yield shape_history


CHANGES = {
    "renamed": ("alter table customers rename column note to remark", "column note no longer exists"),
    "emptied": (
        "update customers set email = null where id between 2 and 999",
        "can't compare",
    ),
    "blanked": ("update customers set city = ' ' where id > 1", "can't compare"),
    "half": ("delete from customers where id >= 45", "compared 26 records"),
    "condition": ("update customers set kind = null", "compared 0 records"),
    "keeper": (
        "update customers set seen = null",
        "column seen is empty or unusable in 100% of the records",
    ),
    "pairs": ("update customers set email = 'd' || (id / 2) || '@x'", "it has 41 groups instead of the usual 5"),
    "key renamed": ("alter table customers rename column email to mail", "`key` names `email`"),
}
BY_ITSELF = """
    approval: none
    limits: {records: 1000, share: 100%, group: 100}"""


EITHER = [
    *(("sqlite", change) for change in CHANGES),
    *(pytest.param("postgres", change, marks=pytest.mark.server) for change in spread(list(CHANGES), 3)),
]
"""Every change on SQLite, and three on PostgreSQL."""


@pytest.mark.slow
@pytest.mark.parametrize(("history", "change"), EITHER, indirect=["history"])
def test_mass_match_after_a_schema_change(history: ShapeHistory, change: str) -> None:
    """A rule that cleans by itself did so, and would clean a new pair: after the change nothing at all is done."""
    statement, why = CHANGES[change]
    history.shop.sql("delete from customers where id between 10 and 29")
    history.whole_run(1, BY_ITSELF)
    history.whole_run(2, BY_ITSELF)
    assert history.effects() == 5

    history.add({1000: "new@x", 1001: "new@x"} if change != "half" else {10: "c42@x"})
    history.shop.sql(statement)

    assert why in str(history.whole_run(3, BY_ITSELF).rules)
    assert why in str(history.whole_run(4, BY_ITSELF).rules)
    assert history.effects() == 5


def test_a_key_column_that_was_renamed_does_not_even_match(history: ShapeHistory) -> None:
    assert history.run() is None

    history.shop.sql("alter table customers rename column email to mail")

    with pytest.raises(RuleDoesNotFit, match="email"):
        history.run()


def test_a_column_of_another_type_stops_cleaning(history: ShapeHistory) -> None:
    assert history.run() is None

    history.shop.sql("alter table customers rename column city to old", "alter table customers add column city integer")
    history.shop.sql("update customers set city = 7")

    assert "column city was text and is now integer" in str(history.run())


@pytest.mark.slow
def test_five_times_the_usual_groups_stop_cleaning(history: ShapeHistory) -> None:
    """There were 15 groups; 76 are more than five times as many, 75 are not."""
    for _ in range(3):
        assert history.run() is None
    history.add({RECORDS + number: f"c{TWINS + number}@x" for number in range(60)})
    assert history.run("run-3") is None

    history.add({RECORDS + 60: f"c{TWINS + 60}@x"})

    assert "it has 76 groups instead of the usual 15" in str(history.run())


@pytest.mark.slow
def test_what_the_rule_itself_took_out_is_no_reason_to_stop(history: ShapeHistory) -> None:
    """Most of the records were twins, and were deleted: the dataset did not shrink, it was cleaned."""
    deletes = "clean: {action: delete}"
    history.shop.sql("delete from customers where id >= 30")
    history.add(dict.fromkeys(range(100, 160), "many@x"))
    history.whole_run(1, BY_ITSELF, deletes)
    history.whole_run(2, BY_ITSELF, deletes)
    assert history.count() == 16

    assert history.whole_run(3, BY_ITSELF, deletes).rules[0].cleaning.stopped is None


def test_columns_that_the_rule_does_not_use_may_change(history: ShapeHistory) -> None:
    history.shop.sql("alter table customers add column phone varchar(9)")
    assert history.run() is None

    history.shop.sql("alter table customers drop column phone", "alter table customers add column fax integer")

    assert history.run() is None


@pytest.mark.slow
def test_what_a_person_allows_is_what_later_runs_compare_with(history: ShapeHistory) -> None:
    assert not history.allow()
    assert history.run() is None
    assert not history.allow()
    history.shop.sql("delete from customers where id >= 50")
    assert "it has 50 records" in str(history.run())

    assert history.allow()

    assert history.run() is None
    history.shop.sql("delete from customers where id >= 20")
    assert "it has 20 records instead of 50" in str(history.run())


def test_after_an_edit_of_the_rule_there_is_nothing_to_compare_with(history: ShapeHistory) -> None:
    """That run asks people about everything; the next one is compared with it."""
    assert history.run() is None
    history.shop.sql("update customers set city = null")

    assert history.run(more="nulls: {city: match}") is None

    history.shop.sql("update customers set seen = null")
    assert "column seen is empty" in str(history.run(more="nulls: {city: match}"))


@pytest.mark.slow
def test_a_run_that_is_taken_up_again_is_compared_with_the_runs_before_it(history: ShapeHistory) -> None:
    assert history.run("first") is None
    assert history.run("second") is None

    history.shop.sql("delete from customers where id >= 60")
    assert history.run("second") is None
    history.shop.sql("delete from customers where id >= 50")

    assert "it has 50 records instead of 100" in str(history.run("second"))


def test_a_renamed_rule_is_compared_with_what_it_saw_under_its_former_name(history: ShapeHistory) -> None:
    assert history.run() is None
    with history.store.begin() as tx:
        tx.connection.exec_driver_sql("update dataset_schemas set rule = 'pairs'")
    history.shop.sql("delete from customers where id >= 50")

    assert "it has 50 records" in str(history.run(more="was: pairs"))


SEEN = DatasetShape("r1", "rule", {"email": "text"}, ("email",), read=1000, groups=10, members=40)


@pytest.mark.parametrize(
    ("now", "groups", "stops"),
    [
        (replace(SEEN, read=501), [10], False),
        (replace(SEEN, read=500), [10], True),
        (replace(SEEN, read=400, cleaned=101), [10], False),
        (replace(SEEN, read=400, cleaned=100), [10], True),
        (replace(SEEN, groups=50), [10, 10, 400], False),
        (replace(SEEN, groups=51), [10, 10, 400], True),
        (replace(SEEN, groups=20), [0], False),
        (replace(SEEN, groups=21), [0], True),
        (replace(SEEN, empty={"email": 0.49}), [10], False),
        (replace(SEEN, empty={"email": 0.5}), [10], True),
        (replace(SEEN, bare={"email": 0.9}, members=9), [10], False),
        (replace(SEEN, bare={"email": 0.9}, members=10), [10], True),
        (replace(SEEN, types={"email": "integer"}), [10], True),
        (replace(SEEN, types={"email": "text", "new": "text"}, used=("email", "new")), [10], False),
        (replace(SEEN, types={}), [10], True),
        (replace(SEEN, read=1, rule="edited"), [10], False),
    ],
)
def test_where_the_limits_lie(now: DatasetShape, groups: list[int], stops: bool, tmp_path: Path) -> None:
    path = tmp_path / "reconcile.yaml"
    path.write_text(PROJECT.format(url="sqlite:///shop.db", more=""))
    rule = load(path, {}).rules["twins"]

    assert bool(shape.compare(rule, Past(SEEN, groups), now)) == stops
    assert shape.compare(rule, Past(None, []), now) is None


# Values of columns that decide without being in the key


TIED = {
    "keep": ({"keep": [{"max": "score"}]}, "score"),
    "prefer": ({"keep": [{"prefer": {"rank": ["gold"]}}]}, "rank"),
    "where": ({"where": "rank is null or rank <> 'void'"}, "rank"),
    "merge": (
        {
            "clean": {"action": "merge", "surplus": "delete", "fields": {"score": {"max": "score"}}},
            "keep": [{"first": "id"}],
        },
        "score",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("by", TIED)
@pytest.mark.parametrize(
    ("url", "engine", "records"),
    [
        ("sqlite", "auto", 6),
        ("sqlite", "auto", 40),
        ("sqlite", "embedded", 40),
        pytest.param("postgres", "auto", 40, marks=pytest.mark.server),
    ],
)
def test_a_column_that_decides_and_is_suddenly_empty_cleans_nothing_by_itself(
    by: str, records: int, engine: str, url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings, column = TIED[by]
    where = f"sqlite:///{tmp_path}/shop.db" if url == "sqlite" else emptied(request.getfixturevalue("postgres_server"))
    shop = Shop(where, tmp_path)
    shop.sql("create table customers (id integer primary key, email varchar(40), score integer, rank varchar(9))")
    rows = ", ".join(f"({n}, '{n}@x', {n}, 'gold')" for n in range(records))
    shop.sql(f"insert into customers values {rows}")
    rule = {"kind": "duplicates", "dataset": "customers", "key": ["email"], "approval": "none", "engine": engine}
    rule |= {"clean": {"action": "delete"}, "limits": {"records": 100, "share": "100%"}} | settings
    config = {
        "version": 1,
        "sources": {"shop": {"type": "sql", "url": where}},
        "datasets": {"customers": {"source": "shop", "table": "customers", "id": "id"}},
        "rules": {"twins": rule},
        "jobs": {"nightly": {"rules": "all"}},
    }
    project = Project(tmp_path).write(json.dumps(config))
    for _ in range(2):
        assert project("run").code == 0
    shop.sql(f"update customers set {column} = null")
    shop.sql("insert into customers values (100, 'q@x', null, null), (101, 'q@x', null, null)")

    text = " ".join(project("run").said.split())

    assert len(shop.ids()) == records + 2
    assert f"column {column} is empty" in text
