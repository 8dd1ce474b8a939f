"""A cleaning that has to wait: what defers it, the door that asked for it, what becomes of it, and who counts that.

A `Cell` is one such story in a shop of its own. The `Witness` reads the bodies that a receiver got, and the tables of
the shop and of the state, by plain SQL: nothing of the product counts for it.
"""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile import config, points
from reconcile.app import Application
from reconcile.chat import endpoint, presses
from reconcile.cleaning.execution import executor
from reconcile.coordination import pauses
from reconcile.coordination.pauses import Paused
from reconcile.journal import breaker
from reconcile.messages import between
from reconcile.people import tokens, users
from reconcile.people.roles import Role
from reconcile.store import Store
from reconcile.testing.slack_server import SlackServer
from tests.support.cli import KeptFolder
from tests.support.web import Browser, site_of
from tests.support.world import DELETE, World

Json = dict[str, Any]

NOON = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
TWINS = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "a@x", "Anni"))
OTHERS = tuple((ident, f"{ident}@x", "Bob") for ident in range(10, 34))
"""So many that losing half of them looks wrong."""
EXPIRES = dt.timedelta(hours=2)
STAND_BACK = dt.timedelta(minutes=5)
"""The delay of a plan that a limit holds back."""
TOO_LOW = {"records": 1, "share": "100%", "group": 100}
A_LOOK = dt.timedelta(seconds=65)
"""The time between two looks: news of `serve` is told after a minute."""

DEFERRALS = (
    *("lock", "window", "pause of rule", "pause of job", "pause of source", "target", "breaker", "refused owner"),
    *("limit", "drift", "two persons"),
)
DOORS = ("run", "approve", "serve", "console", "api", "slack")
OUTCOMES = ("done", "void", "expired", "undone")
AUTOMATIC = ("run", "serve")
"""Doors at which nobody is asked."""


@dataclass(frozen=True)
class Cell:
    """One story; `place` names the databases of its state and of its shop."""

    deferral: str
    door: str
    outcome: str
    place: str = "sqlite"

    def __str__(self) -> str:
        return "-".join((self.deferral, self.door, self.outcome, self.place)).replace(" ", "_")

    @property
    def beginning(self) -> str:
        """Name what a first run leaves; cells with the same name begin alike."""
        rule = self.deferral if self.deferral in ("limit", "two persons") else "any"
        return f"{rule}-{self.door}".replace(" ", "_")

    @property
    def asked_instead(self) -> str | None:
        """Return why the cell cannot exist as it is named: people are asked instead. None if it exists."""
        return ASKED_INSTEAD.get(self.deferral) if self.door in AUTOMATIC else None


ASKED_INSTEAD = {
    "limit": "a plan that needs no approval and exceeds a limit is not approved: people are asked about it",
    "two persons": "a rule that needs two people has no cleaning without a person: they are asked",
}
"""Deferrals that cannot exist at an automatic door, with the reason."""


class Receiver:
    """A web server on this machine that keeps each message it gets."""

    def __init__(self) -> None:
        self.bodies: list[Json] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/hook"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@dataclass
class Witness:
    """Counts messages, log entries and rows by itself."""

    receiver: Receiver
    state: sa.Engine
    shop: sa.Engine

    COUNTS = (
        *("awaiting", "waiting", "undos_waiting", "cleaned", "undone", "stale", "expired", "void", "withdrawn"),
        *("failed", "quarantined", "not_undone"),
    )

    def told(self) -> Counter[str]:
        """Return what the bodies say became of cleanings, in sum; `stopped` counts sentences of a stopped rule."""
        counts: Counter[str] = Counter()
        for notice in self._cleanings():
            counts.update({name: notice[name] for name in self.COUNTS})
            counts["stopped"] += notice["stopped"] is not None
        return +counts

    def reasons(self) -> list[str]:
        """Return why cleanings wait, as the bodies say."""
        return [notice["waits_for"] or notice["stopped"] or "" for notice in self._cleanings() if _waits(notice)]

    def troubles(self) -> Counter[str]:
        """Return the beginnings and ends of troubles."""
        told = (body["trouble"] for body in self.receiver.bodies if body["trouble"] is not None)
        return Counter(
            f"{trouble['subject'].partition(':')[0]} {'ended' if trouble['ended'] else 'begun'}" for trouble in told
        )

    def repeated(self) -> list[str]:
        """Return ids of messages that came twice."""
        ids = Counter(body["id"] for body in self.receiver.bodies)
        return [name for name, count in ids.items() if count > 1]

    def logged(self) -> list[tuple[str, Json]]:
        """Return the entries of the log with their bodies, in order."""
        statement = "SELECT audit.event, audit_bodies.body FROM audit JOIN audit_bodies USING (seq) ORDER BY audit.seq"
        with self.state.connect() as connection:
            rows = connection.exec_driver_sql(statement).all()
        return [(event, json.loads(body) if isinstance(body, str) else body) for event, body in rows]

    def count(self, event: str) -> int:
        return sum(logged == event for logged, _ in self.logged())

    def entries(self) -> Counter[str]:
        """Return the entries of the log that begin, approve or end plans."""
        names = {"plan.skipped": "skipped", "operation.skipped": "skipped"}
        counted = ("plan.proposed", "approval.approved", "plan.approved", "operation.succeeded", "skipped")
        entries = Counter(names.get(event, event) for event, _ in self.logged())
        return Counter({name: entries[name] for name in counted if entries[name]})

    def plans(self) -> list[tuple[str, str, str | None, int]]:
        """Return the plans as the state has them: id, state, the plan it undoes, attempts."""
        with self.state.connect() as connection:
            statement = "SELECT id, state, undoes, attempts FROM plans ORDER BY created_at, id"
            return [tuple(row) for row in connection.exec_driver_sql(statement)]  # type: ignore[misc]

    def customers(self) -> list[tuple[Any, ...]]:
        with self.shop.connect() as connection:
            return [
                tuple(row) for row in connection.exec_driver_sql("SELECT id, email, name FROM customers ORDER BY id")
            ]

    def _cleanings(self) -> Iterator[Json]:
        for body in self.receiver.bodies:
            yield from body["cleaning"]


def _waits(notice: Json) -> bool:
    return bool(notice["waiting"] or notice["stopped"])


@dataclass(frozen=True)
class Kept:
    """The files and the messages that a first run left."""

    files: KeptFolder
    bodies: list[Json]
    posted: list[Json]

    @classmethod
    def of(cls, story: Story) -> Kept:
        posted = [] if story.slack is None else copy.deepcopy(story.slack.messages)
        return cls(KeptFolder(story.world.folder), copy.deepcopy(story.receiver.bodies), posted)

    def restore(self, story: Story) -> None:
        self.files.restored()
        story.receiver.bodies[:] = copy.deepcopy(self.bodies)
        if story.slack is not None:
            story.slack.messages[:] = copy.deepcopy(self.posted)


@dataclass
class Story:
    """A cell while it is played."""

    cell: Cell
    world: World
    receiver: Receiver
    slack: SlackServer | None
    stack: ExitStack
    patch: pytest.MonkeyPatch
    state_url: str | None = None
    answers: list[str] = field(default_factory=list)
    """What the command line said to people who decided."""

    # The world

    def prepare(self, kept: dict[str, Kept]) -> None:
        """Customers of whom three are one, after a first run: it only reports, or asks.

        What it left on SQLite is `kept` for other cells in the same folder.
        """
        self._pass_time_by_itself()
        self.world.clock = NOON
        self._configure()
        if self.cell.place != "sqlite":
            self._begin()
        elif self.cell.beginning in kept:
            kept[self.cell.beginning].restore(self)
        else:
            self._begin()
            kept[self.cell.beginning] = Kept.of(self)

    def _configure(self) -> None:
        cell, world = self.cell, self.world
        approval = "none" if cell.door in AUTOMATIC else "required"
        rule = DELETE | {"approval": "two_person" if cell.deferral == "two persons" else approval}
        rule |= {"approval_expires": "2h", "retry": "calm"}
        if cell.asked_instead and cell.deferral == "limit":
            rule["limits"] = TOO_LOW
        world.rules = {"twins": rule}
        hook = {"type": "webhook", "url": self.receiver.url, "allow": ["127.0.0.0/8"]}
        channels: Json = {"team": hook}
        if self.slack is not None:
            settings = {"token": self.slack.token, "base_url": self.slack.base_url, "channel": "C0FINANCE1"}
            settings |= {"signing_secret": self.slack.signing_secret, "team": "T000TESTS", "app": "A000TESTS"}
            channels["chat"] = {"type": "slack", **settings, "users": {"U0MARIA01": "bob", "U0NOOR001": "rita"}}
        calm = {"base": "10m", "cap": "10m", "attempts": 5, "budget": "10h"}
        world.config = {"channels": channels, "retry": {"calm": calm}, "timezone": "UTC"}
        world.config["jobs"] = {"nightly": {"rules": "all", "notify": list(channels)}}
        if self.state_url is not None:
            world.config["state"] = self.state_url

    def _begin(self) -> None:
        world = self.world
        world.shop.sql("CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
        self.insert(*TWINS, *OTHERS)
        self.run()
        if self.slack is not None:
            with self.open() as application, application.store.begin() as tx:
                for name in ("bob", "rita"):
                    users.add(tx, name, Role.REVIEWER, by="tests")

    def insert(self, *rows: tuple[Any, ...]) -> None:
        values = ", ".join(f"({ident}, '{email}', '{name}')" for ident, email, name in rows)
        self.world.shop.sql(f"INSERT INTO customers (id, email, name) VALUES {values}")

    def witness(self) -> Witness:
        url = sa.make_url(self.state_url or f"sqlite:///{self.world.folder / 'reconcile.db'}")
        options = {} if self.state_url is None else {"options": "-csearch_path=reconcile"}
        state = sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args=options)
        return Witness(self.receiver, state, self.world.shop.engine)

    @contextmanager
    def open(self) -> Iterator[Application]:
        self.world.write()
        with Application(config.load(self.world.folder / "reconcile.yaml", {})) as application:
            yield application

    def pass_time(self, time: dt.timedelta) -> None:
        assert self.world.clock is not None
        self.world.clock += time

    def _pass_time_by_itself(self) -> None:
        """All doors read the clock of the world, and waiting puts it forward; a locked database says so soon."""
        opened: Any = Store.open.__func__  # type: ignore[attr-defined]

        def open_store(cls: type[Store], *arguments: Any, clock: Any = None, **named: Any) -> Store:
            store: Store = opened(cls, *arguments, clock=clock or (lambda: self.world.clock), **named)
            return store

        defaults: Any = Application.__init__.__kwdefaults__
        self.patch.setattr(Store, "open", classmethod(open_store))
        self.patch.setitem(defaults, "sleep", lambda seconds: self.pass_time(dt.timedelta(seconds=seconds)))
        self.patch.setattr(executor, "DEADLINE", 1.0)

    # The doors

    @property
    def finding(self) -> str:
        with self.witness().state.connect() as connection:
            return str(connection.exec_driver_sql("SELECT id FROM findings").scalar_one())

    @property
    def plan_hash(self) -> str:
        with self.witness().state.connect() as connection:
            statement = "SELECT plan_hash FROM plans WHERE state = 'awaiting_approval'"
            return str(connection.exec_driver_sql(statement).scalar_one())

    def run(self) -> None:
        """Run the job as the command line does, or as `serve` does with its duties after it."""
        if self.cell.door in ("run", "approve"):
            self.world.write()
            answer = self.world.command("run")
            assert answer.code in (0, 3, 4), answer.said
            return
        with self.open() as application:
            assert self.world.clock is not None
            with suppress(Paused):
                application.run_slot("nightly", self.world.clock, "schedule")
            application.deliver()

    def duties(self) -> None:
        """The duties of `serve` between runs: clean, tell, deliver."""
        with self.open() as application:
            application.clean_due()
            with application.store.begin() as tx:
                if between.is_due(tx):
                    between.tell(tx, application.project)
            application.deliver()

    def look(self, times: int = 2) -> None:
        """Time passes, and everything looks again that does so by itself."""
        for _ in range(times):
            self.pass_time(A_LOOK)
            if self.cell.door not in ("run", "approve"):
                self.duties()
            self.run()

    def ask(self) -> None:
        """Ask for the cleaning at the door."""
        if self.cell.door in AUTOMATIC:
            self.pass_time(A_LOOK)
            self.run()
        else:
            self.decide("approve", "bob", *(["--later"] if self.cell.deferral == "limit" else []))
        if self.cell.door not in ("run", "approve", "serve"):
            self.duties()

    def defer(self) -> Callable[[], None]:
        """Ask for the cleaning, which has to wait; return what ends that."""
        cause, ends = CAUSES[self.cell.deferral], list[Callable[[], None]]()
        if cause.late and self.cell.asked_instead is None:
            with once_approved(lambda: ends.append(cause.begin(self))):
                self.ask()
        else:
            ends.append(cause.begin(self))
            self.ask()
        [end] = ends
        return end

    def come_to_its_outcome(self, end: Callable[[], None]) -> None:
        """End what defers the cleaning, change the records or let the time pass, and look at what becomes of it."""
        needs_person = self.cell.deferral == "two persons" or self.cell.asked_instead is not None
        if self.cell.outcome == "expired":
            self.pass_time(EXPIRES)
        if not (needs_person and self.cell.outcome in ("void", "expired")):  # nobody approves any more
            end()
        if self.cell.outcome == "void":
            self.world.shop.sql("UPDATE customers SET email = 'two@x' WHERE id = 2")
            self.world.shop.sql("UPDATE customers SET email = 'three@x' WHERE id = 3")
        self.look()
        if self.cell.outcome == "undone":
            self.decide("undo", "otto")
            self.look()

    def decide(self, decision: str, person: str, *options: str) -> None:
        """Let a person decide at the door; where nobody decides there, on the command line."""
        if self.cell.door in _DECIDE:
            _DECIDE[self.cell.door](self, decision, person)
        else:
            _on_command_line(self, decision, person, *options)


def _on_command_line(story: Story, decision: str, person: str, *options: str) -> None:
    story.world.write()
    answer = story.world.command(decision, story.finding, *options, RECONCILE_ACTOR=person)
    assert answer.code in (0, 3, 4), answer.said
    story.answers.append(answer.out)


def _in_console(story: Story, decision: str, person: str) -> None:
    with _people_of(story) as address:
        browser = Browser(address)
        assert browser.sign_in(person).status == 303
        page = f"/findings/{story.finding}"
        plan = {"plan": story.plan_hash} if decision == "approve" else {}
        answer = browser.send(f"{page}/{decision}", page, **plan)
        assert answer.status == 303, answer.text


def _over_api(story: Story, decision: str, person: str) -> None:
    with _people_of(story) as address, story.open() as application:
        with application.store.begin() as tx:
            token = tokens.add(tx, f"{decision}-{person}", person, by=person)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        body = {"plan_hash": story.plan_hash} if decision == "approve" else {}
        path = f"/api/v1/findings/{story.finding}/{decision}"
        answer = Browser(address, headers).ask("POST", path, json.dumps(body))
        assert answer.status == 200, answer.text


def _in_slack(story: Story, decision: str, person: str) -> None:
    if decision != "approve":  # Slack has no button for it
        _on_command_line(story, decision, person)
        return
    slack = story.slack
    assert slack is not None
    buttons = [
        (message, button["action_id"])
        for message in slack.messages
        for button in slack.buttons(message)
        if button["action_id"].startswith("approve:")
    ]
    message, button = buttons[-1]
    headers, body = slack.request(slack.pressed(message, button, "U0MARIA01" if person == "bob" else "U0NOOR001"))
    with story.open() as application:
        answer = endpoint.answer(application.project, application.store, headers, body)
        assert (answer.status, answer.kept) == (200, 1), answer.reason
        [handled] = presses.handle_due(application)
        assert handled.changed, handled.sentence


_DECIDE: dict[str, Callable[[Story, str, str], None]] = {
    "console": _in_console,
    "api": _over_api,
    "slack": _in_slack,
}


@contextmanager
def _people_of(story: Story) -> Iterator[str]:
    """The console and the API of the story's world; its address."""
    with site_of(story.world, {"bob": Role.REVIEWER, "rita": Role.REVIEWER, "otto": Role.OPERATOR}) as site:
        yield site.listener.address


# What defers


@dataclass(frozen=True)
class Deferral:
    """What makes a cleaning wait: `begin` returns what ends it.

    Where a door would refuse at once, the cause is `late`: it begins after the approval and before the execution.
    `says` is in the reason that people read; `begun` and `ended` are its entries in the log, each once.
    """

    begin: Callable[[Story], Callable[[], None]]
    says: str
    begun: str | None = None
    ended: str | None = None
    late: bool = False


def _lock(story: Story) -> Callable[[], None]:
    connection = story.stack.enter_context(closing(story.world.shop.engine.raw_connection()))
    cursor = connection.cursor()
    if story.world.shop.dialect == "sqlite":
        connection.driver_connection.isolation_level = None
        cursor.execute("BEGIN IMMEDIATE")
    else:
        cursor.execute("SELECT * FROM customers FOR UPDATE")
        cursor.fetchall()

    def end() -> None:
        cursor.execute("ROLLBACK")
        story.pass_time(dt.timedelta(minutes=11))  # past the next attempt

    return end


def _window(story: Story) -> Callable[[], None]:
    story.world.config["maintenance"] = [{"source": "shop", "from": "11:00", "to": "13:00"}]
    return lambda: story.pass_time(dt.timedelta(hours=1))


def _pause(subject: str) -> Callable[[Story], Callable[[], None]]:
    def begin(story: Story) -> Callable[[], None]:
        with story.open() as application, application.store.begin() as tx:
            pauses.pause(tx, subject, reason="month end", by="anna")
        return end_of(story)

    def end_of(story: Story) -> Callable[[], None]:
        def end() -> None:
            with story.open() as application, application.store.begin() as tx:
                assert pauses.resume(tx, subject, by="anna")

        return end

    return begin


def _target(story: Story) -> Callable[[], None]:
    with story.open() as application:
        identity = application.target("shop").identity()
        with application.store.begin() as tx:
            breaker.opened_for_person(tx, identity, "The user may not write")

    def end() -> None:
        with story.open() as application, application.store.begin() as tx:
            assert breaker.close(tx, identity, by="anna")

    return end


def _breaker(story: Story) -> Callable[[], None]:
    """The target failed, and then three probes of it, so that people are told and it is left alone for minutes."""
    with story.open() as application:
        identity = application.target("shop").identity()
        for probe in range(1 + breaker.PROBES):
            with application.store.begin() as tx:
                if probe == 0:
                    for _ in range(breaker.FAILURES):
                        breaker.broke(tx, identity, "Source 'shop' did not answer")
                    continue
            story.pass_time(breaker.cool_down(breaker.FAILURES + probe - 1))
            with application.store.begin() as tx:
                allowed = breaker.allow(tx, identity)
                assert isinstance(allowed, breaker.Probe)
                breaker.broke(tx, identity, "Source 'shop' did not answer", probe=allowed)
    return lambda: story.pass_time(breaker.cool_down(breaker.FAILURES + breaker.PROBES))


def _owner(story: Story) -> Callable[[], None]:
    source = story.world.shop.open()
    assert source.adopt("another-state", 1, 1, None, "customers")

    def end() -> None:
        story.world.write()
        answer = story.world.command("target", "adopt", "shop")
        assert answer.code == 0, answer.said

    return end


def _limit(story: Story) -> Callable[[], None]:
    if story.cell.asked_instead:  # it was too low from the beginning
        return lambda: story.decide("approve", "bob", "--over-limit")
    story.world.rules["twins"]["limits"] = TOO_LOW

    def end() -> None:
        del story.world.rules["twins"]["limits"]
        story.pass_time(STAND_BACK)

    return end


def _drift(story: Story) -> Callable[[], None]:
    story.world.shop.sql("DELETE FROM customers WHERE id >= 12")

    def end() -> None:
        story.insert(*OTHERS[2:])
        with story.open() as application:
            application.decisions("anna").allow("twins")
        story.pass_time(dt.timedelta(minutes=11))

    return end


def _second_person(story: Story) -> Callable[[], None]:
    def end() -> None:
        for person in ("bob", "rita") if story.cell.asked_instead else ("rita",):
            story.decide("approve", person)

    return end


CAUSES: dict[str, Deferral] = {
    "lock": Deferral(_lock, "The transaction was rolled back; it can be retried"),
    "window": Deferral(_window, "in maintenance until 23 Nov 2026 13:00"),
    "pause of rule": Deferral(_pause("rule:twins"), "Cleaning by rule 'twins' is paused", "pause.begun", "pause.ended"),
    "pause of job": Deferral(_pause("job:nightly"), "Job 'nightly' is paused", "pause.begun", "pause.ended", late=True),
    "pause of source": Deferral(
        _pause("source:shop"), "Cleaning in source 'shop' is paused", "pause.begun", "pause.ended"
    ),
    "target": Deferral(_target, "The user may not write", "target.opened_for_person", "target.closed"),
    "breaker": Deferral(_breaker, "did not answer"),
    "refused owner": Deferral(_owner, "another", "target.opened", "target.adopted", late=True),
    "limit": Deferral(_limit, "limit", late=True),
    "drift": Deferral(_drift, "compared 5 records", late=True),
    "two persons": Deferral(_second_person, ""),
}


@contextmanager
def once_approved(begin: Callable[[], None]) -> Iterator[None]:
    """Begin once plans are approved, before the first of them is executed."""
    begun: list[str] = []

    def reached(label: str) -> None:
        if label in ("plan.proposed", "approve.committed") and not begun:
            begun.append(label)
            begin()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "armed", reached)
        yield
    assert begun


# Which cells


def every_cell() -> list[Cell]:
    """The full product; most on SQLite, some with their state or their shop on a server."""
    places = itertools.cycle(
        (*["sqlite"] * 5, "state on postgres", *["sqlite"] * 5, "postgres", *["sqlite"] * 5, "mariadb")
    )
    return [Cell(*names, next(places)) for names in itertools.product(DEFERRALS, DOORS, OUTCOMES)]


def every_deferral(cells: Sequence[Cell]) -> list[Cell]:
    """Choose a cell for each pair of door and outcome; their deferrals go round, and so do their places."""
    by_name = {(cell.deferral, cell.door, cell.outcome): cell for cell in cells}
    deferrals = itertools.cycle(DEFERRALS)
    chosen = [by_name[next(deferrals), door, outcome] for outcome, door in itertools.product(OUTCOMES, DOORS)]
    places = ["sqlite"] * 4 + ["state on postgres"] + ["sqlite"] * 3 + ["postgres"] + ["sqlite"] * 2 + ["mariadb"]
    return [replace(cell, place=place) for cell, place in zip(chosen, itertools.cycle(places), strict=False)]


# What must become of it


def cleans(cell: Cell) -> bool:
    """Return True if the records are cleaned in the end, perhaps with a later plan that needs nobody."""
    by_itself = cell.door in AUTOMATIC and cell.asked_instead is None
    return cell.outcome == "done" or (cell.outcome == "expired" and by_itself)


def left_by(cell: Cell) -> list[tuple[Any, ...]]:
    """Return the customers in the end."""
    if cleans(cell):
        return [TWINS[0], *OTHERS]
    if cell.outcome == "void":
        return [TWINS[0], (2, "two@x", "Ann"), (3, "three@x", "Anni"), *OTHERS]
    return [*TWINS, *OTHERS]


def told_while_waiting(cell: Cell) -> Counter[str]:
    """Return what messages say until then: people were asked once, and once it is told that an approved plan waits."""
    told = Counter[str]()
    if cell.door not in AUTOMATIC or cell.asked_instead:
        told["awaiting"] += 1
    if cell.asked_instead and cell.deferral == "limit":
        told["stopped"] += 1
    if cell.deferral != "two persons" and cell.asked_instead is None and not is_silent(cell):
        told["waiting"] += 1
    return told


def is_silent(cell: Cell) -> bool:
    """Return True if nothing runs that could tell it: a paused job has no runs, and without `serve` nothing else does.

    The command that approved says why it waits.
    """
    return cell.deferral == "pause of job" and cell.door == "approve"


def told_in_the_end(cell: Cell) -> Counter[str]:
    """Return what messages say from the beginning to the end."""
    told = told_while_waiting(cell)
    if cell.outcome in ("done", "undone"):
        told += Counter({"cleaned": 1, "undone": cell.outcome == "undone"})
    if cell.outcome == "void" and not cell.asked_instead:  # what nobody approved ends with its finding
        told["stale"] += 1
    if cell.outcome == "expired":
        told += Counter({"expired": 1, "cleaned": cleans(cell), "awaiting": not cleans(cell)})
        told["stopped"] *= 2  # people are asked again, and why
    return +told


def troubles(cell: Cell) -> Counter[str]:
    """Return the messages about the target: one when it begins, one when it ends."""
    if cell.deferral not in ("target", "breaker", "refused owner"):
        return Counter()
    return Counter({"target begun": 1} if stays_open(cell) else {"target begun": 1, "target ended": 1})


def stays_open(cell: Cell) -> bool:
    """Return True if a plan waits for people, and nothing is sent that shows that the target answers again.

    Without any plan, the trouble is over.
    """
    return cell.deferral == "breaker" and cell.door == "approve" and cell.outcome == "expired"


def entries(cell: Cell) -> Counter[str]:
    """Return the entries of the log that begin, approve or end plans."""
    happens = cell.outcome in ("done", "undone")
    is_asked = cell.door not in AUTOMATIC or cell.asked_instead is not None
    by_one = is_asked and cell.deferral != "two persons" and (happens or cell.asked_instead is None)
    by_two = cell.deferral == "two persons" and happens
    first_of_two = cell.deferral == "two persons" and not happens and cell.asked_instead is None
    return +Counter(
        {
            "plan.proposed": 1 + (cell.outcome in ("expired", "undone")),
            "approval.approved": by_one + 2 * by_two + first_of_two,
            "plan.approved": by_one + by_two,
            "operation.succeeded": happens + (cell.outcome == "undone") + (cleans(cell) and not happens),
            "skipped": not happens,
        }
    )
