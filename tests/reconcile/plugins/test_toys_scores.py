"""A kind of another package says by what and how much records are alike: people see it wherever they see a finding."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.web import cheap_hashes, site_of
from tests.support.world import World
from tests.toys import install

__all__ = ["cheap_hashes"]

EVIDENCE = "same email, similar name (0.97)"
CONFIGURATION: dict[str, Any] = {
    "sources": {"shop": {"type": "sql", "url": "sqlite:///shop.db"}, "exports": {"type": "files", "root": "."}},
    "datasets": {
        "customers": {"source": "shop", "table": "customers", "id": "id"},
        "contacts": {"source": "exports", "path": "contacts.csv", "id": "number"},
    },
    "rules": {
        "lookalikes": {"kind": "resembling", "left": "customers", "right": "contacts", "compare": ["email", "name"]}
    },
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Two customers, one of whom is a contact under another name."""
    install(tmp_path, monkeypatch)
    (tmp_path / "contacts.csv").write_text("number,email,name\nc1,ann@x,Annabel\nc2,zoe@y,Zoe\n")
    return World.at(tmp_path, (1, "ann@x", "Annabell"), (2, "bob@z", "Robert"), config=CONFIGURATION)


@pytest.mark.slow
def test_a_score_is_shown_by_command_line_console_message_and_sheet(world: World) -> None:
    world.run()
    finding = world.only()

    assert EVIDENCE in world.command("show", finding).out
    assert EVIDENCE in world.messages()
    assert world.command("export", "findings.csv").code == 0
    [row] = csv.DictReader((world.folder / "findings.csv").read_text("utf-8-sig").splitlines())
    assert EVIDENCE in row["why"]
    [shown] = json.loads(world.command("findings", "--json").out)
    assert shown["links"] == [
        {"records": [0, 1], "keys": [], "bridge": True, "detail": "same email, similar name", "weight": "0.97"}
    ]
    with site_of(world) as site:
        assert EVIDENCE in site.browser("vic").get(f"/findings/{finding}").text
