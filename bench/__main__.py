"""`python -m bench [SECTION …] [--rows N] [--runs N] [--results FILE]`; writes RESULTS.md and its plots.

The sections: start, files, growth, memory, postgres, incremental, workbook, marks, tolerance, exact, sums, any-key,
transfers, peers, findings, spark, serve, console, effects, audit. `python -m bench.cases FOLDER` is not one of them: it
rebuilds reports of others and compares findings, not times.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg

from bench import audit, console, data, findings, growth, peers, plots, reconciliation, serving, spark
from bench import effects as effecting
from bench.incremental import incremental
from bench.measure import RECONCILE, Contender, common, contender, interleave, members, reconcile, table

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
POSTGRES = os.environ.get("RECONCILE_TEST_POSTGRES", "postgresql://root@127.0.0.1:5432/test").replace("+psycopg", "")
MARIADB = os.environ.get("RECONCILE_TEST_MARIADB", "mysql+pymysql://root@127.0.0.1:3306/test?charset=utf8mb4")


def _driven(postgres: str) -> str:
    """The address of PostgreSQL for SQLAlchemy."""
    return postgres.replace("postgresql://", "postgresql+psycopg://")


def agree(contenders: Sequence[Contender]) -> str:
    return f"Every contender found the same {common(contenders, members):,} records."


def files(rows: int, runs: int) -> str:
    """Exact normalised key over a CSV and over Parquet."""
    parts = []
    for path in data.files(rows):
        configuration = f"""
version: 1
sources: {{files: {{type: files, root: "{path.parent}"}}}}
datasets: {{charges: {{source: files, path: {path.name}, id: id}}}}
rules: {{twin: {{kind: duplicates, dataset: charges, key: [{{email: [mailbox]}}, order_id, amount]}}}}
"""
        base = contender("duckdb_checked", str(path))
        contenders = [
            base,
            contender("duckdb_hash", str(path)),
            reconcile("reconcile run --dry-run", configuration, "--dry-run"),
            reconcile("reconcile run (findings stored, audited)", configuration),
            contender("duckdb_window", str(path)),
            contender("polars_over", str(path)),
            contender("pandas_duplicated", str(path)),
        ]
        interleave(contenders, runs)
        same = "duckdb_checked reports as much as a run: unique ids and records left out; the others only the records."
        parts.append(f"### {path.suffix[1:]}, {rows:,} rows\n\n{agree(contenders)} {same}\n\n{table(contenders, base)}")
    return "\n\n".join(parts)


def postgres(rows: int, runs: int) -> str:
    """The rule pushed down into a PostgreSQL table."""
    data.postgres(rows, POSTGRES)
    name = f"charges_{rows}"
    configuration = f"""
version: 1
sources: {{shop: {{type: sql, url: "{POSTGRES}"}}}}
datasets: {{charges: {{source: shop, table: {name}, id: id}}}}
rules:
  twin: {{kind: duplicates, dataset: charges, engine: ENGINE, key: [order_id, amount, {{currency: [trim, lower]}}]}}
"""
    base = contender("postgres_sql", POSTGRES, name)
    contenders = [
        base,
        reconcile("reconcile run --dry-run, pushed down", configuration.replace("ENGINE", "pushdown"), "--dry-run"),
        reconcile("reconcile run --dry-run, embedded", configuration.replace("ENGINE", "embedded"), "--dry-run"),
        contender("postgres_pandas", _driven(POSTGRES), name),
    ]
    interleave(contenders, runs)
    return f"### PostgreSQL, {rows:,} rows\n\n{agree(contenders)}\n\n{table(contenders, base)}"


def workbook(rows: int, runs: int) -> str:
    """A whole run over a workbook, next to bare calamine."""
    rows = min(rows, 200_000)
    path = data.workbook(rows)
    configuration = f"""
version: 1
sources: {{crm: {{type: workbook, path: "{path}"}}}}
datasets: {{contacts: {{source: crm, sheet: Contacts, id: id}}}}
rules: {{twin: {{kind: duplicates, dataset: contacts, key: [email]}}}}
"""
    base = contender("calamine_rows", str(path))
    contenders = [base, reconcile("reconcile run --dry-run", configuration, "--dry-run")]
    reader = contender("workbook_scan", str(path))
    contenders.insert(1, reader)
    interleave(contenders, runs)
    return f"### Workbook, {rows:,} rows of 8 columns\n\n{table(contenders, base)}"


def marks(rows: int, runs: int) -> str:
    """Mark 1,000 rows of a workbook, next to openpyxl's loading and saving of the same file."""
    rows = min(rows, 200_000)
    path = data.workbook(rows)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        base = contender("marks_openpyxl", str(path), "1000", folder)
        contenders = [base, contender("marks_reconcile", str(path), "1000", folder)]
        interleave(contenders, runs)
    common(contenders, lambda each: each.answer)
    return f"### 1,000 rows marked in a workbook of {rows:,} rows\n\n{table(contenders, base)}"


def start(_: int, runs: int) -> str:
    """Start-up, and a whole run over 1,000 rows."""
    path, _unused = data.files(1000)
    configuration = f"""
version: 1
sources: {{files: {{type: files, root: "{path.parent}"}}}}
datasets: {{charges: {{source: files, path: {path.name}, id: id}}}}
rules: {{twin: {{kind: duplicates, dataset: charges, key: [{{email: [mailbox]}}, order_id, amount]}}}}
"""
    base = Contender("python -c pass", lambda: [sys.executable, "-c", "pass"])
    contenders = [
        base,
        Contender("reconcile version", lambda: [*RECONCILE, "version"]),
        Contender("reconcile --help", lambda: [*RECONCILE, "--help"]),
        reconcile("reconcile run, 1,000 rows", configuration),
    ]
    interleave(contenders, max(runs, 7))
    return f"### Start\n\n{table(contenders, base)}"


def serve(rows: int, _runs: int) -> str:
    """The delay of starts and the growth of memory; fewer slots for fewer rows."""
    few = rows < 10_000_000
    return (
        f"### serve\n\nLag behind the time a run was to start, {serving.JOBS} jobs in one process, each due every ten "
        f"minutes, started up to a minute later by their jitter:\n\n{serving.lag(serving.JOBS, 60 if few else 150)}\n\n"
        f"Scheduler and workers over a simulated clock, 50 jobs due every minute:\n\n"
        f"{serving.memory(5_000 if few else 100_000)}"
    )


def log(rows: int, runs: int) -> str:
    """The audit log verified as a whole, on a PostgreSQL database of its own."""
    import psycopg

    name = f"bench_audit_{os.getpid()}"
    with psycopg.connect(POSTGRES, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            return audit.verify(min(rows, 1_000_000), runs, f"{POSTGRES.rpartition('/')[0]}/{name}")
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def effects(rows: int, runs: int) -> str:
    """Effects a second through the journal, next to a bare statement and DBOS, and a large plan in bounded memory."""
    many = 4000 if rows >= 10_000_000 else 1000
    servers = {"SQLite": "sqlite", "PostgreSQL": _driven(POSTGRES)}
    plan = effecting.streamed(100_000 if rows >= 10_000_000 else 10_000)
    return f"{effecting.section(many, runs, servers)}\n\n{plan}"


SECTIONS: dict[str, Callable[[int, int], str]] = {
    "start": start,
    "files": files,
    "growth": lambda rows, _: growth.growth(rows),
    "memory": lambda rows, _: growth.memory(rows),
    "postgres": postgres,
    "incremental": lambda rows, runs: incremental(rows, runs, (_driven(POSTGRES), MARIADB)),
    "workbook": workbook,
    "marks": marks,
    "tolerance": lambda rows, runs: reconciliation.tolerance(rows // 10, runs),
    "exact": reconciliation.exact,
    "sums": lambda rows, runs: reconciliation.sums(rows // 10, runs),
    "any-key": lambda rows, runs: reconciliation.any_key(3 * rows // 10, runs),
    "transfers": lambda _, runs: reconciliation.transfers(runs),
    "peers": lambda rows, runs: peers.peers(rows // 10, runs),
    "findings": lambda rows, _: findings.section(rows // 100, rows // 10),
    "spark": lambda rows, runs: spark.spark(2 * rows, runs),
    "serve": serve,
    "console": lambda rows, _: console.console(rows // 100, _driven(POSTGRES)),
    "effects": effects,
    "audit": log,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    chosen = options.sections or [name for name in SECTIONS if name != "spark" or importlib.util.find_spec("pyspark")]
    head = (
        "# Results of `make bench`\n\n"
        "Whole processes, interleaved, medians of one to three runs; absolute times depend on the machine, "
        "ratios less so. "
        "Peak memory is that of the process and of those it started; the effects say that of the largest process."
        f"\n\n{_machine()}\n"
    )
    for name in chosen:  # written after each section, because the whole takes a while
        measured = SECTIONS[name](options.rows, options.runs)
        print(f"\n{measured}\n")
        previous = options.results.read_text(encoding="utf-8") if options.results.exists() else ""
        options.results.write_text(f"{head}\n{_merged(previous, measured)}\n", encoding="utf-8")
    print(f"written to {options.results}")
    if options.results == RESULTS:
        plots.draw()


def _merged(previous: str, measured: str) -> str:
    """The previous results, with each new section in place of the one with the same heading."""
    parts = {part.splitlines()[0]: part.strip() for text in (previous, measured) for part in text.split("### ")[1:]}
    return "\n\n".join(f"### {part}" for part in parts.values())


def _machine() -> str:
    names = ("duckdb", "polars", "pandas", "pyarrow", "sqlalchemy", "psycopg", "python-calamine")
    code = "import importlib.metadata as m, sys; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
    versions = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True).stdout
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{_processor()}, {os.cpu_count()} cores, {gigabytes:.0f} GB, Linux {platform.release()}"
    return f"{machine}; Python {platform.python_version()}, {versions.strip()}{_postgres()}."


def _processor() -> str:
    models = (
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    )
    return next(models, platform.machine())


def _postgres() -> str:
    """The version of the PostgreSQL server, if there is one."""
    try:
        with psycopg.connect(POSTGRES, connect_timeout=3) as connection:
            return f", PostgreSQL {(connection.info.parameter_status('server_version') or '').partition(' ')[0]}"
    except psycopg.OperationalError:
        return ""


if __name__ == "__main__":
    main()
