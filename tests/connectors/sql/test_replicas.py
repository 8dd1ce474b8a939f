"""Runs read a replica: never too early, never another server, and records are changed where they always were."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from pydantic import SecretStr

from connectors.errors import PrimaryRefused, Reaction, ReadStopped, ReplicaBehind, ReplicaConflict, ReplicaRefused
from connectors.sql.settings import SqlDataset, SqlSettings
from connectors.sql.source import SqlSource
from reconcile.findings.results import RuleResult
from tests.connectors.sql.mariadb import MariadbServer
from tests.connectors.sql.replica import Pair, Shop, mariadb_servers, new_pair, postgresql_servers, until_connected
from tests.reconcile.detection.changing_table import OLD, ChangingTable
from tests.reconcile.detection.test_incremental_model import RULES, Machine
from tests.support.cluster import Cluster, Standby
from tests.support.sides import CANCEL, Sides, unchanged

pytestmark = [pytest.mark.server, pytest.mark.slow]

CUSTOMERS = SqlDataset(table="customers")
Servers = tuple[Cluster, Standby] | tuple[MariadbServer, MariadbServer]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[tuple[Cluster, Standby]]:
    with postgresql_servers() as servers:
        yield servers


@pytest.fixture(scope="module")
def mariadb() -> Iterator[tuple[MariadbServer, MariadbServer]]:
    with mariadb_servers() as servers:
        yield servers


@pytest.fixture(params=["postgresql", "mariadb"])
def pair(request: pytest.FixtureRequest) -> Pair:
    return new_pair(*request.getfixturevalue(request.param))


@pytest.fixture
def standby(postgresql: tuple[Cluster, Standby]) -> Pair:
    return new_pair(*postgresql)


@pytest.fixture
def shop(pair: Pair, tmp_path: Path) -> Shop:
    return Shop.at(tmp_path, pair)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A read waits for a short time only."""
    monkeypatch.setattr("connectors.sql.replica.PATIENCE", 2.0)


def source(url: str, replica: str) -> SqlSource:
    return SqlSource("shop", SqlSettings(type="sql", url=SecretStr(url), replica=SecretStr(replica)), Path())


def ids(shop: SqlSource) -> list[int]:
    scan = shop.scan(CUSTOMERS, ["id"])
    try:
        return sorted(scan.reader.read_all().column("id").to_pylist())
    finally:
        scan.close()


def test_a_run_after_a_cleaning_never_reads_the_records_of_before(shop: Shop, impatient: None) -> None:
    assert shop.run()["findings"]["new"] == 1
    told = shop.messages
    with shop.pair.lagging():
        assert shop("approve", shop.only).code == 0  # planned and executed where the records are changed
        assert shop.statuses == ["ok", "twin", "ok"]

        answer = shop("run")

        assert answer.code == 3
        assert "Source 'shop' was not read: after 2 s of waiting, its replica at 127.0.0.1:" in answer.said
        assert "behind its primary. Nothing was changed; try again later." in answer.said
        assert "Traceback" not in answer.said
        assert shop.findings() == {"a@x": "cleaned"}

    again = shop.run()

    assert (again["groups"], again["findings"]["new"], again["findings"]["reopened"]) == (0, 0, 0)
    assert shop.findings() == {"a@x": "cleaned"}
    assert shop.messages.count("a@x") == told.count("a@x")
    assert shop("audit", "verify").code == 0


def test_a_run_waits_until_the_replica_has_what_was_cleaned(shop: Shop) -> None:
    shop.run()
    with shop.pair.lagging():
        assert shop("approve", shop.only).code == 0
        running = shop.start("run")
        time.sleep(3)
        assert running.process.is_alive()

    ended = running.end()

    assert ended.code == 0, ended.said
    assert shop.findings() == {"a@x": "cleaned"}


def test_a_plan_is_made_of_the_records_of_the_primary(shop: Shop) -> None:
    shop.run()
    finding = shop.only
    with shop.pair.lagging():
        shop.pair.sql("update customers set email = 'c@x' where id = 2")

        answer = shop("approve", finding)

        assert answer.code == 4, answer.said
        assert shop.statuses == ["ok", "ok", "ok"]


def test_a_cleaning_is_undone_while_the_replica_lags(shop: Shop) -> None:
    shop.run()
    finding = shop.only
    with shop.pair.lagging():
        assert shop("approve", finding).code == 0
        assert shop("undo", finding).code == 0
        assert shop.statuses == ["ok", "ok", "ok"]

    shop.run()

    assert shop.findings() == {"a@x": "undone"}


def test_a_partner_that_the_replica_does_not_show_stops_a_plan(pair: Pair, tmp_path: Path) -> None:
    """A plan that relies on another dataset reads that, too, where records are changed."""
    sides = Sides.at(tmp_path, pair.url, pair.url, where={"left": "status = 'open'"}, clean=CANCEL)
    both = {"type": "sql", "url": pair.url, "replica": pair.replica}
    sides.config = {"sources": {"shop": both, "bank": both}}
    assert sides.cleaning() == {"proposed": 2}
    finding = sides.of_record("I-2")
    with pair.lagging():
        sides.payments.add(("2", "INV-2", "50.00", "paid"))

        with unchanged(sides.invoices):
            answer = sides.decide("approve", finding)

    assert answer.code == 4, answer.said


def test_every_way_of_reading_waits(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """While records are read where they are changed, without a delay."""
    pair.sql("create table customers (id bigint primary key, changed_at timestamp null)")
    shop = source(pair.url, pair.replica)
    assert (ids(shop), shop.primary().primary()) == ([], shop.primary())
    with pair.lagging():
        pair.sql("insert into customers (id) values (1)")
        monkeypatch.setattr("connectors.sql.replica.PATIENCE", 0.2)
        hasty = source(pair.url, pair.replica)
        for read in (
            hasty.datasets,
            lambda: hasty.describe(CUSTOMERS),
            lambda: hasty.relation(CUSTOMERS),
            lambda: ids(hasty),
            lambda: hasty.snapshot().__enter__(),
            lambda: hasty.changes(CUSTOMERS, "changed_at").__enter__(),
        ):
            with pytest.raises(ReplicaBehind) as behind:
                read()
        assert behind.value.reaction is Reaction.RETRY
        assert hasty.rows(CUSTOMERS, ["id"], [(1,)]) != [None]
        assert ids(shop.primary()) == [1]

    assert ids(shop) == [1]
    hasty.close()
    shop.close()


def test_a_stop_ends_the_waiting(pair: Pair) -> None:
    pair.sql("create table customers (id bigint primary key)")
    shop = source(pair.url, pair.replica)
    ids(shop)
    begin = time.monotonic()
    with pair.lagging():
        pair.sql("insert into customers values (1)")
        stopping = threading.Timer(0.5, shop.stop)
        stopping.start()
        with pytest.raises(ReadStopped):
            shop.datasets()
        stopping.join()

    assert time.monotonic() - begin < 30


def test_records_are_streamed_without_adbc_too(standby: Pair, monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
    monkeypatch.setattr("connectors.sql.source.has_adbc", lambda: False)
    standby.sql("create table customers (id bigint primary key)", "insert into customers values (1)")
    shop = source(standby.url, standby.replica)
    assert ids(shop) == [1]
    with standby.lagging():
        standby.sql("insert into customers values (2)")

        with pytest.raises(ReplicaBehind):
            ids(shop)


def test_a_plain_user_can_read_a_replica(pair: Pair) -> None:
    pair.sql("create table customers (id bigint primary key)", "insert into customers values (1)")
    user = f"reader_{pair.name}"
    if pair.url.startswith("postgresql"):
        pair.sql(f"create role {user} login", f"grant select on customers to {user}")
    else:
        pair.sql(f"create user {user}@'127.0.0.1'", f"grant select on customers to {user}@'127.0.0.1'")
    url, replica = (place.replace("root@", f"{user}@") for place in (pair.url, pair.replica))
    until_connected(replica)
    shop = source(url, replica)

    assert ids(shop) == [1]


def test_check_doctor_and_explain_name_the_replica(shop: Shop) -> None:
    place = shop.pair.replica.rpartition("@")[2]

    assert f"runs read its replica at {place}" in shop("check").said
    assert f"runs read its replica at {place}" in shop("doctor", "--all").said
    assert f"reads the replica of source 'shop' at {place}" in " ".join(shop("explain", "twins").out.split())
    assert f"It reads the replica of source 'shop' at {place}." in shop("explain", "twins", "--sql").out
    assert shop("explain", "twins", "--json").json["replicas"] == {"shop": place}
    assert shop("explain", "twins", "--sql", "--json").json["replicas"] == {"shop": place}


def test_a_server_that_follows_nobody_is_refused(pair: Pair) -> None:
    with pytest.raises(ReplicaRefused) as refused:
        source(pair.url, pair.url).datasets()

    assert "is not a replica: it was promoted, its replication was stopped, or it never was one" in str(refused.value)
    assert "Nothing was changed; correct `replica`, or remove it" in str(refused.value)


def test_a_replica_under_the_name_of_its_primary_is_refused(pair: Pair) -> None:
    pair.sql("create table customers (id bigint primary key)")
    ids(source(pair.url, pair.replica))

    with pytest.raises(PrimaryRefused, match=r"its `url` at .* is itself a replica"):
        source(pair.replica, pair.replica).datasets()


def test_another_database_of_the_same_servers_is_refused(postgresql: tuple[Cluster, Standby]) -> None:
    pair, other_pair = new_pair(*postgresql), new_pair(*postgresql)
    other_pair.sql("create table customers (id bigint primary key)")
    ids(source(other_pair.url, other_pair.replica))

    with pytest.raises(ReplicaRefused) as refused:
        source(pair.url, other_pair.replica).datasets()

    assert f"uses the database {other_pair.name!r}, but the primary at" in str(refused.value)


def test_another_search_path_is_refused(standby: Pair) -> None:
    standby.sql("create schema archive", "create table customers (id bigint primary key)")
    user = f"reader_{standby.url.rpartition('_')[2]}"
    standby.sql(f"create role {user} login", f"alter role {user} set search_path = archive")
    standby.sql(f"grant usage on schema archive to {user}")
    replica = standby.replica.replace("root@", f"{user}@")
    until_connected(replica)

    with pytest.raises(ReplicaRefused, match=r"looks up tables in the schemas 'archive', but .* in 'public'"):
        source(standby.url, replica).datasets()


def test_an_idle_primary_whose_log_begins_a_new_file_is_not_waited_for(standby: Pair, impatient: None) -> None:
    standby.sql("create table customers (id bigint primary key)")
    shop = source(standby.url, standby.replica)
    ids(shop)
    standby.sql("insert into customers values (1)")
    standby.rows("select pg_switch_wal()")
    time.sleep(0.3)

    assert ids(shop) == [1]


def test_a_query_in_the_way_of_recovery_says_so(postgresql: tuple[Cluster, Standby]) -> None:
    primary, server = postgresql
    pair = new_pair(primary, server)
    pair.sql("create table customers (id bigint primary key)", "insert into customers select generate_series(1, 500)")
    shop = source(pair.url, pair.replica)
    server.ask("alter system set max_standby_streaming_delay = 0")
    server.ask("select pg_reload_conf()")
    statement = sa.select(shop.relation(CUSTOMERS).c.id)
    try:
        with shop.snapshot() as snapshot:
            snapshot.whole(statement)
            pair.sql("drop table customers")

            def until_cancelled() -> None:
                for _ in range(100):
                    time.sleep(0.1)
                    snapshot.whole(statement)

            with pytest.raises(ReplicaConflict) as conflict:
                until_cancelled()
    finally:
        server.ask("alter system reset max_standby_streaming_delay")
        server.ask("select pg_reload_conf()")

    assert conflict.value.reaction is Reaction.RETRY
    assert "cancelled the query, because it conflicts with recovery" in str(conflict.value)
    assert "set hot_standby_feedback = on there" in str(conflict.value)


def test_findings_of_runs_that_read_what_changed_on_a_replica_are_those_of_full_runs(
    pair: Pair, tmp_path: Path
) -> None:
    Machine.modes = Counter()
    Machine.incremental = ChangingTable(pair.url, tmp_path / "incremental", replica=pair.replica).create()
    Machine.full = ChangingTable(pair.url, tmp_path / "full", incremental=None)

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine,
        settings=settings(
            max_examples=2,
            stateful_step_count=9,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        ),
    )

    assert all(Machine.modes[f"{name} incremental"] for name in RULES)


def test_a_transaction_that_was_open_on_the_primary_is_found_by_the_next_run(standby: Pair, tmp_path: Path) -> None:
    """With any time of change, also in a subtransaction, and although the replica gets its end late.

    The replica does not know that it is open. A run that did not wait for its end would lose it for ever.
    """
    table = ChangingTable(standby.url, tmp_path / "incremental", replica=standby.replica).create()
    full = replace(table, folder=tmp_path / "full", incremental=None, replica=None)
    table.add((1, 1, "a", 5), (2, 2, "b", 6), (3, 3, "c", 7), at=OLD)
    insert = "insert into charges (id, customer, email, updated_at) values"
    assert table.run().mode == "full"
    with table.engine.connect() as writer:
        writer.execute(sa.text(f"{insert} (8, 1, 'a', {OLD})"))
        with writer.begin_nested():
            writer.execute(sa.text(f"{insert} (9, 2, 'b', {OLD})"))
        assert (table.run().mode, table.findings()) == ("incremental", [])
        outcomes: list[RuleResult] = []
        running = threading.Thread(target=lambda: outcomes.append(table.run()))
        with standby.lagging():
            writer.commit()
            running.start()
            time.sleep(1)
            assert running.is_alive()
        running.join()

    full.run()
    assert (outcomes[0].mode, outcomes[0].findings.new) == ("incremental", 2)
    assert table.findings() == full.findings()


@pytest.mark.parametrize("name", ["postgresql", "mariadb"])
def test_a_promoted_replica_is_refused(name: str, tmp_path: Path) -> None:
    with (postgresql_servers if name == "postgresql" else mariadb_servers)() as (primary, server):
        shop = Shop.at(tmp_path, new_pair(primary, server))
        shop.run()
        told, finding = shop.messages, shop.only

        server.promote()

        answer = shop("run")
        assert answer.code == 3
        assert "is not a replica: it was promoted" in answer.said
        assert "a@x" not in shop.messages.removeprefix(told)
        assert shop.findings() == {"a@x": "awaiting_approval"}
        assert shop("approve", finding).code == 0  # plans do not need it
        assert shop.statuses == ["ok", "twin", "ok"]


def test_a_replica_of_another_server_is_refused(standby: Pair) -> None:
    with postgresql_servers() as servers:
        other_pair = new_pair(*servers)
        other_pair.sql("create table customers (id bigint primary key)")

        with pytest.raises(ReplicaRefused, match="is a replica of a server other than the primary at"):
            source(standby.url, other_pair.replica).datasets()


def test_a_replica_of_another_mariadb_is_refused(mariadb: tuple[MariadbServer, MariadbServer]) -> None:
    """Its servers have the same numbers; only the numbers of its transactions betray it."""
    with mariadb_servers() as (primary, replica):
        pair = new_pair(*mariadb)
        primary.sql("set session gtid_seq_no = 1000000", f"create database {pair.name}")
        until_connected(replica.url(pair.name))

        with pytest.raises(ReplicaRefused, match=r"has changes that its primary at .* does not have"):
            source(pair.url, replica.url(pair.name)).datasets()
