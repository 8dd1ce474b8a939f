"""Code that lies beside the data never runs in a process of ours, and the reader of workbooks gets no secret."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import xlsxwriter

from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from reconcile.store import Store
from tests.support.cli import ORDERS
from tests.support.folders import ROOT
from tests.support.fork_server import Warm
from tests.support.serve import request, serving

pytestmark = pytest.mark.slow

SECRET = "xoxb-canary-5d1c"
COMMAND = str(Path(sys.executable).with_name("reconcile"))
OURS = ("reconcile", "connectors", "rules", "notifications")
CONFIGURATION = """\
version: 1
state: sqlite:///state.db
sources: {shop: {type: files, root: data}, crm: {type: workbook, path: data/crm.xlsx}}
datasets:
  orders: {source: shop, path: orders.csv, id: id, columns: {amount: decimal, paid_at: instant}}
  people: {source: crm}
rules:
  twice: {kind: duplicates, dataset: orders, key: [order_id]}
  doubles: {kind: duplicates, dataset: people, key: [email]}
jobs: {nightly: {rules: all}}
"""


def hostile_names() -> set[str]:
    """Every module a child could import: of Python itself, of what is installed, and ours."""
    installed = importlib.metadata.packages_distributions()
    names = {*sys.stdlib_module_names, *installed, *OURS, "sitecustomize", "usercustomize"}
    return {name for name in names if name.isidentifier()}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with a CSV file and a workbook, and a hostile module of every name beside both."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "orders.csv").write_text(ORDERS)
    with xlsxwriter.Workbook(data / "crm.xlsx") as workbook:
        workbook.add_worksheet("People").write_column(0, 0, ["email", "a@b.example", "a@b.example"])
    (tmp_path / "reconcile.yaml").write_text(CONFIGURATION)
    (tmp_path / "ran").mkdir()
    names = hostile_names()
    assert {"resource", "selectors", "pyarrow", "lxml", "connectors", "socket", "json"} <= names
    for folder in (tmp_path, data):
        for name in names:
            (folder / f"{name}.py").write_text(
                f"open({str(tmp_path / 'ran' / name)!r}, 'w').close()\nraise SystemExit\n"
            )
    return tmp_path


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "ran").iterdir())


@pytest.mark.parametrize("beside", ["working directory", "data folder"])
def test_no_module_beside_the_data_runs_in_a_run(shop: Path, beside: str) -> None:
    folder = shop if beside == "working directory" else shop / "data"

    done = subprocess.run(
        [COMMAND, "run", "--config", str(shop / "reconcile.yaml")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran(shop) == []
    assert done.returncode in (0, 1), done.stderr
    assert "a@b.example" in done.stdout + done.stderr or "doubles" in done.stdout + done.stderr


def test_no_module_beside_the_data_runs_in_the_children_of_serve(shop: Path) -> None:
    with serving(shop, "--listen", "none", environ={"SLACK_BOT_TOKEN": SECRET}) as server:
        with Store.open("sqlite:///state.db", shop) as store:
            request(store, "nightly")
        server.hear("run.ended", how="succeeded")

    assert ran(shop) == []


def test_no_module_of_the_working_directory_runs_in_the_server_that_tests_fork_from(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    monkeypatch.syspath_prepend("")

    with Warm() as warm:
        assert warm.call("os:getpid").wait().code == 0

    assert ran(shop) == []


def test_the_package_run_as_a_module_imports_nothing_from_the_working_directory_later(shop: Path) -> None:
    """What Python itself loads before our first line is out of reach: the documents say `reconcile`, or -P."""
    loaded = "import runpy, pkgutil, reconcile, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    early = subprocess.run([sys.executable, "-P", "-c", loaded], capture_output=True, text=True, check=True).stdout
    for name in ("reconcile", *early.split()):
        (shop / f"{name}.py").unlink(missing_ok=True)

    subprocess.run([sys.executable, "-m", "reconcile", "run"], cwd=shop, capture_output=True, check=False)

    assert ran(shop) == []


def test_the_reader_of_a_workbook_has_no_secret_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with xlsxwriter.Workbook(tmp_path / "crm.xlsx") as workbook:
        workbook.add_worksheet("People").write_column(0, 0, ["email", *("a@b.example" for _ in range(20_000))])
    for name in ("SLACK_BOT_TOKEN", "PGPASSWORD", "DATABASE_URL", "LANG", "PYTHONSTARTUP", "PYTHONPATH", "TMPDIR_X"):
        monkeypatch.setenv(name, SECRET)
    source = WorkbookSource("crm", WorkbookSettings(type="workbook", path="crm.xlsx"), tmp_path)

    source.begin(WorkbookDataset())
    assert source._current is not None
    environment = Path(f"/proc/{source._current[1].pid}/environ").read_bytes()
    names = source.describe(WorkbookDataset()).names
    source.close()

    assert names[0] == "email"
    assert SECRET.encode() not in environment
    assert len(environment) < 1_000


def test_the_documents_start_the_program_in_no_way_that_loads_the_working_directory() -> None:
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*")]
    commands = {
        str(path.relative_to(ROOT)): re.findall(r"python3? (?!-P |-I )[^\n`]*-m reconcile\b.*", path.read_text())
        for path in texts
        if path.is_file() and path.suffix in (".md", ".yaml", ".yml", ".service", ".sh", "")
    }

    assert {path: lines for path, lines in commands.items() if lines} == {}


def test_serve_says_that_it_cannot_start_its_children_safely_when_python_ignores_the_environment(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-E", COMMAND, "check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )

    assert done.returncode != 0
    assert "-P" in done.stderr
