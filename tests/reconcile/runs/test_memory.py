"""How much memory a run takes: some for what it works with, and little for each group it finds.

`make chaos` does the same with more groups and plans.
"""

import json
import os
import re
import sqlite3
import sys
from pathlib import Path

import pytest

from reconcile.cli import main
from rules.values.packed import BLOCK, Packed
from tests.support.chance import few as in_tier
from tests.support.forked import SERVER

MORE = in_tier(32, 45)
"""Megabytes that ten times the groups may take in addition, without what SQLite keeps of the state."""
OF_STATE = in_tier(40, 64)
"""Megabytes of the state's file that SQLite keeps in memory while many rows are written."""
GROUPS, PLANS = in_tier(1_000, 2_500), in_tier(300, 800)
"""How many the small shop has."""
CONFIGURATION = """
version: 1
state: "sqlite:///state.db"
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets: {customers: {source: shop, table: customers, id: id}}
rules: {twin: {kind: duplicates, dataset: customers, key: [email], max_share: 100%, clean: {action: delete}}}
channels: {ops: {type: file, path: told.txt}}
"""


def megabytes(folder: Path, *arguments: str) -> tuple[float, str]:
    """The most memory that a run took, and what it printed."""
    output = folder / "output"
    run = SERVER.Process(target=_run, args=(folder, ("run", "--quiet", *arguments), output))
    run.start()
    run.join()
    assert run.exitcode == 0
    return float(output.with_suffix(".peak").read_text()), output.read_text()


def _run(folder: Path, words: tuple[str, ...], output: Path) -> None:
    os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    os.chdir(folder)
    sys.argv = ["reconcile", *words]
    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    sys.stdout.flush()
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert peak is not None
    output.with_suffix(".peak").write_text(str(int(peak[1]) / 1024))
    os._exit(0 if not code else 1)


def shop(folder: Path, groups: int, *, cleaned: bool) -> Path:
    """A shop in which so many customers appear twice."""
    folder.mkdir()
    (folder / "reconcile.yaml").write_text(
        CONFIGURATION if cleaned else CONFIGURATION.replace(", clean: {action: delete}", "")
    )
    customers = ((n, f"person{n // 2}@example.com") for n in range(2 * groups))
    with sqlite3.connect(folder / "shop.db") as db:
        db.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT NOT NULL)")
        db.executemany("INSERT INTO customers VALUES (?, ?)", customers)
    return folder


def change_all(folder: Path) -> None:
    with sqlite3.connect(folder / "shop.db") as db:
        db.execute("UPDATE customers SET email = email || id")


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_times_the_groups_take_little_more_memory(tmp_path: Path) -> None:
    """Those a dry run finds, new ones, known ones, those listed as JSON, and those that are gone."""
    few, many = (
        shop(tmp_path / "few", GROUPS, cleaned=False),
        shop(tmp_path / "many", 10 * GROUPS, cleaned=False),
    )

    for arguments in (("--dry-run", "--json"), (), (), ("--dry-run", "--json", "--all"), ("--json", "--all")):
        (small, _), (large, shown) = megabytes(few, *arguments), megabytes(many, *arguments)
        assert large - small < MORE + (0 if "--dry-run" in arguments else OF_STATE)
    assert len(json.loads(shown)["findings"]) == 10 * GROUPS
    change_all(few)
    change_all(many)
    (small, _), (large, shown) = megabytes(few), megabytes(many)
    assert large - small < MORE + OF_STATE
    assert re.search(rf"twin .* {10 * GROUPS:,} +{20 * GROUPS:,}", shown)


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_times_the_plans_take_little_more_memory(tmp_path: Path) -> None:
    few, many = shop(tmp_path / "few", PLANS, cleaned=True), shop(tmp_path / "many", 10 * PLANS, cleaned=True)

    (small, _), (large, would) = megabytes(few, "--dry-run"), megabytes(many, "--dry-run")
    assert large - small < MORE
    (small, _), (large, shown) = megabytes(few), megabytes(many)

    assert large - small < MORE + OF_STATE
    assert f"twin: {10 * PLANS:,} would be proposed" in would
    assert f"twin: {10 * PLANS:,} proposed" in shown
    assert "notified ops" in shown


def test_what_is_packed_is_a_sequence_like_any_other() -> None:
    values = [{"n": n} for n in range(2 * BLOCK + 7)]
    packed = Packed(values)

    assert packed == values
    assert packed != values[:-1]
    assert values == list(packed)
    assert (len(packed), len(Packed()), bool(Packed())) == (len(values), 0, False)
    for place in (0, BLOCK - 1, BLOCK, 2 * BLOCK, -1, -BLOCK):
        assert packed[place] == values[place]
    assert packed[BLOCK - 1 : BLOCK + 2] == values[BLOCK - 1 : BLOCK + 2]
    with pytest.raises(IndexError):
        packed[len(values)]
    assert repr(Packed([1, 2])) == "(1, 2)"
