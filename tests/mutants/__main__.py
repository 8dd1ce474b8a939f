"""Put each naive design into a copy of the code and see that the test named after it fails: `python tests/mutants`.

Not part of the test run: it takes minutes. It writes tests/mutants/RESULTS.md; names choose some of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CODE = HERE.parents[1]
sys.path.insert(0, str(HERE))

from naive import MUTANTS, Mutant  # noqa: E402 - beside this file


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    passes_without: bool
    fails_with: bool
    said: str


def main(chosen: list[str]) -> int:
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for mutant in MUTANTS:
            if not chosen or mutant.name in chosen:
                outcomes.append(tried(mutant, Path(folder) / mutant.name))
                print(line(outcomes[-1]), flush=True)
    if not chosen:
        (HERE / "RESULTS.md").write_text(page(outcomes), encoding="utf-8")
    return 0 if all(outcome.passes_without and outcome.fails_with for outcome in outcomes) else 1


def tried(mutant: Mutant, copy: Path) -> Outcome:
    for name in ("reconcile", "rules", "connectors", "notifications", "tests"):
        shutil.copytree(CODE / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CODE / "pyproject.toml", copy)
    before, _ = _passes(mutant, copy)
    for file, old, new in mutant.edits:
        path = copy / file
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{mutant.name}: {file} has {text.count(old)} times\n{old}")
        path.write_text(text.replace(old, new), encoding="utf-8")
    after, output = _passes(mutant, copy)
    shutil.rmtree(copy)
    return Outcome(mutant, before, not after, output)


def _passes(mutant: Mutant, copy: Path) -> tuple[bool, str]:
    # An editable installation has this checkout on the path, and forked children would run its code, not the copy's.
    code = f"import sys; sys.path[:] = [path for path in sys.path if path != {str(CODE)!r}]; import pytest; "
    run = f"{code}sys.exit(pytest.main(sys.argv[1:]))"
    command = [sys.executable, "-c", run, "-q", "-x", "-p", "no:cacheprovider", *mutant.tests]
    environ = os.environ | {"PYTHONPATH": str(copy), "RECONCILE_SEED": "7"}
    done = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True, check=False, timeout=900)
    failed = [item for item in done.stdout.splitlines() if item.startswith(("FAILED", "ERROR"))]
    if done.returncode not in (0, 1):
        raise SystemExit(
            f"{mutant.name}: pytest ended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-2000:]}"
        )
    return done.returncode == 0, failed[0] if failed else ""


def line(outcome: Outcome) -> str:
    caught = "caught" if outcome.fails_with else "**not caught**"
    sane = "" if outcome.passes_without else " (the test fails without it too)"
    tests = f"`{' '.join(outcome.mutant.tests)}`"
    return f"| {outcome.mutant.name} | {outcome.mutant.design} | {tests} | {caught}{sane} |"


def page(outcomes: list[Outcome]) -> str:
    head = (
        "# Naive designs put in\n\nWritten by `python tests/mutants`: each design is put into a copy of the code, and "
        "the test named after it must fail there and pass without it.\n\n"
        "| | what was put in | the test | |\n| --- | --- | --- | --- |\n"
    )
    return head + "\n".join(map(line, outcomes)) + "\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
