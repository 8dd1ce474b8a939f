"""What datacompy and reladiff report of small situations whose right answer is known, next to Reconcile."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from bench import ledgers
from bench.measure import CONTENDERS, RECONCILE, contender, forms, interleave, reconcile, table
from bench.reconciliation import KEYS

PYTHON = os.environ.get("RECONCILE_BENCH_PEERS", sys.executable)
"""The Python of an environment with datacompy and reladiff, which need older pandas and polars than this project."""
PEERS = ("datacompy", "reladiff")
Row = tuple[int, int | None, str, str]
"""An id, a key, a day and an amount."""


@dataclass(frozen=True)
class Situation:
    """Records of both sides, the rule's settings beside `key`, and the findings that a person would want."""

    name: str
    left: tuple[Row, ...]
    right: tuple[Row, ...]
    wanted: Mapping[str, int]
    settings: str


_DAY, _NEXT, _LATER = "2025-03-01", "2025-03-02", "2025-03-20"
_TOLERANCE = "tolerance: {date: {left: day, right: day, days: 3}, amount: {left: amount, right: amount, by: 0.01}}"
_SUM = "match: one_to_many, sum: {left: amount, right: amount}, tolerance: {amount: {by: 0.01}}"
_COMPARE = "compare: [amount]"
_FIVE = (5, 5, _DAY, "5.00")
SITUATIONS = (
    Situation("a record is missing on a side", (_FIVE, (1, 1, _DAY, "10.00")), (_FIVE,), {"left_only": 1}, _COMPARE),
    Situation(
        "an amount differs", ((1, 1, _DAY, "10.00"), _FIVE), ((1, 1, _DAY, "10.50"), _FIVE), {"mismatch": 1}, _COMPARE
    ),
    Situation(
        "10.00 and 10.01, tolerance 0.01",
        ((1, 1, _DAY, "10.00"), _FIVE),
        ((1, 1, _DAY, "10.01"), _FIVE),
        {},
        _TOLERANCE,
    ),
    Situation(
        "0.30 and 0.29, tolerance 0.01", ((1, 1, _DAY, "0.30"), _FIVE), ((1, 1, _DAY, "0.29"), _FIVE), {}, _TOLERANCE
    ),
    Situation(
        "a date is one day later, which the tolerance allows",
        ((1, 1, _DAY, "10.00"), _FIVE),
        ((1, 1, _NEXT, "10.00"), _FIVE),
        {},
        _TOLERANCE,
    ),
    Situation(
        "two payments with one key, in another order",
        ((1, 1, _DAY, "10.00"), (2, 1, _LATER, "20.00")),
        ((1, 1, _LATER, "20.00"), (2, 1, _DAY, "10.00")),
        {},
        _TOLERANCE,
    ),
    Situation(
        "a record twice on a side",
        ((1, 1, _DAY, "10.00"), _FIVE),
        ((1, 1, _DAY, "10.00"), (2, 1, _DAY, "10.00"), _FIVE),
        {"duplicate_right": 1},
        _COMPARE,
    ),
    Situation(
        "an empty key on both sides",
        ((1, None, _DAY, "10.00"), _FIVE),
        ((1, None, _DAY, "10.00"), _FIVE),
        {"left_only": 1, "right_only": 1},
        _COMPARE,
    ),
    Situation(
        "three records add up to one",
        ((1, 1, _DAY, "30.00"), _FIVE),
        ((1, 1, _DAY, "10.00"), (2, 1, _DAY, "10.00"), (3, 1, _DAY, "10.00"), _FIVE),
        {},
        _SUM,
    ),
    Situation(
        "two equal records, one partner: which is open?",
        ((1, 1, _DAY, "10.00"), (2, 1, _DAY, "10.00"), _FIVE),
        ((1, 1, _DAY, "10.00"), _FIVE),
        {"ambiguous": 1},
        _TOLERANCE,
    ),
)


def peers(rows: int, runs: int) -> str:
    """The situations, and the time for exact keys."""
    installed = [name for name in PEERS if _is_installed(name)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "situations")
        answers = {"Reconcile": _of_reconcile(folder)}
        for peer in installed:
            answers[peer] = _of_peer(peer, folder / "situations")
    lines = [f"| | wanted | {' | '.join(answers)} |", "| --- |" + " --- |" * (1 + len(answers))]
    for number, situation in enumerate(SITUATIONS):
        told = [_told(answer[_case(number)], situation.wanted) for answer in answers.values()]
        lines.append(f"| {situation.name} | {_words(situation.wanted)} | {' | '.join(told)} |")
    right = {
        peer: sum(answer[_case(n)] == dict(each.wanted) for n, each in enumerate(SITUATIONS))
        for peer, answer in answers.items()
    }
    score = ", ".join(f"{peer} {count} of {len(SITUATIONS)}" for peer, count in right.items())
    absent = [f"{name} is not installed, so it was not measured." for name in PEERS if name not in installed]
    text = "\n\n".join([f"### Next to datacompy and reladiff\n\nAs wanted: {score}.", *absent, "\n".join(lines)])
    return f"{text}\n\n{_timed(rows, runs)}" if "datacompy" in installed else text


def _case(number: int) -> str:
    return f"situation-{number}"


def _is_installed(name: str) -> bool:
    if sys.executable == PYTHON:
        return importlib.util.find_spec(name) is not None
    return subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def _write(folder: Path) -> None:
    """Write both sides of each situation as Parquet, in a folder named by its number."""
    for number, situation in enumerate(SITUATIONS):
        case = folder / _case(number)
        case.mkdir(parents=True)
        con = duckdb.connect()
        for side, records in (("left", situation.left), ("right", situation.right)):
            con.execute(f'create table "{side}" (id bigint, key bigint, day date, amount decimal(12, 2))')
            con.executemany(f'insert into "{side}" values (?, ?, ?, ?)', records)
            con.execute(f"copy \"{side}\" to '{case / side}.parquet' (format parquet)")


def _of_reconcile(folder: Path) -> dict[str, dict[str, int]]:
    lines = ["version: 1", f'sources: {{files: {{type: files, root: "{folder / "situations"}"}}}}', "datasets:"]
    for number in range(len(SITUATIONS)):
        for side in ("left", "right"):
            path = f"{_case(number)}/{side}.parquet"
            lines.append(f"  {side}{number}: {{source: files, path: {path}, id: id}}")
    lines.append("rules:")
    for number, situation in enumerate(SITUATIONS):
        sides = f"left: left{number}, right: right{number}"
        lines.append(f"  {_case(number)}: {{kind: reconciliation, {sides}, key: [key], {situation.settings}}}")
    (folder / "reconcile.yaml").write_text("\n".join(lines))
    done = subprocess.run(
        [*RECONCILE, "run", "--dry-run", "--json", "--quiet"], cwd=folder, capture_output=True, text=True, check=True
    )
    return {rule["rule"]: rule.get("forms", {}) for rule in json.loads(done.stdout)["rules"]}


def _of_peer(peer: str, folder: Path) -> dict[str, dict[str, int]]:
    command = [PYTHON, str(CONTENDERS / f"peer_{peer}.py"), str(folder)]
    answers: dict[str, dict[str, int]] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    )
    return answers


def _told(answer: Mapping[str, int], wanted: Mapping[str, int]) -> str:
    return _words(answer) + ("" if dict(answer) == dict(wanted) else " ✗")


def _words(answer: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {form}" for form, count in answer.items()) or "nothing"


def _timed(rows: int, runs: int) -> str:
    """Exact keys, which all can compare; without the repeated ones, which datacompy pairs by their order."""
    files = ledgers.tables("payments", rows)
    arguments = [str(files["orders"]), str(files["charges"])]
    base = contender("peer_datacompy_keys", *arguments, python=PYTHON)
    own = reconcile("reconcile run --dry-run", KEYS.format(root=files["orders"].parent), "--dry-run")
    interleave([base, own], runs)
    told = f"datacompy: {forms(base)}. Reconcile: {forms(own)}."
    return f"Exact keys, {rows:,} records on each side. {told}\n\n{table([base, own], base)}"
