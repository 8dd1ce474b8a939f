"""Two sides that should agree, bundles, and records that share any of several keys, next to scripts by hand."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from bench import ledgers
from bench.measure import Contender, common, contender, forms, interleave, members, reconcile, table

PAIRS = """
version: 1
sources: {{files: {{type: files, root: "{root}"}}}}
datasets:
  bank: {{source: files, path: bank.parquet, id: id}}
  ledger: {{source: files, path: ledger.parquet, id: id}}
rules:
  transfers:
    kind: reconciliation
    left: bank
    right: ledger
    key: [account]
    tolerance: {{date: {{left: booked, right: posted, days: 3}}, amount: {{left: amount, right: total, by: 0.01}}}}
"""
KEYS = """
version: 1
sources: {{files: {{type: files, root: "{root}"}}}}
datasets:
  orders: {{source: files, path: orders.parquet, id: id}}
  charges: {{source: files, path: charges.parquet, id: id}}
rules:
  paid:
    {{kind: reconciliation, left: orders, right: charges, key: [reference], compare: [{{left: total, right: amount}}]}}
"""
SUMS = """
version: 1
sources: {{files: {{type: files, root: "{root}"}}}}
datasets:
  payouts: {{source: files, path: payouts.parquet, id: id}}
  invoices: {{source: files, path: invoices.parquet, id: id}}
rules:
  paid-out:
    kind: reconciliation
    left: payouts
    right: invoices
    key: [{{left: id, right: payout_id}}]
    match: one_to_many
    sum: {{left: amount, right: net - fee}}
    tolerance: {{amount: {{by: 0.01}}}}
"""
ANY_KEY = """
version: 1
sources: {{files: {{type: files, root: "{root}"}}}}
datasets: {{customers: {{source: files, path: customers.parquet, id: id}}}}
rules: {{twins: {{kind: duplicates, dataset: customers, key: {{any: [[email], [phone], [name, birth_date]]}}}}}}
"""
LABELLED = """
version: 1
sources: {{files: {{type: files, root: "{root}"}}}}
datasets:
  sent: {{source: files, path: sent.parquet, id: id}}
  received: {{source: files, path: received.parquet, id: id}}
rules:
  transfers:
    kind: reconciliation
    left: sent
    right: received
    compare: [id]  # differs in every pair, so that all pairs are listed
    report: [mismatch]
    tolerance:
      date: {{left: transaction_date, right: transaction_date, days: 3}}
      amount: {{left: amount, right: amount, by: 0.01}}
"""
SHARED = Path(os.environ.get("RECONCILE_BENCH_DATA", str(Path(__file__).parents[2] / "shared" / "data"))) / "transfers"
PEERS_OF_TRANSFERS = """\
| exact key (measured before) | | | | .280 |
| Splink 5 (measured before) | | | | .727 |
| recordlinkage, ECM (measured before) | | | | .383 |
| goldenmatch (measured before) | | | | .207 |"""


def tolerance(rows: int, runs: int) -> str:
    """Dates within three days, amounts within a cent."""
    files = ledgers.tables("transfers", rows)
    with tempfile.TemporaryDirectory() as folder:
        pairs = {name: str(Path(folder) / f"{name}.parquet") for name in ("merge_asof", "networkx")}
        own = reconcile("reconcile run --dry-run", PAIRS.format(root=files["bank"].parent), "--dry-run")
        scripts = [
            contender(f"pairs_{name}", str(files["bank"]), str(files["ledger"]), path) for name, path in pairs.items()
        ]
        interleave([own, scripts[0]], runs)
        interleave(scripts[1:], 1)
        wrong = _wrong(own, pairs, files["truth"])
    return (
        f"### Two sides with tolerances, {rows:,} records each: dates ± 3 days, amounts ± 0.01\n\n"
        f"{table([scripts[0], own, scripts[1]], scripts[0])}\n\n"
        "merge_asof takes the nearest. networkx has the rule's objective (most pairs, fewest days, least money); it "
        "ran once. Next to what was planted, records of both sides:\n\n"
        f"{wrong}\n\nReconcile lists records as ambiguous where the data cannot tell which of them has no partner."
    )


def _wrong(own: Contender, pairs: Mapping[str, str], truth: Path) -> str:
    """Return a table of records that a contender says have a partner, or none, against the truth."""
    con = duckdb.connect()
    con.execute(f"create table truth as select * from '{truth}'")
    con.execute("""create table planted as
        select 'left' as side, bank as id, fate <> 0 as has_partner from truth where fate <> 1
        union all select 'right', ledger, fate <> 1 from truth where fate <> 0""")
    lines = ["| | pairs | wrongly open | wrongly paired | ambiguous |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, path in pairs.items():
        con.execute(f"""create or replace table open_records as
            select side, id, false as is_ambiguous from planted where id not in (
                select id_left from '{path}' where side = 'left'
                union all select id_right from '{path}' where side = 'right')""")
        [(count,)] = con.execute(f"select count(*) from '{path}'").fetchall()
        lines.append(f"| pairs_{name} | {count:,} | {_judged(con)} |")
    report = json.loads(own.answer)
    con.execute("create or replace table open_records (side text, id bigint, is_ambiguous bool)")
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        for finding in report["findings"]:
            for side in ("left", "right"):
                file.writelines(
                    f"{side},{record['id'][0]},{finding['form'] == 'ambiguous'}\n" for record in finding[side]
                )
        file.flush()
        con.execute(f"copy open_records from '{file.name}' (format csv, header false)")
    lines.append(f"| {own.name} | {report['rules'][0]['matched']:,} | {_judged(con)} |")
    return "\n".join(lines)


def _judged(con: duckdb.DuckDBPyConnection) -> str:
    [figures] = con.execute("""
        select count(*) filter (o.id is not null and has_partner and not is_ambiguous),
               count(*) filter (o.id is null and not has_partner), count(*) filter (is_ambiguous)
        from planted left join open_records o using (side, id)""").fetchall()
    return " | ".join(f"{figure:,}" for figure in figures)


def exact(rows: int, runs: int) -> str:
    """One to one by a key that decides alone."""
    files = ledgers.tables("payments", rows)
    arguments = [str(files["orders"]), str(files["charges"])]
    base = contender("keys_duckdb", *arguments)
    own = reconcile("reconcile run --dry-run", KEYS.format(root=files["orders"].parent), "--dry-run")
    contenders = [base, own, contender("keys_polars", *arguments)]
    interleave(contenders, min(runs, 2))
    return (
        f"### Exact, one to one, {rows:,} records on each side\n\n{_same_forms(contenders)} "
        "keys_duckdb may use 4 GB; only Reconcile checks that ids are unique.\n\n"
        f"{table(contenders, base)}"
    )


def sums(rows: int, runs: int) -> str:
    """Payouts over invoices."""
    files = ledgers.tables("payouts", rows)
    arguments = [str(files["payouts"]), str(files["invoices"])]
    base = contender("sums_duckdb", *arguments)
    own = reconcile("reconcile run --dry-run", SUMS.format(root=files["payouts"].parent), "--dry-run")
    contenders = [base, own, contender("sums_pandas", *arguments)]
    interleave(contenders, runs)
    return (
        f"### One to many, {rows // 10:,} payouts over {rows:,} invoices\n\n{_same_forms(contenders)}\n\n"
        f"{table(contenders, base)}"
    )


def _same_forms(contenders: Sequence[Contender]) -> str:
    return f"Every contender found the same: {common(contenders, forms)}."


def any_key(rows: int, runs: int) -> str:
    """Records that share an e-mail address, a phone number, or name and date of birth."""
    [file] = ledgers.tables("customers", rows).values()
    base = contender("anykey_scipy", str(file))
    own = reconcile("reconcile run --dry-run", ANY_KEY.format(root=file.parent), "--dry-run")
    contenders = [base, own, contender("anykey_networkx", str(file))]
    interleave(contenders, runs)
    return (
        f"### Any of three keys, {rows:,} records\n\nEvery contender found the same {common(contenders, members):,} "
        "records. Only Reconcile says which pairs agree by which key and which single link holds a group together.\n\n"
        f"{table(contenders, base)}"
    )


def transfers(runs: int) -> str:
    """The labelled transfers that two banks saw, by a rule that nobody tuned."""
    if not SHARED.exists():
        return f"### Labelled transfers\n\nNot run: {SHARED} is not present."
    own = reconcile("reconcile run --dry-run", LABELLED.format(root=SHARED), "--dry-run")
    interleave([own], runs)
    findings = json.loads(own.answer)["findings"]
    pairs = {(finding["left"][0]["id"][0], finding["right"][0]["id"][0]) for finding in findings}
    truth = set(duckdb.sql(f"select sent_id, received_id from '{SHARED}/matches.parquet'").fetchall())
    right = len(pairs & truth)
    precision, recall = right / len(pairs), right / len(truth)
    figures = f"{len(pairs):,} | {precision:.3f} | {recall:.3f} | {2 * precision * recall / (precision + recall):.3f}"
    return (
        f"### Labelled transfers, {len(truth):,} on each side\n\n"
        "No rule was tuned, and none has learned: dates ± 3 days, amounts ± 0.01, no key, and the memo is not "
        "compared. Here the dates of a pair are up to 21 days apart and three amounts of four differ.\n\n"
        "| | pairs | precision | recall | F1 |\n| --- | ---: | ---: | ---: | ---: |\n"
        f"| reconcile run --dry-run | {figures} |\n{PEERS_OF_TRANSFERS}\n\n{table([own], own)}"
    )
