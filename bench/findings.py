"""What findings cost: a first run over messy records, one after nothing changed, and one after a few records did."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import RECONCILE, Took, took

CONFIGURATION = """
version: 1
sources: {files: {type: files, root: .}}
datasets:
  charges:
    source: files
    path: charges.csv
    id: id
    columns: {amount: decimal}
    money: {amount: amount, currency: EUR}
rules: {twin: {kind: duplicates, dataset: charges, key: [{email: [trim, lower]}], max_share: SHARE}}
"""
TIMES = 3
"""Records of a group."""
CHANGED = 1_000
"""Groups, at most, of which a record changes."""


def findings(groups: int) -> str:
    """Whole runs over that many groups, the last of which stops because its key identifies nothing."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        _write(folder, groups, 0)
        rows = [("first run", _run(folder, "100%"))]
        _write(folder, groups, 0, order=2)  # a file with the same content is not even read
        rows.append(("no group changed", _run(folder, "100%")))
        rows.append(("no group changed, dry run", _run(folder, "100%", "--dry-run")))
        changed = min(CHANGED, groups // 10)
        _write(folder, groups, changed)
        rows.append((f"{changed:,} groups changed", _run(folder, "100%")))
        rows.append(("`max_share: 50%`", _run(folder, "50%")))
    lines = [f"| {what} | {cost.seconds:.1f} | {cost.processor:.1f} | {cost.megabytes:.0f} |" for what, cost in rows]
    return "\n".join(
        [f"{groups:,} groups of {TIMES} records in a CSV:", "", *_HEAD, *lines],
    )


_HEAD = ("| | seconds | CPU seconds | peak MB |", "| --- | --- | --- | --- |")


def section(groups: int, most: int) -> str:
    """The costs for so many groups, and for the most."""
    return "### findings\n\n" + "\n\n".join(findings(number) for number in dict.fromkeys((groups, most)))


def _run(folder: Path, share: str, *options: str) -> Took:
    (folder / "reconcile.yaml").write_text(CONFIGURATION.replace("SHARE", share))
    cost, _ = took([*RECONCILE, "run", "--quiet", *options], str(folder), (0, 3))
    return cost


def _write(folder: Path, groups: int, changed: int, order: int = 1) -> None:
    with (folder / "charges.csv").open("w") as file:
        file.write("id,email,name,amount\n")
        file.writelines(_lines(groups, changed, order))


def _lines(groups: int, changed: int, seed: int) -> Iterator[str]:
    order = list(range(TIMES * groups))
    random.Random(seed).shuffle(order)
    for n in order:
        number = n % groups
        amount = 1 if n < changed else n % 997
        yield f"{n},person{number}@example.com,Person {number},{amount}.50\n"
