"""The front door under kills: every key is completed once, and everybody gets the result of the claim that did it."""

import itertools
import json
import os
import random
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from reconcile.guard import Done, Guard
from reconcile.store import Store
from tests.support.chance import SEED, few
from tests.support.store import Program

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(few(300, 7200))]
PROCESSES = few(8, 32)
KEYS = int(os.environ.get("RECONCILE_DOOR_KEYS") or few(200, 10_000))
KILLS = few(10, 400)
NAMESPACES = {"work": {"lease": "1s", "keep": "1d"}}

WORK = """
import json, random, time
from reconcile.guard import Claim, Done, Guard, ClaimLost

def note(**fact):
    os.write(log, (chr(10) + json.dumps(fact) + chr(10)).encode())

log = os.open(root / "facts.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
with Guard.connect(url, {"work": {"lease": "1s", "keep": "1d"}}, folder=root) as guard:
    draw = random.Random(os.getpid())
    left = list(range(%(keys)d))
    draw.shuffle(left)
    while left:
        key = left.pop()
        answer = guard.claim("work", key)
        if isinstance(answer, Claim):
            began = answer.until.timestamp() - 1
            note(what="began", key=key, fence=answer.fence, attempt=answer.attempt, at=began, until=began + 1)
            time.sleep(draw.random() / 30)  # killed there, its outcome is unknown
            result = {"by": os.getpid(), "fence": answer.fence}
            try:
                answer.complete(result)
                note(what="completed", key=key, fence=answer.fence, result=result)
            except ClaimLost:
                note(what="lost", key=key, fence=answer.fence)
                left.insert(0, key)
        elif isinstance(answer, Done):
            note(what="got", key=key, result=answer.result)
        else:
            left.insert(0, key)
            time.sleep(0.002)
print("done")
"""


def _storm(url: str, root: Path, draw: random.Random) -> int:
    """Let processes work on all keys and kill some at random; return the number of kills."""
    code = WORK % {"keys": KEYS}
    running = [Program(code, url, root).ready().go() for _ in range(PROCESSES)]
    kills = 0
    while running:
        time.sleep(draw.random() * few(1, 10) / 10)
        ended = [program for program in running if not program.process.is_alive()]
        for program in ended:
            assert program.end() == "done"
            running.remove(program)
        if running and kills < KILLS:
            victim = draw.choice(running)
            victim.kill()
            running.remove(victim)
            running.append(Program(code, url, root).ready().go())
            kills += 1
    return kills


@pytest.mark.server
@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_every_key_is_completed_once_and_all_others_get_its_result(url: str, tmp_path: Path) -> None:
    with Store.open(url, tmp_path):
        pass

    kills = _storm(url, tmp_path, random.Random(SEED))

    lines = [line for line in (tmp_path / "facts.jsonl").read_text().splitlines() if line]
    facts = [json.loads(line) for line in lines if line.endswith("}") and line.startswith('{"what"')]
    assert len(lines) - len(facts) <= kills, "only a kill cuts a line, and what it would say did not happen any more"
    of_key: dict[int, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        of_key[fact["key"]][fact["what"]].append(fact)
    with Guard.connect(url, NAMESPACES, folder=tmp_path) as guard:
        results = {key: guard.claim("work", key) for key in range(KEYS)}
    for key, answer in results.items():
        told = of_key[key]
        assert isinstance(answer, Done), (SEED, key, answer)
        assert len(told["completed"]) <= 1, (SEED, key, told)
        assert all(item["result"] == answer.result for item in [*told["completed"], *told["got"]]), (SEED, key, told)
        assert answer.result["fence"] in [item["fence"] for item in told["began"]], (SEED, key, told)
        attempts = sorted(told["began"], key=lambda item: item["fence"])
        for earlier, later in itertools.pairwise(attempts):
            assert later["at"] >= earlier["until"] - 0.001, f"two claims at a time: seed {SEED}, {earlier}, {later}"
    assert kills >= few(3, KEYS // 100), "too few were killed to show anything"
    assert sum(len(told["got"]) for told in of_key.values()) > KEYS
