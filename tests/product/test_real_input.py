"""One configuration over a real SQLite file, a real CSV and PostgreSQL finds what hand-written SQL finds."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
import sqlalchemy as sa

CONFIGURATION = """
version: 1
sources:
  lite: {{type: sql, url: "sqlite:///{chinook}"}}
  music: {{type: sql, url: "{postgres}"}}
  lists: {{type: files, root: "{sites}"}}
datasets:
  tracks-lite: {{source: lite, table: Track, id: TrackId}}
  tracks: {{source: music, table: Track, id: TrackId}}
  customers: {{source: music, table: Customer, id: CustomerId}}
  entries: {{source: music, table: PlaylistTrack, id: [PlaylistId, TrackId]}}
  sites: {{source: lists, path: sites.csv, id: Id}}
rules:
  track-lite:
    {{kind: duplicates, dataset: tracks-lite, engine: {engine},
      key: [{{Name: [trim, lower]}}, {{Composer: [trim, lower]}}]}}
  track:
    {{kind: duplicates, dataset: tracks, engine: {engine}, key: [{{Name: [trim, lower]}}, {{Composer: [trim, lower]}}]}}
  customer: {{kind: duplicates, dataset: customers, engine: {engine}, key: [{{Email: [trim, lower]}}]}}
  listed-often: {{kind: duplicates, dataset: entries, engine: {engine}, key: [TrackId], minimum: 5}}
  site: {{kind: duplicates, dataset: sites, key: [{{Site name: [trim, lower]}}, {{Phone: [digits]}}]}}
"""

TRACKS = """
with keyed as (select lower(trim("Name")) n, lower(trim("Composer")) c from "Track"
               where "Name" is not null and "Composer" is not null)
select count(*), sum(many) from (select count(*) as many from keyed group by n, c having count(*) > 1) g
"""
CUSTOMERS = """
select count(*), coalesce(sum(many), 0) from (
    select count(*) as many from "Customer" where "Email" is not null group by lower("Email") having count(*) > 1) g
"""
ENTRIES = """
select count(*), sum(many) from (select count(*) as many from "PlaylistTrack" group by "TrackId" having count(*) >= 5) g
"""
SITES = """
with keyed as (select lower(trim("Site name")) n, regexp_replace("Phone", '[^0-9]', '', 'g') p
               from read_csv(?, all_varchar=true))
select count(*), sum(many) from (
    select count(*) as many from keyed where n <> '' and p <> '' group by n, p having count(*) > 1) g
"""


@pytest.fixture
def music(postgres_url: str, shared_data: Path) -> str:
    """The Chinook tables the rules read, copied into PostgreSQL."""
    lite = sa.create_engine(f"sqlite:///{shared_data}/chinook/chinook.sqlite")
    tables = sa.MetaData()
    tables.reflect(lite, only=["Track", "Customer", "PlaylistTrack"], resolve_fks=False)
    target = sa.create_engine(postgres_url)
    for table in tables.tables.values():
        for constraint in list(table.foreign_key_constraints):
            table.constraints.discard(constraint)
        for column in table.columns:
            column.foreign_keys.clear()
            column.type = column.type.as_generic()
    with lite.connect() as source, target.begin() as copy:
        for table in tables.tables.values():
            table.create(copy)
            copy.execute(table.insert(), [dict(r) for r in source.execute(table.select()).mappings()])
    return postgres_url


def reconcile(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "reconcile", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def counts(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Per rule: groups, and records in them."""
    records: dict[str, int] = {}
    for finding in report["findings"]:
        records[finding["rule"]] = records.get(finding["rule"], 0) + 1 + len(finding["surplus"])
    return {r["rule"]: (r["groups"], records.get(r["rule"], 0)) for r in report["rules"]}


@pytest.mark.server
@pytest.mark.parametrize("engine", ["embedded", "pushdown"])
def test_real_databases_and_files_hold_the_duplicates_that_hand_written_sql_finds(
    tmp_path: Path, music: str, shared_data: Path, engine: str
) -> None:
    configuration = CONFIGURATION.format(
        chinook=shared_data / "chinook/chinook.sqlite",
        postgres=music.replace("+psycopg", ""),
        sites=shared_data / "early-childhood",
        engine=engine,
    )
    (tmp_path / "reconcile.yaml").write_text(configuration)
    lite = sqlite3.connect(shared_data / "chinook/chinook.sqlite").execute(TRACKS).fetchone()
    with psycopg.connect(music.replace("+psycopg", "")) as connection:
        track, customer, entries = (connection.execute(q).fetchone() for q in (TRACKS, CUSTOMERS, ENTRIES))  # type: ignore[arg-type]
    with duckdb.connect() as embedded:
        sites = embedded.execute(SITES, [str(shared_data / "early-childhood/sites.csv")]).fetchone()

    done = reconcile(tmp_path, "run", "--json")
    report = json.loads(done.stdout)

    assert [rule["failed"] for rule in report["rules"] if "failed" in rule] == []
    assert done.returncode == 0, done.stderr
    assert counts(report) == {
        "track-lite": lite,
        "track": track,
        "customer": customer,
        "listed-often": entries,
        "site": sites,
    }
    assert {r["rule"]: r["engine"] for r in report["rules"]} == {
        "track-lite": engine,
        "track": engine,
        "customer": engine,
        "listed-often": engine,
        "site": "embedded",
    }
    assert min(groups for groups, _ in (lite, track, entries, sites)) > 0
