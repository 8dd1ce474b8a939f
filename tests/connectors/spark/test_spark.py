"""Rules over Spark, as far as no cluster is needed: settings, errors, and the SQL that is sent."""

import builtins
import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pydantic import ValidationError

from connectors.errors import (
    AccessDenied,
    DatasetMissing,
    DriverMissing,
    QueryRefused,
    SourceUnreachable,
    StatementTimeout,
)
from connectors.spark.errors import (
    JdbcDriverMissing,
    connector_error,
    database_address,
    database_error,
    database_reason,
)
from connectors.spark.source import SparkSource, slices
from connectors.sql.errors import ErrorContext
from rules.functions import render, strip

PLACE = ErrorContext("lake", "spark://127.0.0.1:1", "spark", "1h")


def _source(folder: Path, **settings: str) -> SparkSource:
    return SparkSource("lake", SparkSource.Settings.model_validate({"type": "spark", **settings}), folder)


@pytest.mark.parametrize("url", ["http://host", "spark://", "spark", "local[x]"])
def test_an_address_that_is_no_cluster_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="not the address of a cluster"):
        SparkSource.Settings.model_validate({"type": "spark", "url": url})


@pytest.mark.parametrize("place", [{}, {"table": "t", "path": "p"}])
def test_a_dataset_is_a_table_or_a_path(place: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="either a `table` or a `path`"):
        SparkSource.Dataset.model_validate(place)


@pytest.mark.parametrize("settings", [{"jdbc": "jdbc:mysql://host/shop?password=secret"}, {"user": "reader"}])
def test_a_database_is_postgresql_and_is_named_beside_its_user(settings: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as caught:
        SparkSource.Settings.model_validate({"type": "spark", **settings})

    assert "jdbc" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_address_of_a_database_holds_no_secret() -> None:
    url = "jdbc:postgresql://me:hidden@db.example.com:5433/shop?user=me&password=hidden"

    assert database_address(url) == "postgresql://db.example.com:5433/shop"


@pytest.mark.parametrize(
    ("reason", "error", "sentence"),
    [
        ("org.postgresql.Driver", JdbcDriverMissing, "spark.jars"),
        ('ERROR: relation "orders" does not exist', DatasetMissing, "has no table orders"),
        ("ERROR: permission denied for table orders", AccessDenied, "permission denied"),
        ("Connection to 127.0.0.1:1 refused. Check that", SourceUnreachable, "did not answer at postgresql://db"),
        ("ERROR: canceling statement due to user request", StatementTimeout, "after 1h"),
        ("Bad value for type BigDecimal : NaN", QueryRefused, "Bad value for type BigDecimal. Nothing"),
    ],
)
def test_what_a_database_says_through_spark_is_one_sentence_of_it(
    reason: str, error: type[Exception], sentence: str
) -> None:
    java = f"An error occurred while calling o4.load.\n: java.lang.Exception: x\norg.PSQLException: {reason}\n\tat"
    answer = database_reason(RuntimeError(java))

    told = database_error(answer or "", replace(PLACE, where="postgresql://db"), "table orders")

    assert answer == reason
    assert isinstance(told, error)
    assert sentence in str(told)


def test_a_missing_package_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(DriverMissing, match=r"needs pyspark, which is not installed: pip install 'reconcile-runner\["):
        _source(tmp_path, url="local[2]").describe(SparkSource.Dataset.model_validate({"table": "t"}))


def test_a_text_in_a_statement_is_the_text_that_spark_reads() -> None:
    sql = render(sa.select(sa.literal("it's \\ `so`")), "spark")

    assert sql == "SELECT 'it\\'s \\\\ `so`' AS `anon_1`"


def test_values_and_types_are_written_as_spark_reads_them() -> None:
    name = sa.column("a`b", sa.Text())
    moment = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
    columns = [sa.cast(name, sa.Text()), sa.cast(name, sa.Numeric()), sa.cast(name, sa.DateTime(timezone=True))]

    sql = render(sa.select(*columns, strip(name), sa.literal(moment), sa.literal(0.5), sa.true()), "spark")

    assert "CAST(`a``b` AS STRING)" in sql
    assert "AS DECIMAL(38, 10))" in sql
    assert "AS TIMESTAMP)" in sql
    assert "trim(BOTH '" in sql
    assert "TIMESTAMP'2026-01-31 12:00:00+00:00'" in sql
    assert "CAST('0.5' AS DOUBLE)" in sql
    assert "true" in sql


def test_records_of_an_example_become_constants_of_the_statement(tmp_path: Path) -> None:
    relation = sa.table("orders", sa.column("id", sa.BigInteger()), sa.column("ref", sa.Text()))
    given = _source(tmp_path, url="local[2]").stand_in(relation, pa.table({"id": [1, 2], "ref": ["a'", None]}))

    sql = render(sa.select(given.c.ref), "spark")

    assert "CAST('a\\'' AS STRING) AS `ref`" in sql
    assert "UNION ALL" in sql


def test_an_error_of_java_is_one_sentence_without_values_and_trace() -> None:
    text = (
        "An error occurred while calling o42.sql.\n: org.apache.spark.SparkException: [CAST_INVALID_INPUT] The value "
        "'4711' cannot be cast. SQLSTATE: 22018\n\tat org.apache.spark.sql.Dataset.collect(Dataset.scala:1)\n"
    )

    error = connector_error(RuntimeError(text), PLACE, late=False)

    assert isinstance(error, QueryRefused)
    assert str(error).startswith("Source 'lake' refused the query: [CAST_INVALID_INPUT] The value … cannot be cast. N")
    assert "4711" not in str(error)
    assert "\n" not in str(error)


def test_a_dataset_is_read_in_slices_of_whole_partitions() -> None:
    assert list(slices([2, 0, 1, 3], [300_000, 200_000, 300_000, 900_000])) == [[0, 1], [2], [3]]


def test_a_silent_address_is_told_at_once(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")

    with pytest.raises(SourceUnreachable, match=r"Source 'lake' did not answer at spark://127\.0\.0\.1:1"):
        _source(tmp_path, url="spark://127.0.0.1:1").datasets()
