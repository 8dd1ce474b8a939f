"""Records with ids at the limits of their types are found, planned, cleaned and restored like any other."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.world import DELETE, World

IDS: dict[str, tuple[tuple[str, tuple[Any, Any]], ...]] = {
    "sqlite": (
        ("BIGINT", (-(2**63), 2**63 - 1)),
        ("VARCHAR(40)", ("-9223372036854775808", "-9223372036854775809")),
        ("VARCHAR(40)", ("NaN", "-0")),
    ),
    "postgresql": (
        ("BIGINT", (-(2**63), 2**63 - 1)),
        ("NUMERIC(38, 0)", ("-" + "9" * 38, "9" * 38)),
        ("DATE", ("0001-01-01", "9999-12-31")),
    ),
    "mariadb": (("BIGINT", (-(2**63), 0)), ("BIGINT UNSIGNED", (2**64 - 1, 2**63))),
}
CASES = [
    pytest.param(name, kind, pair, marks=[] if name == "sqlite" else [pytest.mark.server])
    for name, cases in IDS.items()
    for kind, pair in cases
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "pair"), CASES, ids=lambda value: str(value)[:24])
def test_records_with_extreme_ids_are_cleaned_and_restored(
    name: str, kind: str, pair: tuple[Any, Any], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    urls = {"postgresql": "postgres_url", "mariadb": "mariadb_url"}
    url = request.getfixturevalue(urls[name]) if name in urls else None
    (tmp_path / "w").mkdir()
    world = World(tmp_path / "w", {"twins": DELETE}, **({} if url is None else {"url": url}))
    world.shop.sql(
        f"CREATE TABLE customers (id {kind} NOT NULL PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))",
        *(f"INSERT INTO customers VALUES ('{number}', 'a@x', 'n')" for number in pair),
    )
    before = world.shop.tables("customers")
    world.run()

    answer = world.approve(world.only())

    assert answer.ok, answer.sentence
    assert len(world.shop.rows()) == 1
    world.undo(world.only())
    assert world.shop.tables("customers") == before
    world.shop.close()


def test_an_instant_far_outside_the_calendar_counts_as_empty_and_is_reported(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", twins={})
    world.shop.sql("CREATE TABLE seen (id INTEGER PRIMARY KEY, at BIGINT)")
    world.shop.sql(*(f"INSERT INTO seen VALUES ({n}, {at})" for n, at in enumerate((-(2**63), 2**63 - 1, 60, 60))))
    world.config["datasets"] = {"seen": {"source": "shop", "table": "seen", "id": "id", "columns": {"at": "instant"}}}
    world.rules = {"twins": {"dataset": "seen", "key": ["at"]}}

    [outcome] = world.run().rules

    assert outcome.skipped[0].records == 2
    assert len(world.findings()) == 1
