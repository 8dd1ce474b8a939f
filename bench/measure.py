"""Run contenders as whole processes, interleaved, and keep wall time, processor time and peak memory of each."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Contender:
    """One way to get an answer: a command whose standard output is the answer."""

    name: str
    command: Callable[[], Sequence[str]]
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    answer: str = ""

    @property
    def time(self) -> float:
        return statistics.median(self.seconds)

    @property
    def cpu(self) -> float:
        """Seconds of processor time, its own and the system's: other load on the machine changes it least."""
        return statistics.median(self.processor)

    @property
    def memory(self) -> float:
        return statistics.median(self.megabytes)


@dataclass(frozen=True)
class Took:
    """The cost of a whole process: wall time, processor time with the system's, and its own peak memory."""

    seconds: float
    processor: float
    megabytes: float


def took(command: Sequence[str], folder: str | None = None, allowed: Sequence[int] = (0,)) -> tuple[Took, str]:
    """Run the command; return its cost and output. Raises RuntimeError with its last output if it fails."""
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.NamedTemporaryFile() as result_file,
    ):
        launched = [sys.executable, "-IS", str(Path(__file__).with_name("launch.py")), result_file.name, *command]
        code = subprocess.run(launched, stdout=out, stderr=err, cwd=folder, check=False).returncode
        out.seek(0)
        err.seek(0)
        if code not in allowed:
            raise RuntimeError(f"{' '.join(command)[:200]} failed: {err.read()[-2000:].decode(errors='replace')}")
        return Took(**json.loads(result_file.read())), out.read().decode().strip()


def run_once(contender: Contender, allowed: Sequence[int] = (0,)) -> None:
    """Run one whole process; raises RuntimeError with its last output if it fails."""
    usage, contender.answer = took(contender.command(), allowed=allowed)
    contender.seconds.append(usage.seconds)
    contender.processor.append(usage.processor)
    contender.megabytes.append(usage.megabytes)


def interleave(contenders: Sequence[Contender], runs: int) -> None:
    """Run every contender once, then all again …, so that other load on the machine affects all alike."""
    for turn in range(runs):
        for contender in contenders:
            run_once(contender)
            cost = f"{contender.seconds[-1]:.2f} s, {contender.megabytes[-1]:.0f} MB"
            print(f"  {turn + 1}/{runs} {contender.name}: {cost}", file=sys.stderr)


def table(contenders: Sequence[Contender], base: Contender) -> str:
    """A Markdown table: medians, and ratios to `base`."""
    rows = [
        "| | seconds | ratio | CPU seconds | ratio | peak MB | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows += [
        f"| {c.name} | {c.time:.2f} | {c.time / base.time:.2f} | {c.cpu:.2f} | {c.cpu / base.cpu:.2f} "
        f"| {c.memory:.0f} | {c.memory / base.memory:.2f} |"
        for c in contenders
    ]
    return "\n".join(rows)
