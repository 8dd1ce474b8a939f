"""How right each tool is on each set, what it costs, and how many lines a user writes for it.

Whole processes: each reads the same Parquet files and writes the pairs of rows that it puts together.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bench.measure import took
from bench.similar import report
from bench.similar.labelled import Labelled, Rates
from bench.similar.sets import ROOT, SETS, load

PYTHON = os.environ.get("RECONCILE_SIMILAR_PEERS", str(ROOT / ".make/similar-peers/bin/python"))
"""The Python of the environment that bench/similar/peers.txt describes."""
FIGURES = ROOT / "bench" / ".data" / "similar-accuracy.json"
CONTENDERS = Path(__file__).with_name("contenders")
LONGEST = 180
"""Seconds after which a tool is stopped."""
_STOPPED = 124
"""The exit code of `timeout` then."""


@dataclass(frozen=True)
class Tool:
    """A tool by the name of its script; `package` is what it needs in the environment of the peers."""

    name: str
    script: str
    package: str = ""
    arguments: tuple[str, ...] = ()
    most_records: int = 10_000_000

    @property
    def is_installed(self) -> bool:
        if not self.package:
            return True
        if not Path(PYTHON).exists():
            return False
        command = [
            PYTHON,
            "-c",
            f"import importlib.util, sys; sys.exit(not importlib.util.find_spec({self.package!r}))",
        ]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def command(self, folder: Path, file: Path) -> list[str]:
        python = PYTHON if self.package else sys.executable
        return [python, str(CONTENDERS / f"{self.script}.py"), str(folder), str(file), *self.arguments]


TOOLS = (
    Tool("built-in", "reconcile_similar", arguments=("built-in",)),
    Tool("estimated", "reconcile_similar", arguments=("estimated",)),
    Tool("Splink", "peer_splink", "splink"),
    Tool("recordlinkage", "peer_recordlinkage", "recordlinkage"),
    Tool("goldenmatch", "peer_goldenmatch", "goldenmatch"),
    Tool("dedupe, 60 labels", "peer_dedupe", "dedupe", most_records=4_000),
)


@dataclass(frozen=True)
class Measured:
    """What a tool reported of a set and what that cost, or why it has no figures."""

    precision: float = 0.0
    recall: float = 0.0
    seconds: float = 0.0
    """Of processor time."""
    megabytes: float = 0.0
    lines: int = 0
    failure: str = ""

    @property
    def f1(self) -> float:
        return Rates(self.precision, self.recall).f1


def measure(tool: Tool, labelled: Labelled, folder: Path) -> Measured:
    """Run a tool on a set that `write` has put into a folder."""
    if labelled.records > tool.most_records:
        return Measured(failure="too large")
    file = folder / "pairs.parquet"
    file.unlink(missing_ok=True)
    command = ["timeout", "-k", "5", str(LONGEST), *tool.command(folder, file)]
    try:
        cost, printed = took(command, allowed=(0, _STOPPED))
    except RuntimeError as error:
        return Measured(failure=str(error).strip().splitlines()[-1][:90].replace("|", "/"))
    if not file.exists():
        return Measured(failure=f"stopped after {LONGEST} s")
    pairs = parquet.read_table(file)
    reported = set(zip(pairs["a"].to_pylist(), pairs["b"].to_pylist(), strict=True))
    lines = json.loads(printed.splitlines()[-1])["lines"]
    rates = Rates.of(reported, labelled.truth)
    return Measured(rates.precision, rates.recall, cost.processor, cost.megabytes, lines)


def write(name: str, labelled: Labelled, folder: Path) -> None:
    """Write a set for the tools into a folder."""
    begin = 0
    for side, table in zip(("left", "right"), labelled.tables, strict=False):
        rows = pa.array(np.arange(begin, begin + table.num_rows))
        parquet.write_table(table.select(list(labelled.types)).append_column("row", rows), folder / f"{side}.parquet")
        begin += table.num_rows
    first, second = zip(*sorted(labelled.truth), strict=True)
    parquet.write_table(pa.table({"a": first, "b": second}), folder / "truth.parquet")
    description = {"name": name, "types": labelled.types, "one_to_one": labelled.one_to_one}
    (folder / "set.json").write_text(json.dumps(description))


@dataclass(frozen=True)
class Row:
    """The figures of a set: its records, its true pairs, and what was measured of each tool."""

    records: int
    pairs: int
    by_tool: dict[str, Measured]


def sections(names: Sequence[str], of: Sequence[str] = (), figures: Path = FIGURES) -> str:
    """Measure sets with some tools, or all; return the sections on accuracy and cost, with what was measured before."""
    wanted = [tool for tool in TOOLS if not of or tool.name in of]
    tools = [tool for tool in wanted if tool.is_installed]
    absent = [f"{tool.name} is not installed, so it was not measured." for tool in wanted if tool not in tools]
    for name in names:
        if (labelled := load(name)) is None:
            absent.append(f"The set {name} is not here, so it was not measured.")
            continue
        with tempfile.TemporaryDirectory() as folder:
            write(name, labelled, Path(folder))
            before = kept(figures).get(name)
            by_tool = dict(before.by_tool) if before else {}
            for tool in tools:
                by_tool[tool.name] = result = measure(tool, labelled, Path(folder))
                outcome = f"F1 {result.f1:.4f}, {result.seconds:.1f} s" if not result.failure else result.failure
                print(f"  {name}, {tool.name}: {outcome}", file=sys.stderr)
        keep(figures, name, Row(labelled.records, len(labelled.truth), by_tool))
    rows = kept(figures)
    return "\n\n".join(
        [
            report.section("Accuracy", *absent, "F1 of pairs (precision / recall).", _table(rows, _accuracy)),
            report.section("Processor seconds and peak memory", _COST, _table(rows, _cost)),
            report.section("Lines of configuration", _LINES, _table(rows, lambda result: str(result.lines))),
        ]
    )


def keep(figures: Path, name: str, row: Row) -> None:
    """Keep the figures of a set, so that sets can be measured one after the other."""
    every = {set_name: asdict(each) for set_name, each in kept(figures).items()} | {name: asdict(row)}
    figures.parent.mkdir(parents=True, exist_ok=True)
    figures.write_text(json.dumps({set_name: every[set_name] for set_name in SETS if set_name in every}, indent=1))


def kept(figures: Path) -> dict[str, Row]:
    """Return the figures that were kept, by set."""
    if not figures.exists():
        return {}
    return {
        name: Row(row["records"], row["pairs"], {tool: Measured(**each) for tool, each in row["by_tool"].items()})
        for name, row in json.loads(figures.read_text()).items()
    }


def _table(rows: Mapping[str, Row], cell: Callable[[Measured], str]) -> str:
    tools = [tool.name for tool in TOOLS if any(tool.name in row.by_tool for row in rows.values())]
    return report.table(
        ["set", "records", "true pairs", *tools],
        [
            [name, f"{row.records:,}", f"{row.pairs:,}", *(_cell(row.by_tool.get(tool), cell) for tool in tools)]
            for name, row in rows.items()
        ],
    )


def _cell(result: Measured | None, cell: Callable[[Measured], str]) -> str:
    if result is None:
        return ""
    return result.failure or cell(result)


def _accuracy(result: Measured) -> str:
    return f"{report.rate(result.f1)} ({report.rate(result.precision)} / {report.rate(result.recall)})"


def _cost(result: Measured) -> str:
    return f"{result.seconds:.1f} ({result.megabytes:.0f})"


_COST = "Seconds of processor time (MB) of the whole process with its imports; other load changes them least."
_LINES = (
    "Of a rule: settings and compared columns. Of Splink and recordlinkage: comparisons, rules for blocking and "
    "training, calls. Of dedupe: columns and calls; 60 answers about pairs come on top. Reading data and imports "
    "count for none."
)
