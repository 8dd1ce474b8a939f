"""Whatever a database does by itself, a cleaning is what its plan says, and its undo brings back what was there.

Random tables with foreign keys of every kind, collations, REPLACE, row-level security and triggers, against random
rules. RECONCILE_SCHEMAS is how many a database (12; `make chaos` goes on for minutes), RECONCILE_SEED where they begin
(printed). A failure prints the smallest case that breaks the same promise.
"""

import itertools
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.reconcile.cleaning.any_schema.case import HOMES, MAIN, TRAIL, Case, Server
from tests.reconcile.cleaning.any_schema.check import Bench, Failure, Tally, failure_of, smallest
from tests.reconcile.cleaning.any_schema.ddl import Database, MariaDb, Postgres, Sqlite
from tests.reconcile.cleaning.any_schema.random_cases import random_case
from tests.support.chance import REPORT, lasting

SCHEMAS = int(os.environ.get("RECONCILE_SCHEMAS") or 12)
SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))
SHOWN = 5
"""So many failures are made smaller; the others are counted, with their seeds."""
CLEANED = 0.25
"""So many of the schemas at least are really cleaned: else the rules of this test are refused and prove nothing."""
UNDONE = 0.7
"""So many of the cleanings at least are really taken back."""
UNMAKEABLE = 0.1
ENLARGED = 3
"""Half of all schemas are cleaned, but sometimes only a fifth of 12: a sample below the shares grows to this."""


@pytest.fixture(
    params=["sqlite", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgresql", "mariadb"))]
)
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    nobody = tmp_path / "nobody.pem"
    nobody.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(nobody))  # PyMySQL reads all of the system's for each connection, in 35 ms
    value: Any = {"sqlite": Sqlite, "postgresql": Postgres, "mariadb": MariaDb}[request.param]
    urls = {"postgresql": "postgres_url", "mariadb": "mariadb_url"}
    where = tmp_path if request.param == "sqlite" else request.getfixturevalue(urls[request.param])
    database: Database = value(where)
    yield Bench(request.param, database, tmp_path)
    database.close()


@pytest.mark.chaos
@pytest.mark.timeout(7200)
def test_every_table_is_what_the_plan_says_after_cleaning_and_as_before_after_undo(bench: Bench) -> None:
    print(f"\n{bench.server}: RECONCILE_SEED={SEED} RECONCILE_SCHEMAS={SCHEMAS}")
    tally = Tally()
    seeds = itertools.count(SEED)
    broken = _draw(bench, seeds, SCHEMAS, tally)
    if not _proves_something(tally):
        broken += _draw(bench, seeds, ENLARGED * SCHEMAS, tally)
    _report(bench.server, tally)
    shown = [str(smallest(bench, failure)) for failure in broken[:SHOWN]]
    rest = [f"seed {failure.case.seed}: {failure.broken.kind}" for failure in broken[SHOWN:]]

    assert not broken, "\n\n".join([f"{len(broken)} of {tally.schemas} schemas", *shown, "\n".join(rest)])
    assert _proves_something(tally), tally


def _draw(bench: Bench, seeds: Iterator[int], schemas: int, tally: Tally) -> list[Failure]:
    """Check cases until the tally has so many schemas; return those that broke a promise."""
    broken = []
    is_over = lasting(0.15, lambda: tally.schemas >= schemas)
    while not is_over():
        case = random_case(bench.server, next(seeds))
        error = failure_of(bench, case, tally)
        if error is not None:
            broken.append(Failure(case, error))
    return broken


def _proves_something(tally: Tally) -> bool:
    is_made, is_cleaned = tally.unmakeable <= UNMAKEABLE * tally.schemas, tally.cleaned >= CLEANED * tally.schemas
    return is_made and is_cleaned and tally.undone >= UNDONE * tally.cleaned


def _report(server: Server, tally: Tally) -> None:
    counts = {name: getattr(tally, name) for name in ("schemas", "cleaned", "undone", "unplanned")}
    line = {"suite": f"any schema, {server}", **counts, "verified": True}
    print(line, f"{tally.unmakeable} could not be made, {tally.planned} planned")
    for sentence, number in tally.refused.most_common():
        print(f"{number:5} {sentence}")
    if REPORT:
        with Path(REPORT).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("server", get_args(Server))
def test_a_seed_means_the_same_case_always_and_many_seeds_mean_every_feature(server: Server) -> None:
    cases = [random_case(server, seed) for seed in range(300)]

    assert cases == [random_case(server, seed) for seed in range(300)]
    features = {feature for case in cases for feature in _features(case)}
    assert features >= _COMMON | _ONLY[server]


_COMMON = {
    *("delete", "set", "merge", "move", "refuse", "repoint", "capture", "self", "composite", "declared", "known"),
    *("NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "on update CASCADE", "on update SET NULL"),
    *("log", "touch", "touch_unless", "veto", "keep_old", "revert", "delete_other", "change_other"),
    *("a trigger's trigger", "refers to others"),
}
_ONLY: dict[Server, set[str]] = {
    "postgresql": {
        "SET DEFAULT",
        "deferrable",
        "hidden",
        "reinsert",
        "nocase",
        "citext",
        "number",
        "uuid",
        "limited",
        "at commit",
    },
    "mariadb": {"not unique", "left part", "nocase", "binary_word", "money", "limited", "clock"},
    "sqlite": {
        "SET DEFAULT",
        "column replaces",
        "table replaces",
        "key replaces",
        "null replaces",
        "nocase",
        "rtrim",
        "rowless",
    },
}


def _features(case: Case) -> Iterator[str]:
    yield from (case.clean["action"], case.clean["references"], case.clean.get("triggers", ""))
    yield from (trigger.kind for trigger in case.triggers)
    yield from ("a trigger's trigger" for trigger in case.triggers if trigger.table == TRAIL)
    yield from ("at commit" for trigger in case.triggers if trigger.deferred)
    yield from (["declared"] if case.links else []) + (["limited"] if case.limited else [])
    for table in case.tables:
        yield from (column.type for column in table.columns)
        yield from ["key replaces"] if table.pk_conflict else []
        yield from (["hidden"] if table.hidden else []) + (["rowless"] if table.without_rowid else [])
        yield from (
            ["refers to others"] if table.name == MAIN and any(link.to == HOMES for link in table.foreign_keys) else []
        )
        yield from ("null replaces" for column in table.columns if column.on_conflict)
        for key in table.keys:
            if key.on_conflict:
                yield "column replaces" if key.inline and len(key.columns) == 1 else "table replaces"
        for link in table.foreign_keys:
            keys = case.table(link.to).keys
            yield from (link.on_delete, f"on update {link.on_update}")
            yield from (["self"] if link.to == table.name else []) + (["deferrable"] if link.deferrable else [])
            yield from ["composite"] if len(link.columns) > 1 else []
            yield from ("not unique" for key in keys if key.columns == link.to_columns and not key.unique)
            yield from ("left part" for key in keys if key.columns[:1] == link.to_columns and len(key.columns) > 1)
