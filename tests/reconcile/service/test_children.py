"""A run in a process of its own, as whoever started it sees it."""

import json
from pathlib import Path

import pytest

from reconcile import config
from reconcile.coordination.lease import Owner
from reconcile.service.children import RunProcess
from reconcile.service.workers import CLAIM, RunOutcome
from reconcile.store import Store
from reconcile.store import slots as stored
from tests.support.serve import request, until


def _child(folder: Path) -> RunProcess:
    """A run of one rule over a small file."""
    (folder / "charges.csv").write_text("id,order\n1,A\n2,A\n")
    written = {
        "state": "sqlite:///state.db",
        "sources": {"shop": {"type": "files"}},
        "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
        "rules": {"twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]}},
        "jobs": {"nightly": {"rules": "all"}},
    }
    (folder / "reconcile.yaml").write_text(json.dumps(written))
    with Store.open("sqlite:///state.db", folder) as store:
        request(store, "nightly")
        with store.begin() as tx:
            row = stored.take(tx, stored.ready(tx)[0], Owner.this_process(CLAIM).to_json(), tx.now + CLAIM)
    assert row is not None
    return RunProcess(config.load(folder / "reconcile.yaml", {}), row, str)


@pytest.mark.slow
def test_a_child_that_ended_says_so_as_often_as_it_is_asked(tmp_path: Path) -> None:
    """The state may not answer when its end is to be put down, and then it is asked again."""
    child = _child(tmp_path)

    until(lambda: child.ended() is not None)

    assert [child.ended(), child.ended()] == [RunOutcome("succeeded")] * 2
    assert child.rule() == "twice"
    child.stop()
    child.kill()


def test_a_child_that_was_killed_died_however_often_it_is_asked(tmp_path: Path) -> None:
    child = _child(tmp_path)

    child.kill()
    until(lambda: child.ended() is not None)

    first = child.ended()
    assert first is not None
    assert (first.how, first) == ("died", child.ended())
