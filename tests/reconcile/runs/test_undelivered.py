"""A message that is given up takes nothing with it: its findings are told by the next run that can."""

from pathlib import Path

import pytest
import sqlalchemy as sa

import reconcile
from reconcile.store.tables import outbox

pytestmark = pytest.mark.slow

CONFIGURATION = """
version: 1
sources: {lists: {type: files, root: .}}
datasets: {people: {source: lists, path: people.csv, id: id}}
rules: {twin: {kind: duplicates, dataset: people, key: name}}
channels: {team: {type: file, path: told/messages.txt}}
"""


def run(folder: Path) -> None:
    with reconcile.Application(reconcile.load(folder / "reconcile.yaml").project, sleep=lambda _: None) as project:
        project.run()


def test_findings_of_a_message_that_was_given_up_are_told_by_a_later_run(tmp_path: Path) -> None:
    (tmp_path / "reconcile.yaml").write_text(CONFIGURATION)
    (tmp_path / "people.csv").write_text("id,name\n1,Ann\n2,Ann\n3,Ben\n")
    (tmp_path / "told").write_text("a file where the channel wants a folder")
    run(tmp_path)
    with reconcile.load(tmp_path / "reconcile.yaml") as project, project.store.begin() as tx:
        tx.connection.execute(sa.update(outbox).values(attempts=23, next_at=tx.now, give_up_at=tx.now))
    run(tmp_path)
    (tmp_path / "told").unlink()
    (tmp_path / "told").mkdir()

    run(tmp_path)
    run(tmp_path)

    with reconcile.load(tmp_path / "reconcile.yaml") as project, project.store.read() as tx:
        statuses = tx.connection.execute(sa.select(outbox.c.status).order_by(outbox.c.queued_at)).scalars().all()
    message = (tmp_path / "told" / "messages.txt").read_text()
    assert statuses == ["failed", "sent"]
    assert message.count("── notice ") == 1
    assert "twin" in message
