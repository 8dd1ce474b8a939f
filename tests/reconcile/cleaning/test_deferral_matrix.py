"""Whatever defers a cleaning, at whichever door, and whatever becomes of it: it is told and logged exactly once.

The short tier plays enough cells for each pair of door and outcome, and each deferral at least twice; `make chaos`
plays all of them.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from reconcile.testing.slack_server import SlackServer
from tests.reconcile.cleaning.deferral import (
    CAUSES,
    Cell,
    Kept,
    Receiver,
    Story,
    entries,
    every_cell,
    every_deferral,
    left_by,
    told_in_the_end,
    told_while_waiting,
    troubles,
)
from tests.support.chance import SECONDS
from tests.support.web import cheap_hashes
from tests.support.world import World

__all__ = ["cheap_hashes"]

pytestmark = pytest.mark.chaos
CELLS = every_cell() if SECONDS else every_deferral(every_cell())
SERVERS = {"state on postgres": "postgres_url", "postgres": "postgres_url", "mariadb": "mariadb_url"}


def _parameters() -> list[ParameterSet]:
    return [
        pytest.param(cell, id=str(cell), marks=[pytest.mark.server] if cell.place in SERVERS else []) for cell in CELLS
    ]


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def slack() -> Iterator[SlackServer]:
    with SlackServer() as slack:
        yield slack


@pytest.fixture(scope="module")
def kept() -> dict[str, Kept]:
    return {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cells")


@pytest.fixture
def story(
    cell: Cell,
    request: pytest.FixtureRequest,
    folder: Path,
    tmp_path: Path,
    kept: dict[str, Kept],
    receiver: Receiver,
    slack: SlackServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Story]:
    receiver.bodies.clear()
    slack.messages.clear()
    world = World(folder / cell.beginning if cell.place == "sqlite" else tmp_path)
    world.folder.mkdir(exist_ok=True)
    server = None if cell.place == "sqlite" else str(request.getfixturevalue(SERVERS[cell.place]))
    state_url = server if cell.place == "state on postgres" else None
    if server is not None and state_url is None:
        world.url = server
    with ExitStack() as stack:
        chat = slack if cell.door == "slack" else None
        story = Story(cell, world, receiver, chat, stack, monkeypatch, state_url)
        story.prepare(kept)
        yield story


@pytest.mark.parametrize("cell", _parameters())
def test_a_deferred_cleaning_is_told_and_logged_once(cell: Cell, story: Story) -> None:
    witness, cause = story.witness(), CAUSES[cell.deferral]
    before = witness.customers()
    end = story.defer()
    story.look()
    untouched = [row for row in before if row in witness.customers()] == witness.customers()
    waiting, reasons = witness.told(), witness.reasons()

    story.come_to_its_outcome(end)

    assert untouched
    assert witness.customers() == left_by(cell)
    assert waiting == told_while_waiting(cell)
    assert [reason for reason in reasons if cause.says not in reason] == []
    assert len(reasons) == (waiting["waiting"] or waiting["stopped"])
    assert witness.told() == told_in_the_end(cell)
    assert witness.troubles() == troubles(cell)
    assert witness.repeated() == []
    assert witness.entries() == entries(cell)
    assert witness.count("operation.attempted") == sum(attempts for *_, attempts in witness.plans()) - witness.count(
        "operation.sent"
    )
    for event in filter(None, (cause.begun, cause.ended)):
        assert witness.count(event) == 1, event
