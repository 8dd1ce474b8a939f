"""`reconcile serve` as a whole: real processes, told to stop, killed, given broken files and sources that hang."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.audit import log
from reconcile.coordination import pauses
from reconcile.store import Store, tables
from reconcile.upkeep import backup, restore
from tests.support.serve import Forked, all_ended, begun_at, children, forked, request, runs_of, slots, until
from tests.support.servers import POSTGRES
from tests.support.tcp_proxy import TcpProxy

pytestmark = [pytest.mark.slow, pytest.mark.server]

STATES = ["sqlite", "postgresql"]


def configuration(state: str = "sqlite:///state.db", jobs: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """One rule over a file, and these jobs, each of which says so when it ran."""
    jobs = {"nightly": {}} if jobs is None else jobs
    return {
        "state": state,
        "listen": "none",
        "sources": {"shop": {"type": "files"}},
        "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
        "rules": {"twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]}},
        "jobs": {name: {"rules": ["twice"], "notify": ["team"], **job} for name, job in jobs.items()},
        "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl", "quiet": False}},
        **more,
    }


class Place:
    """A folder with a configuration and a file to check, and its store."""

    def __init__(self, folder: Path, state: str) -> None:
        self.folder, self.state = folder, state
        (folder / "charges.csv").write_text("id,order\n1,A\n2,A\n3,B\n")

    def write(self, **more: Any) -> Place:
        (self.folder / "reconcile.yaml").write_text(json.dumps(configuration(self.state, **more), indent=1))
        return self

    def store(self) -> Store:
        return Store.open(self.state, self.folder)

    def messages(self) -> list[dict[str, Any]]:
        file = self.folder / "messages.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture(params=STATES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    state = "sqlite:///state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Place(tmp_path, state).write()


on_sqlite = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("place", ["postgresql"], indirect=True)
"""For what does not depend on the database of the state."""


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that accepts whoever comes and says nothing."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            try:
                while True:
                    kept.append(listening.accept()[0])
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield int(listening.getsockname()[1])
        listening.shutdown(socket.SHUT_RDWR)
    for item in kept:
        item.close()


def asleep(seconds: int) -> str:
    return f"select id, pg_sleep({seconds})::text || 'x' as nap from (values (1)) t (id)"


def hanging(erp: dict[str, Any] | None = None, nap: int = 600, **job: Any) -> dict[str, Any]:
    """A job `erp` whose source sleeps over its first question (or is the one given), beside the job nightly."""
    sources = {"shop": {"type": "files"}, "erp": {"type": "sql", "url": POSTGRES, **(erp or {})}}
    datasets = {
        "charges": {"source": "shop", "path": "charges.csv", "id": "id"},
        "orders": {"source": "erp", "query": asleep(nap), "id": "id"},
    }
    rules = {
        "twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]},
        "hangs": {"kind": "duplicates", "dataset": "orders", "key": ["nap"]},
    }
    jobs = {"nightly": {}, "erp": {"rules": ["hangs", "twice"], **job}}
    return {"sources": sources, "datasets": datasets, "rules": rules, "jobs": jobs}


def _is_asleep() -> bool:
    """Whether a run of ours waits for its source."""
    engine = sa.create_engine(POSTGRES)
    asked = sa.text("select count(*) from pg_stat_activity where query like '%pg_sleep(1)%' and state = 'active'")
    with engine.connect() as connection:
        result = connection.execute(asked).scalar_one()
    engine.dispose()
    return int(result) > 1  # one is this question


def finished(store: Store) -> Counter[str]:
    """How often each run was finished, by the audit log."""
    with store.read() as tx:
        return Counter(entry.body["run"] for entry in log.entries(tx, event="run.finished"))


def test_what_is_due_is_run_and_told_and_a_stop_ends_with_0(place: Place) -> None:
    with place.store() as store, forked(place.folder) as server:
        request(store, "nightly")
        server.hear("message.sent")

        code = server.stop()

        assert code == 0
        assert [slot.status for slot in slots(store)] == ["succeeded"]
        assert len(place.messages()) == 1
        assert log.verify(store).intact


@on_sqlite
def test_a_message_that_a_channel_does_not_take_is_a_warning_with_its_reason(place: Place) -> None:
    (place.folder / "messages.jsonl").mkdir()
    with place.store() as store, forked(place.folder) as server:
        request(store, "nightly")

        [warned, *_] = server.hear("message.not_sent", channel="team")

        assert "messages.jsonl" in warned["why"]
        server.stop()


def test_a_schedule_that_was_slept_over_is_caught_up_at_the_start(place: Place) -> None:
    place.write(jobs={"nightly": {"schedule": "* * * * *"}})
    with place.store() as store:
        with forked(place.folder) as server:
            until(lambda: bool(_schedules(store)))
            assert server.stop() == 0
        with store.begin() as tx:
            past = tx.now - tx.now.resolution * 600_000_000
            tx.connection.execute(sa.update(tables.schedules).values(since=past, watermark=past))

        with forked(place.folder) as server:
            server.hear("run.ended", how="succeeded")

        assert Counter(slot.status for slot in slots(store))["missed"] >= 8


def _schedules(store: Store) -> list[Any]:
    with store.read() as tx:
        return list(tx.connection.execute(sa.select(tables.schedules)))


def test_four_servers_share_many_slots_and_each_is_run_once_though_they_are_killed(
    postgres_url: str, tmp_path: Path
) -> None:
    jobs = {f"job-{number}": {"schedule": {"cron": "* * * * *", "catch_up": "all", "max": 1000}} for number in range(4)}
    place = Place(tmp_path, postgres_url).write(jobs=jobs)
    with place.store() as store:
        with forked(place.folder) as first:
            until(lambda: len(_schedules(store)) == 4)
            first.stop()
        with store.begin() as tx:
            past = tx.now.replace(second=0, microsecond=0) - tx.now.resolution * 600_000_000
            tx.connection.execute(sa.delete(tables.slots))
            tx.connection.execute(sa.update(tables.schedules).values(since=past, watermark=past))
        servers = [Forked(place.folder) for _ in range(4)]
        try:
            until(lambda: len(slots(store)) >= 40)
            wanted = {(slot.job, slot.slot) for slot in slots(store)[-40:]}
            for number in range(6):
                time.sleep(0.5)
                servers[number % 4].kill()
                servers[number % 4] = Forked(place.folder)
            until(lambda: all_ended_of(store, wanted), 240, lambda: str(Counter(slot.status for slot in slots(store))))
        finally:
            for server in servers:
                server.kill()

        mine = [slot for slot in slots(store) if (slot.job, slot.slot) in wanted]
        assert Counter(item.status for item in mine) == {"succeeded": 40}
        assert set(finished(store).values()) == {1}
        assert len({message["run"] for message in place.messages()}) == len(place.messages())
        assert log.verify(store).intact


def all_ended_of(store: Store, wanted: set[Any]) -> bool:
    return all(slot.status not in ("due", "running") for slot in slots(store) if (slot.job, slot.slot) in wanted)


@on_postgresql
def test_a_stop_under_load_ends_within_the_grace_and_what_was_under_way_goes_on_later(place: Place) -> None:
    with place.store() as store:
        place.write(**hanging(), grace_stop="4s")
        with forked(place.folder) as server:
            request(store, "erp", sources=("erp", "shop"))
            server.hear("run.started", job="erp")
            begin = time.monotonic()

            code = server.stop()

            assert code == 0
            assert time.monotonic() - begin < 6
        assert [slot.status for slot in slots(store, "erp")] == ["due"]
        place.write()
        place.write(jobs={"nightly": {}, "erp": {}})
        with forked(place.folder):
            until(lambda: all_ended(store))
        assert [slot.status for slot in slots(store, "erp")] == ["succeeded"]


@on_postgresql
def test_a_second_stop_ends_at_once(place: Place) -> None:
    with place.store() as store:
        place.write(**hanging(), grace_stop="10m")
        with forked(place.folder) as server:
            request(store, "erp", sources=("erp", "shop"))
            server.hear("run.started", job="erp")
            server.signal(signal.SIGTERM)
            server.hear("serve.stopping")
            begin = time.monotonic()

            server.signal(signal.SIGTERM)
            server.end()

            assert time.monotonic() - begin < 3
        assert [slot.status for slot in slots(store, "erp")] == ["due"]
        assert log.verify(store).intact


def test_a_stop_while_the_state_is_away_ends_all_the_same(postgres_url: str, tmp_path: Path) -> None:
    address = sa.make_url(postgres_url)
    with TcpProxy((str(address.host), int(address.port or 5432))) as proxy:
        through = address.set(host=proxy.host, port=proxy.port).render_as_string(hide_password=False)
        place = Place(tmp_path, through).write(**hanging(), grace_stop="2s")
        with place.store() as store, forked(place.folder) as server:
            request(store, "erp", sources=("erp", "shop"))
            server.hear("run.started", job="erp")
            proxy.cut()
            begin = time.monotonic()

            code = server.stop()

            assert code == 0
            assert time.monotonic() - begin < 30


@on_sqlite
def test_a_source_that_hangs_holds_its_own_share_and_no_more(place: Place) -> None:
    with place.store() as store:
        config = hanging()
        config["jobs"] = {"nightly": {}} | {f"erp-{n}": config["jobs"]["erp"] for n in range(4)}
        place.write(**config, max_parallel=3)
        with forked(place.folder) as server:
            for number in range(4):
                request(store, f"erp-{number}", sources=("erp", "shop"))
            until(lambda: len(server.heard("run.started")) == 2)

            request(store, "nightly", 3)
            server.hear("run.ended", 3, job="nightly", how="succeeded")

            assert len([item for item in server.heard("run.started") if item["job"] != "nightly"]) == 2


@on_sqlite
def test_a_source_that_hangs_is_told_as_not_read_within_the_limit_and_the_other_rules_are_checked(place: Place) -> None:
    with silent_server() as port, place.store() as store:
        place.write(**hanging({"url": f"postgresql://reader@127.0.0.1:{port}/erp"}, time_limit="2s"))
        with forked(place.folder) as server:
            request(store, "erp", sources=("erp", "shop"))
            server.hear("message.sent", seconds=30)

        [message] = place.messages()
        assert [rule["rule"] for rule in message["rules"]] == ["twice"]
        assert len(message["failures"]) == 1


@on_postgresql
def test_a_paused_job_stops_at_once_and_goes_on_when_resumed(place: Place) -> None:
    with place.store() as store:
        place.write(**hanging())
        with forked(place.folder) as server:
            request(store, "erp", sources=("erp", "shop"))
            server.hear("run.started", job="erp")

            with store.begin() as tx:
                pauses.pause(tx, pauses.of_job("erp"), reason="month end", by="maria")
            server.hear("run.ended", job="erp")
            request(store, "nightly")
            server.hear("run.ended", job="nightly", how="succeeded")
            assert [slot.status for slot in slots(store, "erp")] == ["due"]

            with store.begin() as tx:
                pauses.resume(tx, pauses.of_job("erp"), "maria")
            server.hear("run.started", 2, job="erp")


@on_sqlite
def test_a_broken_configuration_keeps_the_release_and_is_told_once_and_so_is_its_end(place: Place) -> None:
    with place.store() as store, forked(place.folder) as server:
        good = (place.folder / "reconcile.yaml").read_text()
        (place.folder / "reconcile.yaml").write_text(good.replace('"twice"', '"twise"', 1))
        server.hear("configuration.refused", seconds=30)
        until(lambda: len(place.messages()) == 1)
        request(store, "nightly")
        server.hear("run.ended", how="succeeded")

        (place.folder / "reconcile.yaml").write_text(good)
        until(lambda: len(place.messages()) == 3, 30)

        assert [bool(message.get("trouble")) for message in place.messages()] == [True, False, True]
        assert "reconcile.yaml:" in json.dumps(place.messages()[0])


@on_postgresql
def test_a_start_with_a_broken_configuration_goes_on_with_the_current_release_and_tells_it_once(place: Place) -> None:
    good = (place.folder / "reconcile.yaml").read_text()
    with place.store() as store, forked(place.folder) as server:
        request(store, "nightly")
        server.hear("run.ended", how="succeeded")
        assert server.stop() == 0
    (place.folder / "reconcile.yaml").write_text(good.replace('"twice"', '"twise"', 1))

    with place.store() as store, forked(place.folder) as server:
        server.hear("configuration.refused")
        until(lambda: len(place.messages()) == 2)
        request(store, "nightly")
        server.hear("run.ended", how="succeeded")
        until(lambda: len(place.messages()) == 3)

        (place.folder / "reconcile.yaml").write_text(good)
        until(lambda: len(place.messages()) == 4, 30)

        ends_told = [message["trouble"] and message["trouble"]["ended"] for message in place.messages()]
        assert ends_told == [None, False, None, True]
        assert len(server.heard("configuration.refused")) == 1
        assert not server.heard("text")


def test_a_start_with_a_broken_configuration_says_why_the_current_release_cannot_be_used_instead(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path, "sqlite:///state.db").write()
    file = place.folder / "reconcile.yaml"
    good = file.read_text().replace("messages.jsonl", "${MESSAGES}")
    file.write_text(good)
    with forked(place.folder, environ={"MESSAGES": "messages.jsonl"}):
        pass
    file.write_text(good.replace('"twice"', '"twise"', 1))

    server = Forked(place.folder)

    assert server.end() == 2
    reasons = [line["why"] for line in server.heard("serve.failed")]
    assert any("can't be used instead: " in why and "MESSAGES" in why for why in reasons), reasons
    assert any("twise" in why for why in reasons)


def test_a_first_start_with_a_broken_configuration_is_refused_in_the_form_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "reconcile.yaml").write_text("rules: {twice: {kind: duplicate}}\njobs: 7\n")

    server = Forked(tmp_path)

    assert server.end() == 2
    assert len(server.heard("serve.failed")) == len(server.lines) > 1
    assert all("reconcile.yaml:" in line["why"] for line in server.lines)


@on_sqlite
def test_a_changed_configuration_is_taken_up_and_runs_are_pinned_to_the_release_they_began_with(place: Place) -> None:
    with place.store() as store, forked(place.folder) as server:
        request(store, "nightly")
        server.hear("run.ended")

        place.write(jobs={"nightly": {"priority": 3}, "weekly": {}})
        server.signal(signal.SIGHUP)
        server.hear("release.taken_up", 2)
        request(store, "weekly")
        server.hear("run.ended", 2)

        with store.read() as tx:
            releases = list(tx.connection.execute(sa.select(tables.runs.c.release)).scalars())
        assert len(set(releases)) == 2


def test_the_children_of_a_server_that_is_killed_end_and_another_server_goes_on(place: Place) -> None:
    with place.store() as store:
        place.write(**hanging())
        first, second = Forked(place.folder).ready(), Forked(place.folder).ready()
        try:
            request(store, "erp", sources=("erp", "shop"))
            until(lambda: bool(first.heard("run.started") or second.heard("run.started")))
            owner, another = (first, second) if first.heard("run.started") else (second, first)
            below = {pid: begun_at(pid) for pid in children(owner.pid)}

            os.kill(owner.pid, signal.SIGKILL)
            another.hear("run.started", seconds=90)

            until(lambda: not [pid for pid, begun in below.items() if begun and begun_at(pid) == begun], 60)
        finally:
            first.kill()
            second.kill()


def test_a_run_that_was_stopped_past_its_lease_changes_nothing_when_it_wakes(place: Place) -> None:
    """SIGSTOP, a take-over, SIGCONT: the fence refuses what the zombie writes."""
    with place.store() as store:
        place.write(**hanging(nap=1))
        with forked(place.folder) as server:
            request(store, "erp", sources=("erp", "shop"))
            server.hear("run.started", job="erp")
            until(_is_asleep)  # not inside a transaction: on SQLite nobody could write then
            [zombie] = runs_of(server.pid)
            os.kill(zombie, signal.SIGSTOP)
            with store.begin() as tx:  # the lease runs out: by the database's clock, or because nobody answers
                tx.connection.execute(
                    sa.update(tables.leases).where(tables.leases.c.name == "job:erp").values(owner=None)
                )
                [row] = slots(store, "erp")
                tx.connection.execute(
                    sa.update(tables.slots).where(tables.slots.c.job == "erp").values(status="due", fence=row.fence + 1)
                )
            server.hear("run.started", 2, job="erp")
            server.hear("run.ended", job="erp", how="succeeded")

            os.kill(zombie, signal.SIGCONT)
            server.hear("run.ended", 2, job="erp")

        assert set(finished(store).values()) == {1}
        assert len(place.messages()) == 1
        assert log.verify(store).intact


def test_a_restore_under_a_server_is_told_as_what_it_is_and_asks_nobody_to_run_anything(place: Place) -> None:
    with closing(place.store()) as store, forked(place.folder) as server:
        request(store, "nightly")
        server.hear("run.ended")
        backup.make(store, place.folder / "state.backup")

        restore.restore(store, place.folder / "state.backup", actor="eve", yes=True)
        [output] = server.hear("store.reopened")

        assert "serve continues from the backup" in output["why"]
        assert not server.heard("duty.failed")
        assert server.stop() == 0
