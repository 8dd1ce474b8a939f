"""Run contenders as whole processes, interleaved, and keep wall time, processor time and peak memory of each."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

CONTENDERS = Path(__file__).with_name("contenders")
RECONCILE = [sys.executable, "-m", "reconcile"]
Answer = TypeVar("Answer", int, str)


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


def contender(script: str, *arguments: str, python: str = sys.executable) -> Contender:
    """One of the scripts in bench/contenders as a whole process."""
    return Contender(script, lambda: [python, str(CONTENDERS / f"{script}.py"), *arguments])


def reconcile(name: str, configuration: str, *arguments: str) -> Contender:
    """A whole `reconcile run` in a fresh folder with a fresh store each time."""

    def command() -> Sequence[str]:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        (folder / "reconcile.yaml").write_text(configuration)
        return [*RECONCILE, "run", "-c", str(folder / "reconcile.yaml"), "--json", "--quiet", *arguments]

    return Contender(name, command)


def members(contender: Contender) -> int:
    """The number of records in groups: printed by every contender or, for Reconcile, listed in its report."""
    if contender.answer.isdigit():
        return int(contender.answer)
    report = json.loads(contender.answer)
    return sum(1 + len(finding["surplus"]) for finding in report["findings"])


def forms(contender: Contender) -> str:
    """The number of findings by form: printed by every contender or, for Reconcile, listed in its report."""
    answer = json.loads(contender.answer)
    counts: dict[str, int] = answer["rules"][0]["forms"] if "rules" in answer else answer
    return ", ".join(f"{count:,} {form}" for form, count in sorted(counts.items()))


def common(contenders: Sequence[Contender], answer: Callable[[Contender], Answer]) -> Answer:
    """The common answer; raises SystemExit if one differs, because the times then mean nothing."""
    answers = {contender.name: answer(contender) for contender in contenders}
    if len(set(answers.values())) != 1:
        raise SystemExit(f"the contenders disagree: {answers}")
    return next(iter(answers.values()))


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
        # Installed packages have their bytecode: a contender that compiles itself in each run would show another cost.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        code = subprocess.run(launched, stdout=out, stderr=err, cwd=folder, env=environment, check=False).returncode
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
