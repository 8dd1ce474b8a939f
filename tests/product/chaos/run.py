"""The long tier of chaos: `tests/product/chaos/run.py --seconds 1200 [--seed N] [SUITE …]`, which `make chaos` runs.

Every suite marked `chaos` runs, and a table says what it came to. Where a test run tries few cases or a spread of them
(tests/support/chance.py), this tries all. The random ones share twice the seconds, for two run
side by side; those whose cases are counted have so many that they take about their share. What is not random comes on
top: 1,200 seconds took 41 minutes in all on two cores. The soak does not run, for it has to be alone (`make soak`). It
exits as pytest did.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[2]
COLUMNS = (
    *("suite", "kills", "restarts", "runs", "effects", "double", "lost", "quarantined"),
    *("schemas", "cleaned", "undone", "unplanned", "pairs", "verified"),
)
COUNTED = COLUMNS[1:-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("suites", nargs="*", help="only these, like product/chaos/test_kill.py")
    chosen = parser.parse_args()
    seed = random.randrange(10**6) if chosen.seed is None else chosen.seed
    print(f"seed {seed}, {chosen.seconds} s", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.jsonl"
        report.touch()
        told = {
            "RECONCILE_SEED": str(seed),
            "RECONCILE_CHAOS_SECONDS": str(chosen.seconds),
            "RECONCILE_CHAOS_REPORT": str(report),
            "RECONCILE_KILLS": str(max(25, chosen.seconds // 15)),
            "RECONCILE_MODEL_EXAMPLES": str(max(20, chosen.seconds // 20)),
        }
        where = [str(TESTS / suite) for suite in chosen.suites]
        where = where or [str(TESTS), "--ignore", str(TESTS / "product" / "chaos" / "test_soak.py")]
        options = ["-q", "-m", "chaos", "-n", "2", "--dist", "loadfile", "--timeout", str(7200 + 2 * chosen.seconds)]
        suites = [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", *where]
        code = subprocess.run(suites, env=os.environ | told, check=False).returncode
        lines = [json.loads(line) for line in report.read_text().splitlines()]
    print(f"\n{table(lines)}\n\nseed {seed}, {time.monotonic() - begun:,.0f} s, pytest ended with {code}")
    return code


def table(lines: Iterable[Mapping[str, Any]]) -> str:
    """Markdown: a row a suite, and all together."""
    rows = [
        [str(line.get(name, "")) for name in COLUMNS] for line in sorted(lines, key=lambda line: str(line["suite"]))
    ]
    sums = [str(sum(int(row[at] or 0) for row in rows)) for at in range(1, len(COLUMNS) - 1)]
    verified = str(bool(rows) and all(row[-1] == "True" for row in rows))
    whole = [list(COLUMNS), ["---"] * len(COLUMNS), *rows, ["**all**", *sums, verified]]
    return "\n".join(f"| {' | '.join(row)} |" for row in whole)


if __name__ == "__main__":
    raise SystemExit(main())
