"""Rules over a Spark Connect server: the same findings as in plain Python, of one moment, and errors for people."""

import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from connectors.errors import DatasetMissing, QueryRefused, ReadStopped, SourceUnreachable, StatementTimeout
from connectors.spark.errors import JdbcDriverMissing
from connectors.spark.source import SparkSource
from rules.functions import dialect
from tests.connectors.spark.cluster import connect, driver
from tests.product.oracle.check import compare
from tests.product.oracle.engines import Home
from tests.product.oracle.random_pairs import random_case
from tests.support.servers import emptied, execute

pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]
PAIRS = int(os.environ.get("RECONCILE_ORACLE_PAIRS") or 40)
SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without a JDBC driver."""
    assert dialect("spark").name == "spark"  # importing the rules makes the dialect known
    with connect(tmp_path_factory.mktemp("connect"), "local[2]") as address:
        yield address


@pytest.fixture
def source(url: str, tmp_path: Path) -> Iterator[SparkSource]:
    opened = _source(tmp_path, url=url)
    yield opened
    opened.close()


def _source(folder: Path, **settings: object) -> SparkSource:
    return SparkSource("lake", SparkSource.Settings.model_validate({"type": "spark", **settings}), folder)


def _dataset(**place: object) -> Any:
    return SparkSource.Dataset.model_validate(place)


def test_every_rule_over_every_table_says_what_the_docs_say(url: str, tmp_path: Path) -> None:
    print(f"\nSpark Connect: RECONCILE_SEED={SEED} RECONCILE_ORACLE_PAIRS={PAIRS}")
    tally = compare(tmp_path, [random_case(seed) for seed in range(SEED, SEED + PAIRS)], Home("spark", "spark", url))
    print({"pairs": tally.pairs, "in Spark": tally.pushed, "with groups": tally.with_groups})

    assert not tally.differences, "\n\n".join(map(str, tally.differences[:5]))
    assert tally.pushed >= 0.15 * PAIRS
    assert tally.with_groups >= 0.5 * tally.pairs


def test_a_snapshot_shows_one_moment_although_the_files_change(source: SparkSource, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2], "ref": ["a", "a"]}), tmp_path / "orders.parquet")
    dataset = _dataset(path="orders.parquet")
    relation = source.relation(dataset)
    count = sa.select(sa.func.count().label("records"), sa.func.min(relation.c.ref, type_=sa.Text()).label("ref"))

    with source.snapshot() as snapshot:
        source.keep(snapshot, dataset, ("id", "ref"))
        before = snapshot.whole(count.select_from(relation)).to_pylist()
        pq.write_table(pa.table({"id": [3], "ref": ["b"]}), tmp_path / "orders.parquet")
        after = snapshot.whole(count.select_from(relation)).to_pylist()

    assert before == after == [{"records": 2, "ref": "a"}]


def test_every_type_is_read_exactly(source: SparkSource, tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["a\\'`", None, "Ä\u00a0"],
            "amount": pa.array(["9007199254740993.01", None, "-0.10"]).cast(pa.decimal128(38, 10)),
            "at": pa.array([0, 1_729_992_600_123_456, None], pa.timestamp("us", "UTC")),
            "wall": pa.array([1_729_992_600_000_001, None, 0], pa.timestamp("us")),
            "raw": pa.array([b"\x00\xff", b"", None]),
            "list": pa.array([[1, 2], None, []]),
        }
    )
    pq.write_table(table, tmp_path / "types.parquet")

    scan = source.scan(_dataset(path="types.parquet", timezone="Europe/Berlin"), table.column_names)
    rows = scan.reader.read_all()
    scan.close()

    for name in ("text", "amount", "at", "raw"):
        assert rows.column(name).to_pylist() == table.column(name).to_pylist()
    assert str(rows.column("wall").to_pylist()[0]) == "2024-10-26 23:30:00.000001+00:00"
    assert rows.column("list").to_pylist() == ["[1,2]", None, "[]"]


def test_errors_are_one_sentence_without_a_trace(source: SparkSource, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("this is no Parquet")

    with pytest.raises(DatasetMissing, match=r"has no path missing\.parquet"):
        source.describe(_dataset(path="missing.parquet"))
    with pytest.raises(DatasetMissing, match="has no table nothing"):
        source.describe(_dataset(table="nothing"))
    with pytest.raises(QueryRefused) as caught:
        source.describe(_dataset(path="broken.parquet"))
    assert "\n" not in str(caught.value)
    assert "at org." not in str(caught.value)
    assert source.datasets() == []


def test_a_server_that_does_not_answer_is_told_at_once(tmp_path: Path) -> None:
    silent = _source(tmp_path, url="sc://127.0.0.1:1/;token=hidden")

    with pytest.raises(SourceUnreachable, match=r"did not answer at sc://127\.0\.0\.1:1") as caught:
        silent.datasets()

    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(("limit", "error"), [("1h", ReadStopped), ("15s", StatementTimeout)])
def test_stop_and_the_time_limit_cancel_a_computation_on_the_server(
    url: str, tmp_path: Path, limit: str, error: type[Exception]
) -> None:
    pq.write_table(pa.table({"id": list(range(400_000))}), tmp_path / "many.parquet")
    source, dataset = _source(tmp_path, url=url, statement_timeout=limit), _dataset(path="many.parquet")
    left, right = source.relation(dataset).alias("a"), source.relation(dataset).alias("b")
    endless = sa.select(sa.func.count().label("records")).where(sa.func.sqrt(left.c.id * right.c.id) < -1)
    begin = time.monotonic()
    timer = threading.Timer(10, source.stop)

    with source.snapshot() as snapshot:
        source.keep(snapshot, dataset, ("id",))
        snapshot.whole(sa.select(sa.func.count().label("n")).select_from(source.relation(dataset)))
        if limit == "1h":
            timer.start()
        with pytest.raises(error):
            snapshot.whole(endless)
    source.close()

    assert time.monotonic() - begin < 120  # uncancelled it would take days


@pytest.mark.server
def test_the_server_reads_postgresql_if_it_has_the_driver(url: str, postgres_server: str, tmp_path: Path) -> None:
    emptied(postgres_server)
    execute(postgres_server, "create table orders as select i as id, i / 2 as ref from generate_series(1, 1000) i")
    database = sa.make_url(postgres_server)
    jdbc = f"jdbc:postgresql://{database.host}:{database.port or 5432}/{database.database}"
    settings = {
        "jdbc": jdbc,
        "user": database.username,
        **({"password": database.password} if database.password else {}),
    }
    dataset = _dataset(table="orders")

    without = _source(tmp_path, url=url, **settings)
    with pytest.raises(JdbcDriverMissing, match="with Spark Connect to the server"):
        without.describe(dataset)
    without.close()
    with connect(tmp_path, "local[2]", "--jars", driver()) as address:
        source = _source(tmp_path, url=address, **settings)
        scan = source.scan(dataset, ["id", "ref"])
        rows = scan.reader.read_all()
        scan.close()
        with pytest.raises(DatasetMissing):
            source.describe(_dataset(table="nothing"))
        unreachable = _source(tmp_path, url=address, **{**settings, "jdbc": "jdbc:postgresql://127.0.0.1:1/x"})
        with pytest.raises(SourceUnreachable, match=r"did not answer at postgresql://127\.0\.0\.1:1"):
            unreachable.describe(dataset)
        unreachable.close()
        source.close()

    assert rows.num_rows == 1000
    assert sum(rows.column("ref").to_pylist()) == sum(i // 2 for i in range(1, 1001))
