"""The benchmark of reconciliation at a small size: contenders that answer the same question agree."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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
