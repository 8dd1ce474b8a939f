"""The benchmark of reconciliation at a small size: contenders that answer the same question agree."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import plots
from bench.measure import took
from tests.support.folders import ROOT


@pytest.mark.slow
def test_the_sections_of_reconciliation_run_and_their_contenders_agree(tmp_path: Path) -> None:
    results = tmp_path / "results.md"
    sections = ("tolerance", "exact", "sums", "any-key", "peers")

    done = subprocess.run(
        [sys.executable, "-m", "bench", *sections, "--rows", "20000", "--runs", "1", "--results", str(results)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    page = results.read_text(encoding="utf-8")
    assert len(re.findall(r"^### ", page, re.MULTILINE)) == len(sections)
    assert len(re.findall(r"^Every contender found the same", page, re.MULTILINE)) == 3
    assert "As wanted: Reconcile 10 of 10" in page
    pairs = dict(re.findall(r"^\| (pairs_\w+|reconcile run --dry-run) \| ([\d,]+) \|", page, re.MULTILINE))
    reached = {name: int(count.replace(",", "")) for name, count in pairs.items()}
    assert reached["pairs_merge_asof"] < reached["reconcile run --dry-run"] <= reached["pairs_networkx"]


@pytest.mark.slow
def test_the_front_door_is_measured_beside_an_insert_by_hand_and_with_more_keys() -> None:
    command = [sys.executable, "-m", "bench.guard", "--claims", "5", "--few", "50", "--many", "100"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    ratios = re.findall(r"^\| SQLite \| .* \| (\d+\.\d\d) \|$", done.stdout, re.MULTILINE)
    assert len(ratios) == 3
    assert all(float(ratio) > 0 for ratio in ratios)


@pytest.mark.slow
def test_the_memory_of_a_command_is_that_of_all_its_processes_together(tmp_path: Path) -> None:
    megabytes = 60
    child = f"import time; held = b'x' * {megabytes}_000_000; time.sleep(0.5)"
    parent = (
        "import subprocess, sys\n"
        f"children = [subprocess.Popen([sys.executable, '-c', {child!r}]) for _ in range(2)]\n"
        "for child in children: child.wait()"
    )

    alone, _ = took([sys.executable, "-c", child])
    together, _ = took([sys.executable, "-c", parent])

    assert megabytes < alone.megabytes < 2 * megabytes
    assert 2 * megabytes < together.megabytes < 3 * megabytes


def test_a_plot_shows_the_tables_of_its_sections_and_is_the_same_each_time(tmp_path: Path) -> None:
    page = (
        "# Results\n\n### csv, 1,000 rows\n\n| | seconds | ratio | peak MB | ratio |\n| --- | --- | --- | --- | --- |\n"
        "| polars_over | 3.39 | 1.00 | 2,918 | 1.00 |\n| reconcile run | 5.37 | 1.58 | 589 | 0.20 |\n\n"
        "### serve\n\nNo table.\n"
    )
    results = tmp_path / "results.md"
    results.write_text(page, encoding="utf-8")

    (drawn,) = plots.draw(results, tmp_path / "figures")
    text = drawn.read_text(encoding="utf-8")

    assert plots.read(page)["csv, 1,000 rows"]["reconcile run"] == {
        "seconds": "5.37",
        "ratio": "1.58",
        "peak MB": "589",
    }
    assert drawn.name == "exact-keys.svg"
    assert all(words in text for words in ("csv, 1,000 rows", "polars_over", "reconcile run", "5.37", "2,918", "589"))
    (again,) = plots.draw(results, tmp_path / "again")
    assert again.read_bytes() == drawn.read_bytes()
