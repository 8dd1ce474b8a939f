"""Rules over Spark on a real cluster: the same findings as in plain Python, of one moment, and errors for people."""

import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from connectors.errors import DatasetMissing, QueryRefused, ReadStopped
from connectors.spark.source import SparkSource
from rules.functions import dialect
from tests.connectors.spark.cluster import cluster
from tests.product.oracle.check import compare
from tests.product.oracle.engines import Home
from tests.product.oracle.random_pairs import random_case

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]
PAIRS = int(os.environ.get("RECONCILE_ORACLE_PAIRS") or 40)
SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert dialect("spark").name == "spark"  # importing the rules makes the dialect known
    with cluster(tmp_path_factory.mktemp("spark")) as address:
        yield address


@pytest.fixture
def source(url: str, tmp_path: Path) -> Iterator[SparkSource]:
    settings = SparkSource.Settings.model_validate({"type": "spark", "url": url})
    opened = SparkSource("lake", settings, tmp_path)
    yield opened
    opened.close()


def _dataset(path: str) -> object:
    return SparkSource.Dataset.model_validate({"path": path})


def test_every_rule_over_every_table_says_what_the_docs_say(url: str, tmp_path: Path) -> None:
    print(f"\nspark: RECONCILE_SEED={SEED} RECONCILE_ORACLE_PAIRS={PAIRS}")
    tally = compare(tmp_path, [random_case(seed) for seed in range(SEED, SEED + PAIRS)], Home("spark", "spark", url))
    print({"pairs": tally.pairs, "in Spark": tally.pushed, "with groups": tally.with_groups})

    assert not tally.differences, "\n\n".join(map(str, tally.differences[:5]))
    assert tally.pushed >= 0.15 * PAIRS
    assert tally.with_groups >= 0.5 * tally.pairs


def test_a_snapshot_shows_one_moment_although_the_files_change(source: SparkSource, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2], "ref": ["a", "a"]}), tmp_path / "orders.parquet")
    dataset = _dataset("orders.parquet")
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
            "id": pa.array([1, 2, 3], pa.int32()),
            "text": ["a\\'`", None, "Ä\u00a0"],
            "amount": pa.array(["9007199254740993.01", None, "-0.10"]).cast(pa.decimal128(38, 10)),
            "ratio": pa.array([float("nan"), -0.0, None]),
            "at": pa.array([0, 1_729_992_600_123_456, None], pa.timestamp("us", "UTC")),
            "wall": pa.array([1_729_992_600_000_001, None, 0], pa.timestamp("us")),
            "raw": pa.array([b"\x00\xff", b"", None]),
        }
    )
    pq.write_table(table, tmp_path / "types.parquet")
    dataset = SparkSource.Dataset.model_validate({"path": "types.parquet", "timezone": "Europe/Berlin"})

    scan = source.scan(dataset, table.column_names)
    rows = scan.reader.read_all()
    scan.close()

    assert {f.name: str(f.type) for f in rows.schema} == {
        "id": "int64",
        "text": "string",
        "amount": "decimal128(38, 10)",
        "ratio": "double",
        "at": "timestamp[us, tz=UTC]",
        "wall": "timestamp[us, tz=UTC]",
        "raw": "binary",
    }
    for name in ("id", "text", "amount", "at", "raw"):
        assert rows.column(name).to_pylist() == table.column(name).to_pylist()
    assert [repr(value) for value in rows.column("ratio").to_pylist()] == ["nan", "-0.0", "None"]
    assert str(rows.column("wall").to_pylist()[0]) == "2024-10-26 23:30:00.000001+00:00"


def test_errors_are_one_sentence_without_a_trace_of_java(source: SparkSource, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("this is no Parquet")

    with pytest.raises(DatasetMissing, match=r"has no path missing\.parquet"):
        source.describe(_dataset("missing.parquet"))
    with pytest.raises(QueryRefused) as caught:
        source.describe(_dataset("broken.parquet"))
    assert "\n" not in str(caught.value)
    assert "at org." not in str(caught.value)


def test_stop_cancels_a_computation_on_the_cluster(source: SparkSource, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": list(range(400_000))}), tmp_path / "many.parquet")
    dataset = _dataset("many.parquet")
    left, right = source.relation(dataset).alias("a"), source.relation(dataset).alias("b")
    endless = sa.select(sa.func.count().label("records")).where(sa.func.sqrt(left.c.id * right.c.id) < -1)
    begin = time.monotonic()
    timer = threading.Timer(15, source.stop)

    with source.snapshot() as snapshot:
        source.keep(snapshot, dataset, ("id",))
        snapshot.whole(sa.select(sa.func.count().label("n")).select_from(source.relation(dataset)))
        timer.start()
        with pytest.raises(ReadStopped):
            snapshot.whole(endless)

    assert time.monotonic() - begin < 120  # uncancelled it would take days
