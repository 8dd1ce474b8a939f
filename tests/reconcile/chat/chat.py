"""A shop whose messages have buttons, a local Slack, and people who press them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reconcile import config
from reconcile.app import Application
from reconcile.audit import log
from reconcile.chat import endpoint, presses
from reconcile.chat.endpoint import EndpointAnswer
from reconcile.findings.shown import Finding
from reconcile.people import users
from reconcile.people.roles import Role
from reconcile.store.findings import find
from reconcile.testing.slack_server import SlackServer

Json = dict[str, Any]

_LIMITS = {"records": 10, "share": "100%"}
MARIA, NOOR, VIEWER, STRANGER = "U0MARIA01", "U0NOOR001", "U0VIEWER1", "U0STRANGE"


@dataclass
class Chat:
    """The application, and the Slack that it tells."""

    folder: Path
    slack: SlackServer
    application: Application
    sent: list[Json] = field(default_factory=list)

    @classmethod
    @contextmanager
    def at(
        cls, folder: Path, slack: SlackServer, *, clean: Json | None = None, approval: str = "required", **channel: Any
    ) -> Iterator[Chat]:
        """A shop in which nothing was run yet; with `clean` its rule proposes to delete surplus."""
        with sqlite3.connect(folder / "shop.db") as shop:
            shop.execute("create table orders (id integer primary key, name text, note text)")
        shop.close()
        (folder / "reconcile.yaml").write_text(
            json.dumps(cls.written(slack, clean, channel, approval)), encoding="utf-8"
        )
        with Application(config.load(folder / "reconcile.yaml", {}), sleep=lambda _: None) as application:
            chat = cls(folder, slack, application)
            with application.store.begin() as tx:
                for name, role in (("maria", Role.REVIEWER), ("noor", Role.REVIEWER), ("vi", Role.VIEWER)):
                    users.add(tx, name, role, by="tests")
            yield chat

    @staticmethod
    def written(
        slack: SlackServer, clean: Json | None = None, channel: Json | None = None, approval: str = "required"
    ) -> Json:
        rule = {"kind": "duplicates", "dataset": "orders", "key": ["name"], "keep": [{"first": "id"}]}
        team = {"type": "slack", "token": slack.token, "channel": "C0FINANCE1", "base_url": slack.base_url}
        team |= {"signing_secret": slack.signing_secret, "team": "T000TESTS", "app": "A000TESTS"}
        team |= {"users": {MARIA: "maria", NOOR: "noor", VIEWER: "vi"}}
        return {
            "state": "sqlite:///state.db",
            "listen": "none",
            "sources": {"shop": {"type": "sql", "url": "sqlite:///shop.db"}},
            "datasets": {"orders": {"source": "shop", "table": "orders", "id": "id"}},
            "rules": {
                "double-order": rule | ({"clean": clean, "limits": _LIMITS, "approval": approval} if clean else {})
            },
            "channels": {"team": team | (channel or {})},
            "jobs": {"nightly": {"rules": "all", "notify": ["team"], "existing": "report"}},
        }

    # The shop

    def add(self, *names: str) -> None:
        with sqlite3.connect(self.folder / "shop.db") as shop:
            shop.executemany("insert into orders (name) values (?)", [(name,) for name in names])
        shop.close()

    def sql(self, statement: str) -> list[Any]:
        with sqlite3.connect(self.folder / "shop.db") as shop:
            rows = shop.execute(statement).fetchall()
        shop.close()
        return rows

    def run(self) -> Json:
        """Run the job; returns its message."""
        before = len(self.slack.parents())
        self.application.run("nightly")
        return self.slack.parents()[before]

    # People

    def press(self, message: Json, action: str, user: str = MARIA, **changes: Any) -> EndpointAnswer:
        """Send a press of the first button of that kind, as Slack does."""
        payload = self.slack.pressed(message, self.buttons(message, action)[0], user)
        headers, body = self.slack.request(payload | changes)
        return endpoint.answer(self.application.project, self.application.store, headers, body)

    def buttons(self, message: Json, action: str) -> list[str]:
        return [b["action_id"] for b in self.slack.buttons(message) if b["action_id"].startswith(f"{action}:")]

    def work(self) -> list[str]:
        """Carry out what was pressed, and update messages; what the people were told."""
        handled = presses.handle_due(self.application)
        self.application.deliver()
        return [press.sentence for press in handled]

    # What happened

    def findings(self) -> list[Finding]:
        with self.application.store.read() as tx:
            return find(tx)

    def states(self) -> list[str]:
        return sorted(finding.state.value for finding in self.findings())

    def events(self, event: str) -> int:
        with self.application.store.read() as tx:
            return sum(entry.event == event for entry in log.entries(tx))


def shown(message: Json) -> str:
    """Everything that a message says."""
    return json.dumps(message["blocks"], ensure_ascii=False)
