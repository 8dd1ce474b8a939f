"""The same rule embedded, and on a Spark cluster with one worker and with two: the same findings, and the time."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from bench import data
from bench.measure import Contender, common, interleave, reconcile, table
from tests.connectors.spark.cluster import cluster

CONFIGURATION = """
version: 1
sources: {lake: SOURCE}
datasets: {charges: {source: lake, path: PATH, id: id}}
rules:
  twin: {kind: duplicates, dataset: charges, engine: ENGINE, key: [order_id, amount, {currency: [trim, lower]}]}
"""
WORKERS = (1, 2)


def spark(rows: int, runs: int) -> str:
    """Whole runs over one Parquet file; each worker has one core and is on this machine."""
    _, path = data.files(rows)
    embedded = _configuration(f'{{type: files, root: "{path.parent}"}}', path.name, "embedded")
    base = reconcile("embedded", embedded, "--dry-run")
    contenders = [base]
    interleave(contenders, runs)
    for workers in WORKERS:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder, cluster(Path(folder), workers, memory="3g") as url:
            source = f'{{type: spark, url: "{url}", config: {{spark.executor.memory: 2g}}}}'
            text = _configuration(source, str(path), "spark")
            name = f"Spark, {workers} {'worker' if workers == 1 else 'workers'}"
            contenders.append(reconcile(name, text, "--dry-run"))
            interleave(contenders[-1:], runs)
    common(contenders, _groups)
    remark = (
        "Each found the same groups. The memory and CPU seconds of Spark are those of the driver, not of the workers."
    )
    return f"### Spark, {rows:,} rows of Parquet\n\n{remark}\n\n{table(contenders, base)}"


def _configuration(source: str, path: str, engine: str) -> str:
    return CONFIGURATION.replace("SOURCE", source).replace("PATH", path).replace("ENGINE", engine)


def _groups(contender: Contender) -> str:
    """Every group with its keeper, its surplus records and its key, in order."""
    findings = json.loads(contender.answer)["findings"]
    groups = [[finding["key"], finding["keeper"], sorted(map(str, finding["surplus"]))] for finding in findings]
    return "\n".join(sorted(json.dumps(group) for group in groups))
