"""A read that the database ends is one clear sentence and exit code 3, wherever in a rule it happens."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

import connectors.sql.source
from connectors.errors import SourceUnreachable
from connectors.sql.source import SqlSource
from tests.connectors.sql.stop import Server, served
from tests.support.cli import Answer, Project
from tests.support.servers import MARIADB, POSTGRES, scratch_database

PHASES = {
    "a question pushed down": ("slow", "pushdown"),
    "the first row of a stream": ("slow", "embedded"),
    "the middle of a stream": ("endless", "embedded"),
}


@pytest.fixture(scope="module", params=["postgresql", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A database whose reads do not end by themselves."""
    for url in scratch_database({"postgresql": POSTGRES, "mysql": MARIADB}[request.param]):
        with served(url) as created:
            yield created


def project(folder: Path, url: str, table: str, engine: str, **source: str) -> Project:
    settings = "".join(f", {name}: {value}" for name, value in source.items())
    return Project(folder).write(f"""\
        version: 1
        sources: {{shop: {{type: sql, url: "{url}"{settings}}}}}
        datasets: {{things: {{source: shop, table: {table}, id: id}}}}
        rules: {{twins: {{kind: duplicates, dataset: things, engine: {engine}, key: [{{word: [lower]}}]}}}}
        """)


OTHERS = {
    "postgresql": "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
    "and backend_type = 'client backend' and xact_start < clock_timestamp() - interval '0.3 s'",
    "mysql": "select id from information_schema.processlist where db = database() and id <> connection_id()",
}
END = {"postgresql": "select pg_terminate_backend({})", "mysql": "kill {}"}


def ended_by_the_database(server: Server, shop: Project) -> Answer:
    """What a run answers whose connections the database ends once it has read for a while."""

    def end() -> None:
        engine = sa.create_engine(server.direct, poolclass=sa.pool.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            while not over.wait(0.5):
                for item in connection.exec_driver_sql(OTHERS[engine.dialect.name]).scalars().all():
                    with contextlib.suppress(sa.exc.DBAPIError):  # it ended by itself
                        connection.exec_driver_sql(END[engine.dialect.name].format(item))

    over = threading.Event()
    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    try:
        return shop("run", "--rule", "twins", "--dry-run")
    finally:
        over.set()
        ending.join()


@pytest.mark.server
@pytest.mark.parametrize("driver", ["adbc", "rows"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_connection_that_the_server_ends_is_told_and_can_be_tried_again(
    server: Server, phase: str, driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if driver == "rows":
        monkeypatch.setattr(connectors.sql.source, "has_adbc", lambda: False)
    table, engine = PHASES[phase]

    answer = ended_by_the_database(server, project(tmp_path, server.direct, table, engine))

    assert answer.code == 3, answer.said
    assert "Source 'shop'" in answer.said
    assert "Reconcile itself failed" not in answer.said
    assert "Traceback" not in answer.said


@pytest.mark.server
@pytest.mark.parametrize("engine", ["pushdown", "embedded"])
def test_a_statement_over_its_time_limit_is_told_with_the_limit(server: Server, engine: str, tmp_path: Path) -> None:
    shop = project(tmp_path, server.direct, "slow", engine, statement_timeout="0.5s")

    answer = shop("run", "--rule", "twins", "--dry-run")

    assert answer.code == 3, answer.said
    assert "0.5s" in answer.said


@pytest.mark.server
@pytest.mark.parametrize("left", ["nothing", "an answer", "a scan"])
def test_a_connection_that_ends_after_the_last_read_is_no_error(
    server: Server, left: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is left to do for it, and no library complains on the terminal."""
    monkeypatch.setattr(connectors.sql.source, "has_adbc", lambda: False)
    source = SqlSource("shop", SqlSource.Settings(type="sql", url=server.direct), Path())
    dataset = SqlSource.Dataset(table="endless")
    relation = source.relation(dataset)

    if left == "a scan":
        scan = source.scan(dataset, ["id"])
        scan.reader.read_next_batch()
        end_all(server)
        scan.close()
    else:
        with source.snapshot() as snapshot:
            answer = snapshot.query(sa.select(relation.c.id)) if left == "an answer" else None
            if answer is not None:
                answer.read_next_batch()
            end_all(server)

    assert not caplog.records


@pytest.mark.server
def test_a_snapshot_whose_connection_ended_says_so_however_often_it_is_asked(server: Server) -> None:
    source = SqlSource("shop", SqlSource.Settings(type="sql", url=server.direct), Path())

    with source.snapshot() as snapshot:
        end_all(server)
        for _ in range(2):
            with pytest.raises(SourceUnreachable):
                snapshot.whole(sa.select(sa.literal(1).label("n")))


def end_all(server: Server) -> None:
    engine = sa.create_engine(server.direct, poolclass=sa.pool.NullPool, isolation_level="AUTOCOMMIT")
    everyone = OTHERS[engine.dialect.name].partition(" and xact_start")[0]
    with engine.connect() as connection:
        for item in connection.exec_driver_sql(everyone).scalars().all():
            connection.exec_driver_sql(END[engine.dialect.name].format(item))
        patience = time.monotonic() + 2  # MariaDB may still be writing to whoever does not read
        while connection.exec_driver_sql(everyone).scalars().all() and time.monotonic() < patience:
            time.sleep(0.05)


def test_what_a_library_warns_of_or_logs_never_reaches_the_terminal(tmp_path: Path) -> None:
    """A package of a library's kind: it warns and logs while the command runs."""
    noise = "import logging, warnings; warnings.warn('customer 4711'); logging.getLogger('library').error('row 4711')"
    script = f"import sys, reconcile.cli as cli; main = cli.main\ndef noisy():\n {noise}\n main()\n"
    script += "cli.main = noisy; sys.argv = ['reconcile', 'version']; cli.command()"

    report = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True, env=os.environ
    )

    assert report.stdout.startswith("reconcile ")
    assert report.stderr == ""
