"""Measure kind `similar`: `python -m bench.similar [QUESTION …] [--sets SET …] [--tools TOOL …] [--results FILE]`.

The questions: accuracy (next to Splink, recordlinkage, goldenmatch and dedupe), mutations, ablation, incremental,
leave-one-out. The specialists live in an environment of their own, as bench/similar/peers.txt says; those that are
absent are skipped. The answers are written into bench/RESULTS-similar.md, each in place of the previous one; figures of
sets and tools that are not named stay.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

from bench.similar import ablation, accuracy, incremental, leave_one_out, mutation_table, report, sets

RESULTS = Path(__file__).resolve().parents[1] / "RESULTS-similar.md"
QUESTIONS: dict[str, Callable[[list[str], list[str]], str]] = {
    "accuracy": accuracy.sections,
    "mutations": lambda *_: mutation_table.sections(),
    "ablation": lambda names, _: ablation.sections(names),
    "incremental": lambda *_: incremental.sections(),
    "leave-one-out": lambda names, _: leave_one_out.sections(names),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.similar", description=__doc__)
    parser.add_argument("questions", nargs="*", choices=[*QUESTIONS, []], default=[])
    parser.add_argument("--sets", nargs="*", choices=sorted(sets.SETS), default=list(sets.DEFAULT))
    parser.add_argument("--tools", nargs="*", choices=[tool.name for tool in accuracy.TOOLS], default=[])
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not sets.EXPORTED.exists() and Path(accuracy.PYTHON).exists():
        script = Path(__file__).with_name("export.py")
        subprocess.run([accuracy.PYTHON, str(script), str(sets.EXPORTED)], check=True)
    for question in options.questions or QUESTIONS:  # written after each, because the whole takes a while
        answer = QUESTIONS[question](options.sets, options.tools)
        print(f"\n{answer}\n")
        report.write(options.results, _about(), answer)
    print(f"written to {options.results}")


def _about() -> str:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        "One default serves all sets: a rule names only the types of columns. Rows are shuffled first. Estimated "
        "weights come without labels, by expectation maximisation. Absolute times depend on the machine: "
        f"{os.cpu_count()} cores, {gigabytes:.0f} GB, Python {platform.python_version()}."
    )


if __name__ == "__main__":
    main()
