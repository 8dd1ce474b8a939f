"""What refers to a record that goes: nobody is left without a parent, and nobody goes unplanned. On three databases."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from connectors.target import TargetRefused
from reconcile.cleaning import inverse
from reconcile.cleaning.execution.execute import How, Result, TransactionLimits, perform
from reconcile.cleaning.planning.plan import NotPlannable, soft_links
from reconcile.config.settings import LinkEntry
from reconcile.findings.plan import Plan
from rules.kinds.duplicates import DuplicatesRule
from tests.reconcile.cleaning.customer_shop import job
from tests.reconcile.cleaning.planned_shop import PlannedShop, rule_of
from tests.support.servers import emptied
from tests.support.shop import LOCAL, Rows

CUSTOMERS = "create table customers (id integer primary key, email varchar(40), name varchar(40))"
TWINS = "insert into customers values (1, 'a@x', 'Ann'), (2, 'a@x', 'Anna'), (3, 'b@x', 'Bob')"


def stamps(shop: PlannedShop) -> Mapping[str, str]:
    """What a catalogue says, read before anything is carried out."""
    assert shop.source.remembers()
    return shop.source.catalogue(shop.dataset.settings, soft_links(shop.dataset)).stamps


def execute(shop: PlannedShop, plan: Plan, catalogue: Mapping[str, str] | None = None) -> Result:
    """Execute the plan as a run does."""
    limits = TransactionLimits(lambda: 20.0, stamps=stamps(shop) if catalogue is None else catalogue)
    [result] = perform(shop.source, [job(plan)], limits)
    return result


def undo(shop: PlannedShop, result: Result) -> How:
    """Take back what was carried out, as `undo` does."""
    assert result.images is not None
    with shop.source.work(30) as work:
        now = {name: row.cells for name, row in work.lock(inverse.rows_of(result.images)).items()}
    back = inverse.inverse(result.job.id, result.job.plan, result.images, now)
    assert back.plan is not None
    assert not back.conflicts
    return execute(shop, back.plan).how


def _made(request: pytest.FixtureRequest, kind: str, folder: Path) -> PlannedShop:
    url = LOCAL if kind == "sqlite" else emptied(request.getfixturevalue(f"{kind}_server"))
    planned_shop = PlannedShop(url, folder)
    request.addfinalizer(planned_shop.close)
    return planned_shop


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.server),
        pytest.param("mariadb", marks=pytest.mark.server),
    ]
)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> PlannedShop:
    return _made(request, request.param, tmp_path)


@pytest.fixture
def postgres(request: pytest.FixtureRequest, tmp_path: Path) -> PlannedShop:
    return _made(request, "postgres", tmp_path)


@pytest.fixture
def mariadb(request: pytest.FixtureRequest, tmp_path: Path) -> PlannedShop:
    return _made(request, "mariadb", tmp_path)


@pytest.fixture
def sqlite(request: pytest.FixtureRequest, tmp_path: Path) -> PlannedShop:
    return _made(request, "sqlite", tmp_path)


def deleting(references: str = "refuse") -> DuplicatesRule:
    """Records with one e-mail address are one; the first stays and the others are deleted."""
    return rule_of({"action": "delete", "references": references}, kind="duplicates", key=["email"])


def refused(shop: PlannedShop, references: str = "refuse", rule: DuplicatesRule | None = None) -> str:
    """Why there is no plan."""
    with pytest.raises(NotPlannable) as why:
        shop.plan(rule or deleting(references))
    return str(why.value)


def there_and_back(shop: PlannedShop, references: str, *tables: str) -> tuple[Plan, Rows]:
    """Execute the plan and take it back: the plan, and the rows as they were between."""
    assert shop.source.remembers()
    shop.sql("delete from reconcile_receipts")
    before = shop.tables(*tables)
    plan = shop.plan(deleting(references))
    first = execute(shop, plan)
    assert first.how is How.DONE, first.why
    after = shop.tables(*tables)
    assert undo(shop, first) is How.DONE
    assert shop.tables(*tables) == before
    return plan, after


# --- cascades --------------------------------------------------------------------------------------------------------

_ORDERS = "create table orders (id integer primary key, customer integer references customers (id) on delete cascade)"
_LINES = "create table positions (id integer primary key, orders integer references orders (id) on delete cascade)"
_ORDERED = ("insert into orders values (10, 1), (20, 2), (21, 2), (30, 3)",)
_LINED = ("insert into positions values (100, 10), (200, 20), (201, 20), (300, 30)",)


def test_cascade_not_captured(shop: PlannedShop) -> None:
    """The count of deleted customers would be 1, and two orders and two positions would be gone with it."""
    shop.sql(CUSTOMERS, _ORDERS, _LINES, TWINS, *_ORDERED, *_LINED)

    why = refused(shop)

    assert why == (
        "2 rows of `orders` refer to its surplus; with `references: repoint` they would follow the keeper, with "
        "`references: capture` they would be deleted with it."
    )


def test_what_a_cascade_would_delete_is_captured_to_the_last_grandchild(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, _ORDERS, _LINES, TWINS, *_ORDERED, *_LINED)

    plan, after = there_and_back(shop, "capture", "customers", "orders", "positions")

    gone = [(change.row.table, change.row.key[0][1]) for change in plan.changes if change.after is None]
    assert sorted((table, key[1]) for table, key in gone if key) == [
        ("customers", "2"),
        ("orders", "20"),
        ("orders", "21"),
        ("positions", "200"),
        ("positions", "201"),
    ]
    assert plan.rows == 5
    assert after["orders"] == [(10, 1), (30, 3)]
    assert after["positions"] == [(100, 10), (300, 30)]


def test_where_references_are_re_pointed_a_cascade_finds_nothing(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, _ORDERS, _LINES, TWINS, *_ORDERED, *_LINED)

    plan, after = there_and_back(shop, "repoint", "customers", "orders", "positions")

    assert after["orders"] == [(10, 1), (20, 1), (21, 1), (30, 3)]
    assert after["positions"] == [(100, 10), (200, 20), (201, 20), (300, 30)]
    assert plan.rows == 3


def test_on_delete_set_null_is_a_change_of_the_plan_too(shop: PlannedShop) -> None:
    shop.sql(
        CUSTOMERS,
        "create table orders (id integer primary key, customer integer references customers (id) on delete set null)",
        TWINS,
        *_ORDERED,
    )

    plan, after = there_and_back(shop, "capture", "customers", "orders")

    assert after["orders"] == [(10, 1), (20, None), (21, None), (30, 3)]
    assert plan.rows == 3


def test_in_sqlite_rows_without_a_parent_are_left_alone(sqlite: PlannedShop) -> None:
    """Other programs do not ask for foreign keys: what they left dangling is nobody's, and no cascade reaches it."""
    sqlite.sql(CUSTOMERS, _ORDERS, TWINS, *_ORDERED)
    with sqlite.engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        raw.execute("pragma foreign_keys = off")
        raw.execute("insert into orders values (99, 77)")
        raw.commit()
        raw.execute("pragma foreign_keys = on")

    _, after = there_and_back(sqlite, "capture", "customers", "orders")

    assert after["orders"] == [(10, 1), (30, 3), (99, 77)]


def test_in_sqlite_rows_whose_primary_key_is_null_go_by_no_cascade(sqlite: PlannedShop) -> None:
    """A text as primary key may be null there, and more than once: such a row refers, and has no name."""
    sqlite.sql(
        CUSTOMERS,
        "create table orders (nr text primary key, customer integer references customers (id) on delete cascade, "
        "rowid integer)",
        TWINS,
    )
    plans = [sqlite.plan(deleting(references)) for references in ("repoint", "capture")]
    sqlite.sql("insert into orders (nr, customer) values ('x', 2), (null, 2), (null, 3)")
    before = sqlite.tables("customers", "orders")

    assert [execute(sqlite, plan).how for plan in plans] == [How.DRIFTED, How.DRIFTED]
    for references in ("refuse", "repoint", "capture"):
        assert "its primary key is null" in refused(sqlite, references)
    assert sqlite.tables("customers", "orders") == before


# --- keys of several columns, and unique collisions ------------------------------------------------------------------


def test_references_by_several_columns_are_re_pointed_together(shop: PlannedShop) -> None:
    shop.sql(
        "create table customers (country varchar(2) not null, nr integer not null, email varchar(40), "
        "primary key (country, nr))",
        "create table orders (id integer primary key, c varchar(2), n integer, total integer, "
        "foreign key (c, n) references customers (country, nr))",
        "insert into customers values ('at', 7, 'a@x'), ('de', 7, 'a@x'), ('de', 8, 'b@x')",
        "insert into orders values (1, 'de', 7, 5), (2, 'at', 7, 5), (3, 'de', 8, 5), (4, 'de', null, 5)",
    )
    shop.id = ("country", "nr")

    _, after = there_and_back(shop, "repoint", "customers", "orders")

    assert after["orders"] == [(1, "at", 7, 5), (2, "at", 7, 5), (3, "de", 8, 5), (4, "de", None, 5)]


def test_references_to_another_unique_key_are_found_and_re_pointed(shop: PlannedShop) -> None:
    shop.sql(
        "create table customers (id integer primary key, email varchar(40), code varchar(9) unique)",
        "create table orders (id integer primary key, code varchar(9) references customers (code))",
        "insert into customers values (1, 'a@x', 'k1'), (2, 'a@x', 'k2')",
        "insert into orders values (1, 'k2'), (2, null)",
    )

    assert "1 row of `orders` refers to its surplus" in refused(shop)
    _, after = there_and_back(shop, "repoint", "customers", "orders")
    assert after["orders"] == [(1, "k1"), (2, None)]


_MEMBERS = (
    "create table clubs (customer integer not null references customers (id), club varchar(9) not null, "
    "since integer, primary key (customer, club))"
)
_CLUBS = (CUSTOMERS, _MEMBERS, TWINS)


def test_a_child_that_the_keeper_has_already_is_captured_where_it_says_the_same(shop: PlannedShop) -> None:
    shop.sql(*_CLUBS, "insert into clubs values (1, 'chess', 2000), (2, 'chess', 2000), (2, 'golf', 2001)")

    plan, after = there_and_back(shop, "repoint", "customers", "clubs")

    assert after["clubs"] == [(1, "chess", 2000), (1, "golf", 2001)]
    assert [change.role for change in plan.changes if change.row.table == "clubs" and change.after is None] == [
        "captured"
    ]


def test_a_child_that_says_something_else_than_the_keepers_is_for_a_person(shop: PlannedShop) -> None:
    shop.sql(*_CLUBS, "insert into clubs values (1, 'chess', 2000), (2, 'chess', 1999)")

    assert "clubs" in refused(shop, "repoint")


@pytest.mark.server
def test_a_collision_that_only_the_database_sees_is_a_conflict_and_changes_nothing(postgres: PlannedShop) -> None:
    postgres.sql(
        CUSTOMERS,
        "create table orders (id integer primary key, customer integer references customers (id), ref varchar(9))",
        "create unique index odd on orders (customer, lower(ref))",
        TWINS,
        "insert into orders values (1, 1, 'A'), (2, 2, 'a')",
    )
    before = postgres.tables("customers", "orders")

    result = execute(postgres, postgres.plan(deleting("repoint")))

    assert result.how is How.CONFLICT
    assert postgres.tables("customers", "orders") == before


def test_rows_that_refer_twice_are_followed_twice(shop: PlannedShop) -> None:
    shop.sql(
        CUSTOMERS,
        "create table deals (id integer primary key, buyer integer references customers (id), "
        "seller integer references customers (id))",
        "insert into customers values (1, 'a@x', 'A'), (2, 'a@x', 'B'), (3, 'a@x', 'C'), (4, 'b@x', 'D')",
        "insert into deals values (1, 2, 3), (2, 3, 2), (3, 2, 2), (4, 4, 2), (5, 1, 3)",
    )

    _, after = there_and_back(shop, "repoint", "customers", "deals")
    assert after["deals"] == [(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 4, 1), (5, 1, 1)]
    _, after = there_and_back(shop, "capture", "customers", "deals")
    assert after["deals"] == []


def test_a_column_may_be_part_of_two_references(shop: PlannedShop) -> None:
    shop.sql(
        "create table lands (c varchar(2) primary key)",
        "create table customers (c varchar(2) not null references lands (c), n integer not null, email varchar(40), "
        "primary key (c, n))",
        "create table orders (id integer primary key, c varchar(2) not null references lands (c), n integer, "
        "foreign key (c, n) references customers (c, n))",
        "insert into lands values ('at'), ('de')",
        "insert into customers values ('at', 1, 'a@x'), ('de', 1, 'a@x')",
        "insert into orders values (1, 'de', 1), (2, 'at', 1)",
    )
    shop.id = ("c", "n")

    _, after = there_and_back(shop, "repoint", "customers", "orders")

    assert after["orders"] == [(1, "at", 1), (2, "at", 1)]


def test_a_reference_that_the_database_computes_is_not_re_pointed(shop: PlannedShop) -> None:
    shop.sql(
        CUSTOMERS,
        "create table orders (id integer primary key, raw integer, customer integer "
        "generated always as (raw + 0) stored, foreign key (customer) references customers (id))",
        TWINS,
        "insert into orders (id, raw) values (1, 2), (2, 3)",
    )

    assert "Rows of `orders` refer to its surplus by `customer`, which the database computes" in refused(
        shop, "repoint"
    )
    _, after = there_and_back(shop, "capture", "customers", "orders")
    assert after["orders"] == [(2, 3, 3)]


def test_referring_tables_and_columns_may_be_called_anything(shop: PlannedShop) -> None:
    mark = "`" if shop.dialect == "mysql" else '"'
    table, column = f"{mark}ord er%s:x'; --{mark}", f"{mark}cu%(st)s{mark}"
    key = f"foreign key ({column}) references customers (id) on delete cascade"
    statements = (
        f"create table {table} (id integer primary key, {column} integer, {key})",
        f"insert into {table} values (1, 2), (2, 3)",
    )
    shop.sql(CUSTOMERS, TWINS, *statements)

    assert there_and_back(shop, "repoint", "customers")[0].rows == 2
    assert there_and_back(shop, "capture", "customers")[0].rows == 2


@pytest.mark.server
def test_tables_of_another_schema_are_followed(postgres: PlannedShop) -> None:
    postgres.sql(
        CUSTOMERS,
        TWINS,
        "create schema crm",
        "create table crm.orders (id integer primary key, customer integer references customers on delete cascade)",
        "insert into crm.orders values (1, 2), (2, 3)",
    )

    assert there_and_back(postgres, "repoint", "customers", "crm.orders")[1]["crm.orders"] == [(1, 1), (2, 3)]
    assert there_and_back(postgres, "capture", "customers", "crm.orders")[1]["crm.orders"] == [(2, 3)]


@pytest.mark.parametrize(
    "kind", ["sqlite", *(pytest.param(name, marks=pytest.mark.server) for name in ("mariadb", "postgres"))]
)
def test_who_refers_in_other_letters_refers_all_the_same(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> None:
    """Where the key's collation knows no case, a cascade would take these rows too."""
    shop = _made(request, kind, tmp_path)
    collated = {"sqlite": "collate nocase", "postgres": "collate blind"}.get(kind, "")
    if kind == "postgres":
        shop.sql("create collation blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    shop.sql(
        f"create table customers (code varchar(9) {collated} not null primary key, email varchar(40))",
        f"create table orders (id integer primary key, code varchar(9) {collated if kind == 'postgres' else ''} "
        f"references customers (code) on delete cascade)",
        "insert into customers values ('A', 'a@x'), ('B', 'a@x')",
        "insert into orders values (1, 'b'), (2, 'a'), (3, 'B')",
    )
    shop.id = ("code",)

    assert "2 rows of `orders` refer" in refused(shop)
    _, after = there_and_back(shop, "repoint", "customers", "orders")
    assert after["orders"] == [(1, "A"), (2, "a"), (3, "A")]
    _, after = there_and_back(shop, "capture", "customers", "orders")
    assert after["orders"] == [(2, "a")]


@pytest.mark.server
def test_partitioned_tables_are_cleaned_and_followed_as_a_whole(postgres: PlannedShop) -> None:
    postgres.sql(
        "create table customers (id int primary key, email text) partition by range (id)",
        "create table c1 partition of customers for values from (0) to (2)",
        "create table c2 partition of customers for values from (2) to (9)",
        "create table orders (id int primary key, c int references customers on delete cascade) "
        "partition by range (id)",
        "create table o1 partition of orders for values from (0) to (99)",
        "insert into customers values (1, 'a@x'), (2, 'a@x')",
        "insert into orders values (1, 2)",
    )

    assert there_and_back(postgres, "repoint", "orders", "customers")[1]["orders"] == [(1, 1)]
    assert there_and_back(postgres, "capture", "orders", "customers")[1]["orders"] == []


# --- a table that refers to itself -----------------------------------------------------------------------------------

_STAFF = "create table customers (id integer primary key, email varchar(40), boss integer references customers (id))"


def test_a_record_that_refers_to_a_surplus_record_follows_the_keeper(shop: PlannedShop) -> None:
    shop.sql(_STAFF, "insert into customers values (1, 'a@x', null), (2, 'a@x', 1), (3, 'c@x', 2)")

    _, after = there_and_back(shop, "repoint", "customers")

    assert after["customers"] == [(1, "a@x", None), (3, "c@x", 1)]


def test_a_keeper_that_refers_to_its_own_surplus_is_for_a_person(shop: PlannedShop) -> None:
    shop.sql(
        _STAFF,
        "insert into customers values (1, 'a@x', null), (2, 'a@x', null)",
        "update customers set boss = 2 where id = 1",
    )

    assert "refer to itself" in refused(shop, "repoint")
    assert "A remaining record refers to a surplus record" in refused(shop, "capture")
    assert "1 row of `customers` refers" in refused(shop)


def test_surplus_records_that_refer_to_one_another_go_in_an_order_that_the_database_takes(shop: PlannedShop) -> None:
    shop.sql(_STAFF, "insert into customers values (1, 'a@x', null), (2, 'a@x', null), (3, 'a@x', 2), (4, 'a@x', 3)")

    _, after = there_and_back(shop, "refuse", "customers")

    assert after["customers"] == [(1, "a@x", None)]


def test_surplus_records_that_refer_to_one_another_in_a_circle_are_for_a_person(shop: PlannedShop) -> None:
    """No order of deletes fits a constraint that does not wait for the commit."""
    shop.sql(
        _STAFF,
        "insert into customers values (1, 'a@x', null), (2, 'a@x', null), (3, 'a@x', 2)",
        "update customers set boss = 3 where id = 2",
    )

    assert "refer to each other in a circle" in refused(shop)


@pytest.mark.server
def test_constraints_that_wait_for_the_commit_are_kept_all_the_same(postgres: PlannedShop) -> None:
    postgres.sql(
        "create table customers (id integer primary key, email varchar(40), "
        "boss integer references customers deferrable initially deferred)",
        "create table orders (id integer primary key, customer integer references customers "
        "deferrable initially deferred)",
        "insert into customers values (1, 'a@x', null), (2, 'a@x', null), (3, 'a@x', 2)",
        "insert into orders values (1, 2), (2, 3)",
    )

    _, after = there_and_back(postgres, "repoint", "customers", "orders")

    assert after == {"customers": [(1, "a@x", None)], "orders": [(1, 1), (2, 1)]}


@pytest.mark.server
def test_a_constraint_that_fails_at_the_commit_is_a_conflict(postgres: PlannedShop) -> None:
    """The plan knew of no orders; one is written by somebody else, and its constraint speaks up last."""
    postgres.sql(
        CUSTOMERS,
        "create table orders (id integer primary key, customer integer references customers "
        "deferrable initially deferred)",
        TWINS,
    )
    plan = postgres.plan(deleting("repoint"))
    unguarded = Plan(**{**plan.__dict__, "references": ()})
    postgres.sql("insert into orders values (1, 2)")
    before = postgres.tables("customers", "orders")

    assert execute(postgres, unguarded).how is How.CONFLICT
    assert postgres.tables("customers", "orders") == before


# --- soft links ------------------------------------------------------------------------------------------------------


def link(table: str, column: str) -> LinkEntry:
    return LinkEntry(table=table, columns=(column,), to=("id",))


@pytest.mark.parametrize("kind", ["integer", "bigint", "varchar(20)"])
def test_declared_links_are_followed_whatever_the_type_of_their_column(shop: PlannedShop, kind: str) -> None:
    shop.sql(
        CUSTOMERS,
        f"create table notes (id integer primary key, about {kind}, said varchar(9))",
        TWINS,
        "insert into notes values (1, '2', 'x'), (2, '1', 'y'), (3, '22', 'z'), (4, null, 'n')",
    )
    shop.links = (link("notes", "about"),)

    assert "1 row of `notes` refers to its surplus" in refused(shop)
    _, after = there_and_back(shop, "repoint", "customers", "notes")
    assert [str(about) for _, about, _ in after["notes"]] == ["1", "1", "22", "None"]
    _, after = there_and_back(shop, "capture", "customers", "notes")
    assert [number for number, _, _ in after["notes"]] == [2, 3, 4]


def test_a_declared_link_from_a_column_that_holds_other_things_as_well_finds_its_own(shop: PlannedShop) -> None:
    shop.sql(
        CUSTOMERS,
        "create table notes (id integer primary key, about varchar(20))",
        TWINS,
        "insert into notes values (1, '2'), (2, 'none'), (3, '2b'), (4, ''), (5, '02')",
    )
    shop.links = (link("notes", "about"),)

    _, after = there_and_back(shop, "repoint", "customers", "notes")

    assert after["notes"] == [(1, "1"), (2, "none"), (3, "2b"), (4, ""), (5, "02")]


# --- what is not understood is refused -------------------------------------------------------------------------------


def test_rows_that_refer_and_cannot_be_told_apart_forbid_the_plan(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, "create table clicks (customer integer references customers (id))", TWINS)

    for references in ("refuse", "repoint", "capture"):
        assert "clicks" in refused(shop, references)


def test_a_declared_link_to_a_view_forbids_what_would_change_it(shop: PlannedShop) -> None:
    shop.sql(
        CUSTOMERS,
        "create table raw (id integer primary key, about integer)",
        "create view notes as select id, about from raw",
        TWINS,
        "insert into raw values (1, 2)",
    )
    shop.links = (link("notes", "about"),)

    with pytest.raises((NotPlannable, TargetRefused), match="notes"):
        shop.plan(deleting("repoint"))


@pytest.mark.server
def test_a_table_without_transactions_that_refers_is_never_changed(mariadb: PlannedShop) -> None:
    mariadb.sql(
        CUSTOMERS,
        "create table notes (id integer primary key, about integer) engine=myisam",
        TWINS,
        "insert into notes values (1, 2)",
    )
    mariadb.links = (link("notes", "about"),)

    with pytest.raises((NotPlannable, TargetRefused), match="MyISAM"):
        mariadb.plan(deleting("repoint"))
    assert mariadb.sql("select * from notes") == [(1, 2)]


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def test_where_a_trigger_keeps_the_row_nothing_else_of_the_plan_is_kept(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> None:
    shop = _made(request, kind, tmp_path)
    shop.sql(CUSTOMERS, _ORDERS, TWINS, *_ORDERED)
    if kind == "sqlite":
        shop.sql("create trigger t before delete on customers begin select raise(ignore); end")
    else:
        shop.sql(
            "create function f() returns trigger language plpgsql as 'begin return null; end'",
            "create trigger t before delete on customers for each row execute function f()",
        )
    before = shop.tables("customers", "orders")

    result = execute(shop, shop.plan(deleting("capture")))

    why = "a trigger or rule of customers prevented a row from being changed as planned"
    assert (result.how, result.why) == (How.CONFLICT, why)
    assert shop.tables("customers", "orders") == before


# --- born between plan and execution ---------------------------------------------------------------------------------


@pytest.mark.parametrize("references", ["refuse", "repoint", "capture"])
def test_a_row_that_came_to_refer_since_the_plan_stops_the_plan(shop: PlannedShop, references: str) -> None:
    shop.sql(CUSTOMERS, _ORDERS, TWINS)
    plan = shop.plan(deleting(references))
    shop.sql("insert into orders values (50, 2)")
    before = shop.tables("customers", "orders")

    result = execute(shop, plan)

    assert result.how is How.DRIFTED
    assert shop.tables("customers", "orders") == before


def test_a_row_that_refers_no_more_stops_the_plan(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, _ORDERS, TWINS, *_ORDERED)
    plan = shop.plan(deleting("capture"))
    shop.sql("update orders set customer = 3 where id = 20")
    before = shop.tables("customers", "orders")

    assert execute(shop, plan).how is How.DRIFTED
    assert shop.tables("customers", "orders") == before


@pytest.mark.parametrize(
    ("references", "table", "number"),
    [("repoint", "customers", 2), ("capture", "customers", 2), ("capture", "orders", 20)],
)
def test_a_cascade_that_was_born_since_the_plan_deletes_nothing(
    shop: PlannedShop, references: str, table: str, number: int
) -> None:
    """A table that says ON DELETE CASCADE, and that no plan could know of, with a row in it that would go."""
    shop.sql(CUSTOMERS, _ORDERS, TWINS, *_ORDERED)
    plan, stamps_before = shop.plan(deleting(references)), stamps(shop)
    shop.sql(
        f"create table late (id integer primary key, x integer references {table} (id) on delete cascade)",
        f"insert into late values (1, {number})",
    )
    before = shop.tables("customers", "orders", "late")

    result = execute(shop, plan, stamps_before)

    assert result.how is How.DRIFTED
    assert result.why == "a reference to its table, or one of its triggers, changed since it was planned"
    assert shop.tables("customers", "orders", "late") == before


def test_plans_are_the_same_every_time(shop: PlannedShop) -> None:
    """What is approved is a hash: the order in which a database tells its rows and keys must not show in it."""
    shop.sql(CUSTOMERS, _ORDERS, _LINES, TWINS, *_ORDERED, *_LINED)
    rule = deleting("capture")

    assert shop.plan(rule).plan_hash == shop.plan(rule).plan_hash
