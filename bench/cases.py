"""`python -m bench.cases FOLDER`: rebuild reports of others that failed once, and compare every finding.

FOLDER has a folder for each case: small inputs and a `reconcile.yaml`. Each case is copied, run by the command line,
and judged by the table below; nothing of FOLDER belongs to the project. A case that was written in an old or hoped-for
spelling is edited first: `edits` says how a rule of today says the same. Exit code 1 if a case is not as expected.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECONCILE = [sys.executable, "-m", "reconcile"]
CONFIGURATION = "reconcile.yaml"
Findings = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Case:
    """The findings that each rule of a folder must have: form, records, key, what differs, money at risk.

    A record is its id, or file:row. `matched` counts pairs of reconciliations. `edits` are replaced texts of the
    configuration; `why` says what they translate. `more` are further files, `below` is the folder inside the case.
    """

    folder: str
    findings: Findings
    matched: Mapping[str, int] = field(default_factory=dict)
    edits: Sequence[tuple[str, str]] = ()
    why: str = ""
    more: Mapping[str, str] = field(default_factory=dict)
    below: str = ""


TRANSFERS = """\
    where: {left: amount < 0, right: amount > 0}
    report: [mismatch]
    differ: [account]
    tolerance: {date: {left: booked, right: booked, days: 3}, amount: {left: minus, right: amount, by: 0}}
"""
CASES = [
    Case(
        "new-fees-near",
        {
            "fees": ["unbalanced 2|13 [P-2] amount / gross - fee, 0.75 EUR"],
            "near": ["near_miss 1|1 [L1] amount, 0.50 EUR", "near_miss 2|2 [L2] d"],
        },
    ),
    Case("new-percent", {"a": ["near_miss 2|2 [L2] d"]}, matched={"a": 1}),
    Case(
        "pub-01-null-key-parts",
        {"r": ["duplicate_left a.csv:3 a.csv:4|b.csv:3 [2 -]"]},
        matched={"r": 3},
    ),
    Case(
        "pub-02-many-to-many-compare",
        {"om": ["duplicate_left a.csv:2 a.csv:3|b.csv:2 b.csv:3 [1]"], "mm": []},
    ),
    Case(
        "pub-04-overlapping-exports",
        {
            "r": [
                "duplicate bank-1.csv:3 bank-2.csv:2 [2026-03-10 Metro ticket -2.40], 2.40 EUR",
                "duplicate bank-1.csv:4 bank-2.csv:3 [2026-03-10 Metro ticket -2.40], 2.40 EUR",
                "duplicate bank-1.csv:5 bank-2.csv:4 [2026-03-12 Bakery -3.20], 3.20 EUR",
            ]
        },
        edits=[("distinct: _file", "repeats: _file")],
        why="the n-th record of one file against the n-th of the other is `repeats: _file`",
    ),
    Case(
        "pub-05-partner-must-differ",
        {"dup": [], "rec": ["left_only 3| [left 3]", "right_only |4 [right 4]"]},
        edits=[
            ("  dup:\n    kind: duplicates\n    dataset: tx\n", "  dup:\n    kind: reconciliation\n"),
            ("    key: [{amount: [abs]}]\n    window: {booked: 3d}\n", "    left: tx\n    right: tx\n"),
            ("    distinct: account\n    having: sum(amount) = 0\n", TRANSFERS),
            ("  rec:\n    kind: reconciliation\n", "  rec:\n    kind: reconciliation\n    differ: [account]\n"),
            ("right: booked, days: 3}", "right: booked, days: 3, before: 0}"),
        ],
        why="a transfer pairs records of different accounts: `differ` in a reconciliation; with `before: 0`, as money "
        "never arrives before it leaves, and otherwise 2 is as near to 3 as to 1",
        matched={"dup": 2, "rec": 2},
    ),
    Case(
        "pub-06-mt940-long-reference",
        {"r": []},
        edits=[
            ("rules:\n", "  paper: {source: f, path: paper.csv, columns: {amount: decimal}}\nrules:\n"),
            ("kind: duplicates, dataset: bank,", "kind: reconciliation, left: bank, right: paper,"),
            ("key: [account, amount]", "key: [reference, amount]"),
        ],
        why="the expected entry is a second side, because a rule without findings shows no values",
        more={"paper.csv": "reference,amount\nCARD-1234567890-EXTRA-LONG,-10.00\n"},
        matched={"r": 1},
    ),
    Case("pub-08-camt-052-054", {"r": []}, matched={"r": 1}),
    Case("pub-08-camt-052-054", {"r": []}, matched={"r": 2}, below="camt054"),
    Case(
        "pub-09-ofx",
        {"r": ["duplicate a.ofx:1 a.ofx:2 [1 2026-01-05 -10.00]"]},
        edits=[("key: [FITID]", "key: [FITID, booked, amount]")],
        why="day and amount are in the key to be shown",
    ),
    Case(
        "pub-11-word-order",
        {"r": ["duplicate 1 2 3 4 [cruise tom]"]},
        edits=[("[unaccent, casefold, letters]", "[unaccent, casefold, words]")],
        why="the words in any order are `words`",
    ),
    Case("pub-12-compare-all", {"r": ["mismatch 1|1 [1] amt name flt"]}, matched={"r": 3}),
    Case(
        "pub-13-merged-cells",
        {"ord": []},
        edits=[("m: {source: w, sheet: M}", "m: {source: w, sheet: M, fill: [order]}")],
        why="cells that are merged are filled down by `fill`",
        matched={"ord": 2},
    ),
    Case(
        "pub-15-sql-over-files",
        {"r": ["duplicate 3 [3]"]},
        edits=[
            (
                "select n as group_key, n from d",
                "select n as group_key, n from (select *, lag(balance) over (order by n) as previous from d) "  # noqa: ISC004
                "where previous + amount <> balance",
            )
        ],
        why="the query was a stand-in that looked at nothing",
    ),
    Case(
        "pub-17-mapping-in-a-file",
        {"r": ["mismatch CUP-B|90002 [90002] qty"]},
        edits=[("{map: m.csv}", "{map: {dataset: map, from: sku, to: item}}")],
        why="a lookup names the dataset and its two columns",
        matched={"r": 2},
    ),
    Case("pub-20-either-of-two-columns", {"r": ["right_only |A3 [A3]"]}, matched={"r": 2}),
    Case(
        "pub-21-either-tolerance",
        {"r": ["mismatch 4|4 [4] v"]},
        edits=[("percent: 1}", "percent: 1%, hold: either}")],
        why="two limits of which one is enough are `hold: either`",
        matched={"r": 4},
    ),
    Case("pub-23-json-array", {"r": ["duplicate a.json:1 a.json:2 [A]"]}),
    Case(
        "pub-24-epoch-time",
        {"r": []},
        edits=[("created: instant,", "created: instant epoch s,")],
        why="the unit of a number that is a time is declared",
        matched={"r": 2},
    ),
    Case("pub-25-workbook-formula-results", {"v": ["mismatch 10|10 [10] v"]}, matched={"v": 26}),
    Case(
        "pub-25-workbook-formula-results",
        {
            "r": ["duplicate 1 2 [A 3.30], 3.30 EUR", "duplicate 3 4 [B 5.00], 5.00 EUR"],
            "s": ["duplicate 1 2 [A], 3.30 EUR", "duplicate 3 4 [B], 5.00 EUR"],
        },
        below="duplicates",
    ),
    Case(
        "pub-27-invisible-characters",
        {"sq": ["duplicate 1 2 3 4 5 6 [acme ltd]"], "al": ["duplicate 1 2 3 4 5 6 [acmeltd]"]},
    ),
    Case("pub-28-amount-notations", {"r": ["duplicate 1 10 2 3 4 5 6 7 8 [-1234.50]"]}),
]


def _masked_beside_clear(folder: Path) -> str:
    """A key that is masked in one dataset only is an error of `check`, with the place and the setting to add."""
    answer = _reconcile(folder, "check")
    wanted = "add `pii: [email]` to dataset `crm`"
    return "" if answer.returncode == 2 and wanted in answer.stderr else f"exit {answer.returncode}: {answer.stderr}"


def _suggested_id(folder: Path) -> str:
    """`suggest` proposes no text as an id; with an id that repeats, a run says so; without, the payment is found."""
    proposal = _reconcile(folder, "suggest", "jan.csv").stdout
    if "\n    id:" in proposal:
        return "suggest proposes an id"
    repeated = _reconcile(folder, "run", "--dry-run").stderr
    if "1 record shares its id with another" not in repeated:
        return f"a run does not say that ids repeat: {repeated}"
    path = folder / CONFIGURATION
    path.write_text(path.read_text().replace("id: Verwendungszweck, ", ""))
    case = Case("", {"twice": ["duplicate feb.csv:4 feb.csv:8 [Müller GmbH -750.00]"]})
    return _differences(case, _answer(folder))


def _edited_where(folder: Path) -> str:
    """A finding whose records no longer meet an edited `where` stays, with exit code 3 and a message."""
    script = (folder / "run.sh").read_text()
    for name in ("c.csv", CONFIGURATION):
        text = script.partition(f"> {name} <<'")[2]
        mark, _, text = text.partition("'\n")
        (folder / name).write_text(text.partition(f"\n{mark}\n")[0] + "\n")
    _reconcile(folder, "run")
    told = (folder / "m.txt").read_text()
    path = folder / CONFIGURATION
    path.write_text(path.read_text().replace("'succeeded'", "'Succeeded'"))
    code = _reconcile(folder, "run").returncode
    (finding,) = json.loads(_reconcile(folder, "findings", "--state", "all", "--json").stdout)
    is_told = (folder / "m.txt").read_text() != told
    return "" if (code, finding["state"], is_told) == (3, "open", True) else f"{code} {finding['state']} {is_told}"


PROCEDURES: Mapping[str, Callable[[Path], str]] = {
    "new-masked-beside-clear": _masked_beside_clear,
    "new-suggest-id": _suggested_id,
    "new-where-edited": _edited_where,
}
"""Cases that are more than one run; each returns what is wrong, or an empty text."""


def _reconcile(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RECONCILE, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def _answer(folder: Path) -> dict[str, Any]:
    """The result of a dry run; raises RuntimeError with what it said if there is none."""
    answer = _reconcile(folder, "run", "--dry-run", "--json")
    if answer.returncode not in (0, 1):  # 1: some values of a rule cannot be read; the findings are there
        raise RuntimeError(f"exit {answer.returncode}: {answer.stderr.strip()}")
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


def _differences(case: Case, answer: Mapping[str, Any]) -> str:
    """Return what differs from the expectation; an empty text if nothing does."""
    problems = []
    for rule, expected in case.findings.items():
        findings = sorted(_in_words(item) for item in answer["findings"] if item["rule"] == rule)
        if findings != sorted(expected):
            problems.append(f"{rule}: {findings}")
    matched = {rule["rule"]: rule.get("matched") for rule in answer["rules"]}
    problems += [f"{rule}: {matched[rule]} matched" for rule, count in case.matched.items() if matched[rule] != count]
    return "; ".join(problems)


def _in_words(finding: Mapping[str, Any]) -> str:
    if "keeper" in finding:
        rows = [f"{file}:{row}" for file, row in finding.get("places", ())]
        records = " ".join(sorted(rows or [_id(item) for item in (finding["keeper"], *finding["surplus"])]))
    else:
        records = "|".join(" ".join(sorted(map(_record, finding[side]))) for side in ("left", "right"))
    key = " ".join(map(_shown, finding["key"].values()))
    columns = " ".join(difference["column"] for difference in finding.get("differences", ()))
    money = "".join(f", {amount} {currency}" for currency, amount in finding["money"].items())
    return f"{finding['form']} {records} [{key}]{' ' * bool(columns)}{columns}{money}"


def _record(record: Mapping[str, Any]) -> str:
    place = record.get("place")
    return f"{place[0]}:{place[1]}" if place else _id(record["id"])


def _id(parts: Sequence[object]) -> str:
    return "/".join(map(str, parts))


def _shown(value: object) -> str:
    return "-" if value is None else str(value)


def _judge(source: Path, case: Case | None, temporary: Path) -> str:
    """Run one case on a copy of its folder; return what is wrong."""
    copy = temporary / source.name
    shutil.copytree(source, copy, dirs_exist_ok=True)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755)
    if case is None:
        return PROCEDURES[source.name](copy)
    folder = copy / case.below
    for name, content in case.more.items():
        (folder / name).write_text(content)
    configuration = (folder / CONFIGURATION).read_text()
    for old, new in case.edits:
        if old not in configuration:
            return f"the case no longer contains {old!r}"
        configuration = configuration.replace(old, new)
    (folder / CONFIGURATION).write_text(configuration)
    return _differences(case, _answer(folder))


def _parts(name: str) -> Sequence[Case | None]:
    """The parts of a case, each judged by itself; none if the table does not know it."""
    return [None] if name in PROCEDURES else [case for case in CASES if case.folder == name]


def _problem(source: Path) -> str:
    try:
        with tempfile.TemporaryDirectory(prefix="case-") as temporary:
            problems = [_judge(source, case, Path(temporary) / str(n)) for n, case in enumerate(_parts(source.name))]
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        return f"{type(error).__name__}: {error}"
    return "; ".join(filter(None, problems)) if problems else "the table does not know it"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cases", description=__doc__)
    parser.add_argument("folder", type=Path)
    folders = sorted(path for path in parser.parse_args().folder.iterdir() if path.is_dir())
    right = 0
    for source in folders:
        problem = _problem(source)
        right += not problem
        print(f"{'wrong' if problem else 'as expected'}  {source.name}{': ' * bool(problem)}{problem}")
        reasons = [case.why for case in _parts(source.name) if case is not None and case.why]
        print("".join(f"             spelled today: {reason}\n" for reason in reasons), end="", flush=True)
    print(f"{right} of {len(folders)} as expected")
    return 0 if right == len(folders) else 1


if __name__ == "__main__":
    sys.exit(main())
