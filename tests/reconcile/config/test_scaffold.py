"""`init` writes a project that loads, has duplicates to find, and never overwrites anything."""

import csv
import json
from pathlib import Path

import pytest

from reconcile.config import load
from reconcile.config.scaffold import CONFIG, AlreadyThere, write_project
from reconcile.config.schema import json_schema


def test_what_init_writes_loads_without_a_warning(tmp_path: Path) -> None:
    written = write_project(tmp_path / "new")

    project = load(written[0], {})

    assert project.warnings == ()
    assert list(project.rules) == ["twin-customer", "double-payment"]
    assert all((project.directory / "data" / f"{name}.csv").is_file() for name in project.datasets)


def test_the_sample_is_short_and_commented() -> None:
    lines = CONFIG.splitlines()

    assert len(lines) <= 40
    assert sum("#" in line for line in lines) >= 5
    assert lines[0] == "# yaml-language-server: $schema=reconcile.schema.json"


def test_the_schema_beside_it_is_the_schema_of_this_version(tmp_path: Path) -> None:
    write_project(tmp_path)

    assert json.loads((tmp_path / "reconcile.schema.json").read_text()) == json_schema()


def test_the_sample_data_holds_duplicates(tmp_path: Path) -> None:
    write_project(tmp_path)
    rows = list(csv.DictReader((tmp_path / "data" / "payments.csv").open()))

    paid = [(row["order_id"], row["amount"], row["currency"]) for row in rows if row["status"] == "succeeded"]

    assert len(paid) - len(set(paid)) == 4
    assert len({row["id"] for row in rows}) == len(rows)


@pytest.mark.parametrize("taken", ["reconcile.yaml", "data/payments.csv", "reconcile.schema.json"])
def test_a_file_that_is_there_is_never_overwritten(taken: str, tmp_path: Path) -> None:
    (tmp_path / taken).parent.mkdir(exist_ok=True)
    (tmp_path / taken).write_text("mine")

    with pytest.raises(AlreadyThere, match="already exists, so nothing was written"):
        write_project(tmp_path)

    assert (tmp_path / taken).read_text() == "mine"
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [Path(taken).name]
