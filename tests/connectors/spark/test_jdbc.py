"""PostgreSQL that Spark reads by JDBC: the values and findings of the `sql` connector, and errors for people."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.base import Source
from connectors.errors import AccessDenied, DatasetMissing, ReadStopped, SourceMissing, SourceUnreachable
from connectors.spark.errors import PlaceUnsuitable
from connectors.spark.source import SparkSource
from connectors.sql.source import SqlSource
from rules.functions import dialect
from tests.connectors.spark.cluster import cluster, driver
from tests.support.cli import Project, in_words
from tests.support.servers import emptied, execute

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.timeout(1800)]
PASSWORD = "hidden-from-everybody"

TYPES = """
create table types (
    id bigserial primary key, small smallint, truth boolean, text text, short varchar(5), padded char(5),
    "Mixed ""Q`" text, amount numeric(10, 2), free numeric, ratio double precision, single real, day date,
    wall timestamp, at timestamptz, clock time, span interval, raw bytea, tag uuid, doc jsonb, list int[]
);
insert into types values
    (1, 2, true, E'a\\\\''`\\u00a0', 'b', 'c', 'q', -1.10, 1.123456789012, 'NaN', 0.1, '2026-01-31',
     '2026-10-25 02:30:00.123456', '2026-01-31 12:00+02', '12:34:56.789', '1 day', '\\x00ff',
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a":1}', '{1,2}');
insert into types (id) values (2), (3);
update types set day = 'infinity', wall = '-infinity', at = 'infinity', ratio = '-0' where id = 3;
"""
ORDERS = """
create table orders (id bigint primary key, ref text, amount numeric, paid timestamp, day date);
insert into orders select i, case when i % 97 = 0 then null when i % 10 = 0 then ' A-' || i - 1 || ' '
    else 'a-' || i end, i % 7 + 0.10, timestamp '2026-01-01' + i * interval '1 minute', date '2026-01-01' + i / 100
    from generate_series(1, 5000) i;
create view seen as select id, ref, pg_backend_pid()::bigint as pid from orders;
create view slow as select id, pg_sleep(30)::text as nothing from orders where id = 1;
"""
RULES = """
rules:
  ref-twice: {kind: duplicates, dataset: orders, engine: ENGINE, key: [{ref: [trim, lower]}], keep: [{first: paid}]}
  burst: {kind: duplicates, dataset: orders, engine: ENGINE, key: [day], window: {paid: 3m}, where: id < 300}
  same-amount: {kind: duplicates, dataset: orders, key: [amount, paid]}
"""


@pytest.fixture(scope="module", params=["local", "cluster"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Spark, which runs until the last test with it."""
    assert dialect("spark").name == "spark"
    if request.param == "local":
        yield "local[2]"
        return
    with cluster(tmp_path_factory.mktemp("spark")) as address:
        yield address


@pytest.fixture(scope="module")
def database(postgres_server: str) -> sa.URL:
    emptied(postgres_server)
    execute(postgres_server, *filter(None, (TYPES.strip("\n") + ORDERS).split(";\n")))
    return sa.make_url(postgres_server)


@pytest.fixture(scope="module")
def shop(url: str, database: sa.URL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSource]:
    source = _source(tmp_path_factory.mktemp("shop"), url, database)
    source.datasets()  # what is open keeps the context for all tests
    yield source
    source.close()


def _jdbc(database: sa.URL) -> str:
    return f"jdbc:postgresql://{database.host}:{database.port or 5432}/{database.database}"


def _settings(url: str, database: sa.URL) -> dict[str, Any]:
    secrets = {"user": database.username, **({"password": database.password} if database.password else {})}
    return {"type": "spark", "url": url, "config": {"spark.jars": driver()}, "jdbc": _jdbc(database), **secrets}


def _source(folder: Path, url: str, database: sa.URL, **over: Any) -> SparkSource:
    return SparkSource("shop", SparkSource.Settings.model_validate({**_settings(url, database), **over}), folder)


def _scanned(source: Source, columns: list[str], **dataset: Any) -> tuple[Any, ...]:
    scan = source.scan(source.Dataset.model_validate(dataset), columns)
    table = scan.reader.read_all()
    problems = [(problem.column, problem.reason, problem.records) for problem in scan.problems()]
    scan.close()
    return table.schema.types, repr(sorted(table.to_pylist(), key=lambda row: row["id"])), problems


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_values_are_those_that_the_sql_connector_reads(
    shop: SparkSource, database: sa.URL, tmp_path: Path, zone: str
) -> None:
    address = database.render_as_string(hide_password=False)
    direct = SqlSource("shop", SqlSource.Settings.model_validate({"type": "sql", "url": address}), tmp_path)
    names = shop.describe(SparkSource.Dataset.model_validate({"table": "types"})).names

    answers = [_scanned(source, names, table="types", timezone=zone) for source in (shop, direct)]
    direct.close()

    assert answers[0] == answers[1]
    assert len(answers[0][2]) == 3  # the infinite ones are counted


@pytest.mark.parametrize("parts", ["", ", partition: {column: id, parts: 3}", ", partition: {column: paid, parts: 2}"])
def test_a_rule_finds_what_it_finds_with_the_sql_connector(
    shop: SparkSource, url: str, database: sa.URL, tmp_path: Path, parts: str
) -> None:
    sql = f"sources: {{shop: {{type: sql, url: '{database.render_as_string(hide_password=False)}'}}}}\n"
    spark = f"sources: {{shop: {_settings(url, database)}}}\n"
    collected = []

    for name, source, engine, more in (("sql", sql, "pushdown", ""), ("spark", spark, "spark", parts)):
        (tmp_path / name).mkdir()
        dataset = f"datasets: {{orders: {{source: shop, table: public.orders, id: id{more}}}}}\n"
        project = Project(tmp_path / name).write("version: 1\n" + source + dataset + RULES.replace("ENGINE", engine))
        answer = project("run", "--dry-run", "--json")
        assert answer.code == 0, answer.said
        collected.append(answer.json)

    groups = [
        sorted((f["rule"], repr(f["key"]), repr(f["keeper"]), repr(f["surplus"])) for f in report["findings"])
        for report in collected
    ]
    assert groups[0] == groups[1]
    assert len({rule for rule, *_ in groups[0]}) == 2
    assert [rule["engine"] for rule in collected[1]["rules"]] == ["spark", "spark", "embedded"]
    assert [rule["skipped"] for rule in collected[0]["rules"]] == [rule["skipped"] for rule in collected[1]["rules"]]


def test_without_parts_a_table_is_read_by_one_connection_and_then_spread(shop: SparkSource) -> None:
    def connections(**more: Any) -> int:
        dataset = SparkSource.Dataset.model_validate({"table": "seen", **more})
        scan = shop.scan(dataset, ["pid"])
        return len(set(scan.reader.read_all().column("pid").to_pylist()))

    assert connections() == 1
    assert connections(partition={"column": "id", "parts": 3}) == 3


def test_names_are_those_of_the_database(shop: SparkSource) -> None:
    assert shop.datasets() == ["orders", "seen", "slow", "types"]


@pytest.mark.parametrize(
    ("over", "error", "sentence"),
    [
        ({"jdbc": "jdbc:postgresql://127.0.0.1:1/x?password=" + PASSWORD}, SourceUnreachable, "postgresql://127.0.0.1"),
        ({"user": "nobody_of_this_name"}, AccessDenied, "refused access"),
        ({"jdbc": "jdbc:postgresql://127.0.0.1/no_such_database"}, SourceMissing, "no_such_database"),
    ],
)
def test_an_error_of_the_database_is_one_sentence_of_it(
    shop: SparkSource, url: str, database: sa.URL, tmp_path: Path, over: dict[str, Any], error: type, sentence: str
) -> None:
    assert shop.datasets()
    source = _source(tmp_path, url, database, **{"password": PASSWORD, **over})

    with pytest.raises(error) as caught:
        source.describe(SparkSource.Dataset.model_validate({"table": "orders"}))
    source.close()

    assert sentence in str(caught.value)
    assert PASSWORD not in str(caught.value) + repr(source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("dataset", "error", "sentence"),
    [
        ({"table": "nothing"}, DatasetMissing, "has no table nothing"),
        ({"path": "orders.parquet"}, PlaceUnsuitable, "write `table` instead of `path`"),
        ({"table": "orders", "partition": {"column": "ref", "parts": 2}}, PlaceUnsuitable, "not 'ref'"),
    ],
)
def test_a_dataset_that_cannot_be_read_is_told_in_one_sentence(
    shop: SparkSource, dataset: dict[str, Any], error: type, sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        shop.describe(SparkSource.Dataset.model_validate(dataset))


def test_stop_ends_a_read_of_the_database(shop: SparkSource) -> None:
    begin = time.monotonic()
    timer = threading.Timer(5, shop.stop)
    timer.start()

    with pytest.raises(ReadStopped):
        shop.scan(SparkSource.Dataset.model_validate({"table": "slow"}), ["id", "nothing"]).reader.read_all()

    assert time.monotonic() - begin < 25


def test_a_missing_driver_and_a_secret_are_never_a_trace_or_printed(database: sa.URL, tmp_path: Path) -> None:
    """Without the jar no context has the driver, so it is asked in a process of its own."""
    project = Project(tmp_path).write(
        "version: 1\n"
        f"sources: {{shop: {{type: spark, url: 'local[1]', jdbc: '${{SHOP_JDBC}}', user: {database.username}, "
        "password: '${secret:SHOP_PASSWORD}'}}\n"
        "datasets: {orders: {source: shop, table: orders, id: id}}\n"
        "rules: {twice: {kind: duplicates, dataset: orders, key: [ref]}}\n"
    )
    environment = {"SHOP_JDBC": f"{_jdbc(database)}?password={PASSWORD}", "SHOP_PASSWORD": PASSWORD}

    answers = [project.start(*words, **environment).end(300) for words in (("check",), ("explain", "twice"))]

    in_words(answers[0], 3, "needs PostgreSQL's JDBC driver", "spark.jars", lines=12)
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert PASSWORD not in "".join(answer.said for answer in answers)
    assert PASSWORD.encode() not in kept
