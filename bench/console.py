"""The console over many findings: how long each page takes for one person, and for fifty at the same time."""

from __future__ import annotations

import csv
import http.client
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import sqlalchemy as sa

from bench.measure import RECONCILE, took

MEMBERS = 10
"""Records of a group."""
RULES = 4
ALONE, TOGETHER, PEOPLE = 60, 6, 50
"""Requests of one person, requests of each of many, and how many these are."""
PAGES = {
    "Today": "/",
    "review queue, first page": "/review",
    "review queue, one rule": "/review?rule=rule-2",
    "runs": "/runs",
    "rules": "/rules",
    "audit log, newest": "/audit",
}
SEARCHES = {"search, a record": "4711", "search, a part of a key": "P471@EX", "search, nothing fits": "nowhere"}
PASSWORD = "correct horse battery"  # noqa: S105 - of a state that is thrown away
CONFIGURATION = """
version: 1
state: STATE
listen: 127.0.0.1:0
sources: {files: {type: files, root: .}}
datasets: {charges: {source: files, path: charges.csv, id: id}}
rules:
"""


def console(findings: int, postgres: str) -> str:
    """The section, for a state in SQLite and one in PostgreSQL."""
    heads = ("page", "SQLite p50 ms", "p95 ms", "PostgreSQL p50 ms", "p95 ms")
    with _database(postgres) as url:
        columns = [_measured(findings, state) for state in ("sqlite:///reconcile.db", url)]
    names = [*PAGES, *SEARCHES, "`reconcile findings`, first page (a process, s)", f"{PEOPLE} people, all pages"]
    rows = ["| " + " | ".join([name, *(cell for column in columns for cell in column[name])]) + " |" for name in names]
    about = f"{findings:,} findings over {findings * MEMBERS:,} records; one process of `serve`, one person:"
    return "\n".join(["### console", "", about, "", f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|", *rows])


def _measured(findings: int, state: str) -> dict[str, tuple[str, str]]:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        _write(folder, findings, state)
        took([*RECONCILE, "run", "--quiet"], str(folder), (0, 1, 3, 4))
        _add_user(folder)
        seconds = sorted(took([*RECONCILE, "findings"], str(folder))[0].seconds for _ in range(5))
        with _serving(folder) as address:
            cookie = _signed_in(address)
            result = {page: _cells(_times(address, cookie, [path] * ALONE)) for page, path in PAGES.items()}
            csrf = _csrf(_ask(address, "GET", "/search", cookie)[0])
            for search, text in SEARCHES.items():
                body = urlencode({"csrf": csrf, "text": text})
                result[search] = _cells(_times(address, cookie, ["/search"] * ALONE, body))
            together = _together(address, cookie)
    result["`reconcile findings`, first page (a process, s)"] = (f"{seconds[2]:.2f}", f"{seconds[-1]:.2f}")
    result[f"{PEOPLE} people, all pages"] = _cells(together)
    return result


def _cells(times: Sequence[float]) -> tuple[str, str]:
    ordered = sorted(times)
    return f"{statistics.median(ordered) * 1000:.0f}", f"{ordered[int(0.95 * len(ordered))] * 1000:.0f}"


def _write(folder: Path, findings: int, state: str) -> None:
    rules = [
        f"  rule-{number}: {{kind: duplicates, dataset: charges, key: [email], where: shop = '{number}', "
        f"max_share: 100%, severity: {('low', 'medium', 'high', 'critical')[number]}}}"
        for number in range(RULES)
    ]
    (folder / "reconcile.yaml").write_text(CONFIGURATION.replace("STATE", state) + "\n".join(rules) + "\n")
    with (folder / "charges.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "email", "shop"))
        for group in range(findings):
            writer.writerows((group * MEMBERS + n, f"p{group}@example.com", group % RULES) for n in range(MEMBERS))


def _add_user(folder: Path) -> None:
    command = [*RECONCILE, "users", "add", "bob", "--role", "reviewer"]
    subprocess.run(command, cwd=folder, input=f"{PASSWORD}\n", text=True, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    log = folder / "serve.log"
    with log.open("w") as out:
        process = subprocess.Popen([*RECONCILE, "serve", "--no-color"], cwd=folder, stderr=out, env=os.environ.copy())
    try:
        for _ in range(600):
            if match := re.search(r"listener\.started\s+address=(\S+)", log.read_text()):
                break
            time.sleep(0.1)
        else:
            raise RuntimeError(f"serve did not start: {log.read_text()[-1000:]}")
        yield match[1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _signed_in(address: str) -> str:
    """Return the cookies of a session."""
    form, cookies, _ = _ask(address, "GET", "/sign-in", "")
    body = urlencode({"csrf": _csrf(form), "name": "bob", "password": PASSWORD})
    _, more, status = _ask(address, "POST", "/sign-in", cookies, body)
    if status != http.client.SEE_OTHER:
        raise RuntimeError(f"signing in answered {status}")
    return f"{cookies}; {more}"


def _csrf(page: str) -> str:
    match = re.search(r'name="csrf" value="([^"]*)"', page)
    assert match is not None  # noqa: S101 - the page has a form
    return match[1]


def _ask(address: str, method: str, path: str, cookies: str, body: str | None = None) -> tuple[str, str, int]:
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        set_by_answer = [cookie.partition(";")[0] for cookie in answer.headers.get_all("Set-Cookie") or []]
        return answer.read().decode(), "; ".join(set_by_answer), answer.status
    finally:
        connection.close()


def _times(address: str, cookie: str, paths: Sequence[str], body: str | None = None) -> list[float]:
    """Return the seconds of each request; raises RuntimeError for any answer but a page."""
    times = []
    for path in paths:
        begin = time.perf_counter()
        _, _, status = _ask(address, "POST" if body else "GET", path, cookie, body)
        times.append(time.perf_counter() - begin)
        if status != http.client.OK:
            raise RuntimeError(f"{path} answered {status}")
    return times[len(times) // 10 :]


def _together(address: str, cookie: str) -> list[float]:
    times: list[float] = []
    problems: list[Exception] = []

    def look(number: int) -> None:
        paths = list(PAGES.values())
        try:
            times.extend(_times(address, cookie, [paths[(number + n) % len(paths)] for n in range(TOGETHER)]))
        except Exception as error:  # noqa: BLE001 - shown by the thread that started this one
            problems.append(error)

    threads = [threading.Thread(target=look, args=(number,)) for number in range(PEOPLE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise RuntimeError(f"{len(problems)} of {PEOPLE} people got an error: {problems[0]}")
    return times


@contextmanager
def _database(postgres: str) -> Iterator[str]:
    """A database of its own, which is dropped."""
    name = f"bench_console_{os.getpid()}"
    engine = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"create database {name}"))
    try:
        yield sa.make_url(postgres).set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(sa.text(f"drop database {name} with (force)"))
        engine.dispose()


if __name__ == "__main__":
    print(console(int(sys.argv[1]), sys.argv[2]))
