"""What a short run waits for: only what it uses is loaded, and the process ends as soon as it is done."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import pytest
import xlsxwriter

from tests.support.cli import FILES, ORDERS, Project, sqlite
from tests.support.folders import ROOT

pytestmark = pytest.mark.slow

UNUSED = (
    "alembic",
    "google.auth",
    "jinja2",
    "lxml",
    "pandas",
    "psycopg",
    "pyairtable",
    "pymysql",
    "pyarrow.compute",
    "python_calamine",
    "rich",
    "slack_sdk",
    "sqlalchemy.orm",
    "sqlalchemy.dialects.mysql",
)
ENGINES = (
    "duckdb",
    "numpy",
    "pyarrow",
    "sqlalchemy",
    "reconcile.detection.detect",
    "reconcile.store",
    "rules.engines.embedded",
    "rules.kinds.duplicates.detection",
)
READERS = (
    *(name for name in ENGINES if name not in ("sqlalchemy", "reconcile.store")),
    *("connectors.files.source", "connectors.sql.source", "cryptography", "lxml", "psycopg", "rich.console"),
    *("rules.functions", "scipy", "sqlalchemy.dialects.postgresql"),
)
"""What no command loads that only shows what the state holds."""
WORKBOOK = """\
version: 1
sources: {crm: {type: workbook, path: crm.xlsx}}
datasets: {people: {source: crm, id: id, where: name is not null, columns: {city: {is: lower(name)}}}}
rules:
  twice:
    kind: duplicates
    dataset: people
    key: [{email: [trim, lower, {map: {none: null}}]}, {name: [{prefix: 3}]}]
    where: email like '%@%'
    having: records > 2
"""


FROM_SQLITE = """\
version: 1
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets: {orders: {source: shop, table: orders, id: id}}
rules: {twice: {kind: duplicates, dataset: orders, key: [order_id]}}
"""
CLEANED = """\
version: 1
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets: {orders: {source: shop, table: orders, id: id}, bookings: {source: shop, table: bookings, id: id}}
rules:
  twice: {kind: duplicates, dataset: orders, key: [order_id], clean: {action: delete}, approval: none}
  booked: {kind: reconciliation, left: orders, right: bookings, key: id}
channels: {ops: {type: file, path: told.txt}}
jobs: {nightly: {rules: [twice, booked]}}
"""


def answer(code: str, folder: Path) -> str:
    """The last line that a fresh interpreter prints."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.stdout.splitlines()[-1]


def loaded(code: str, names: tuple[str, ...], folder: Path) -> str:
    return answer(f"{code}\nprint([name for name in {names!r} if name in sys.modules])", folder)


def shop(folder: Path) -> Path:
    (folder / "orders.csv").write_text(ORDERS, encoding="utf-8")
    (folder / "reconcile.yaml").write_text(FILES, encoding="utf-8")
    return folder


def test_a_first_run_over_a_file_loads_nothing_it_does_not_use(tmp_path: Path) -> None:
    assert loaded(command("run", "--json"), UNUSED, shop(tmp_path)) == "[]"


def test_a_configuration_is_read_without_the_engines(tmp_path: Path) -> None:
    """Expressions and normalisers are read and checked as ever; what binds and compiles them is not needed for it."""
    read = "from reconcile.cli.opening import load\nload('reconcile.yaml')"
    (tmp_path / "reconcile.yaml").write_text(WORKBOOK, encoding="utf-8")

    assert loaded(read, ENGINES, tmp_path) == "[]"


SHOWN = {
    ("findings",): ("reconcile.audit.log", "reconcile.store.plans"),
    ("show", "ID"): (),
    ("status",): (),
    ("rules",): (),
    ("__complete", "show", "F-"): ("reconcile.audit.log", "reconcile.views", "reconcile.app"),
    ("__complete", "run", "--rule", "t"): ("reconcile.store", "reconcile.app"),
}
"""Commands that a person or a shell waits for, with what only some of them load. ID is the finding's."""
MOST = 730
"""The most modules that such a command loads, of Python and all packages; today 420 to 721."""


def command(*words: str) -> str:
    return (
        f"from reconcile.cli import main\nsys.argv = {['reconcile', *words]!r}\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code"
    )


@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
@pytest.mark.parametrize("source", ["files", "sql"])
def test_a_command_that_shows_the_state_loads_no_reader_and_no_engine(
    tmp_path: Path, words: tuple[str, ...], source: str
) -> None:
    project = Project(shop(tmp_path))
    if source == "sql":
        with sqlite(tmp_path / "shop.db") as db:
            db.executescript("create table orders (id, order_id text); insert into orders values (1, 'A'), (2, 'A')")
        project.write(FROM_SQLITE)
    assert project("run", "--quiet").code == 0
    [finding] = project("findings", "--json").json
    code = command(*(finding["id"] if word == "ID" else word for word in words))

    assert loaded(code, READERS + SHOWN[words], tmp_path) == "[]"
    assert int(answer(f"{code}\nprint(len(sys.modules))", tmp_path)) <= MOST


def test_a_workbook_is_being_read_before_what_compares_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "reconcile.yaml").write_text(WORKBOOK, encoding="utf-8")
    with xlsxwriter.Workbook(tmp_path / "crm.xlsx") as book:
        book.add_worksheet().write_row(0, 0, ["id", "email", "name"])
    run = (
        "import os, subprocess\nfrom reconcile.cli import main\n"
        "def begin(command, **_):\n"
        f"    print(command[-1].split()[-1], [name for name in {ENGINES!r} if name in sys.modules], flush=True)\n"
        "    os._exit(0)\n"
        "subprocess.Popen = begin\nsys.argv = ['reconcile', 'run', '--dry-run']\nmain()"
    )

    assert answer(run, tmp_path) == "main() []"


def test_pyarrow_finds_no_pandas_whoever_loads_it_first_and_others_find_it_as_ever(tmp_path: Path) -> None:
    code = (
        "from reconcile.detection.pandas_unseen import leave_pandas_alone\nleave_pandas_alone()\nleave_pandas_alone()\n"
        "import pyarrow as pa\npa.array([object][:0])\nunseen = 'pandas' not in sys.modules\n"
        "import pandas\nprint(unseen, pa.array(pandas.Series([1])).to_pylist())"
    )

    assert answer(code, tmp_path) == "True [1]"


def test_a_program_that_loads_pandas_after_a_run_still_has_its_frames(tmp_path: Path) -> None:
    code = (
        "import pyarrow as pa\nimport reconcile.detection.detect\npa.array([])\n"
        "import pandas\nprint(pa.table(pandas.DataFrame({'a': [1]})).column_names)"
    )

    assert answer(code, tmp_path) == "['a']"


def test_a_process_that_leaves_at_once_still_does_what_was_left_for_its_end(tmp_path: Path) -> None:
    code = (
        "import atexit; from reconcile.cli import exits\n"
        "atexit.register(lambda: print('done'))\nprint('said', end='')\nexits.leave(3)"
    )
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (3, "saiddone\n")


def test_a_process_waits_for_a_thread_that_is_still_at_work(tmp_path: Path) -> None:
    code = (
        "import threading; from reconcile.cli import exits\ngo = threading.Event()\n"
        "threading.Thread(target=lambda: (go.wait(), print('finished'))).start()\n"
        "import atexit; threading._register_atexit(go.set)\nexits.leave(0)"
    )

    assert answer(code, tmp_path) == "finished"


def test_a_run_of_serve_imports_no_module_of_ours_that_its_server_could_have_loaded(tmp_path: Path) -> None:
    """Commands import late to start soon; a process from which runs are forked imports early, once for all of them."""
    (tmp_path / "reconcile.yaml").write_text(CLEANED)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        for table in ("orders", "bookings"):
            database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL)")
            database.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(n, f"o{n // 2}") for n in range(9)])
    code = """
        import sys, datetime
        import reconcile.service.fork_server
        import reconcile
        before = set(sys.modules)
        with reconcile.load() as application:
            ended = application.run_slot("nightly", datetime.datetime.now(datetime.UTC), "schedule")
        assert ended.status == "succeeded", ended
        ours = ("reconcile", "rules", "connectors", "notifications")
        print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] in ours))
    """

    assert answer(dedent(code), tmp_path) == "['notifications.file']"
