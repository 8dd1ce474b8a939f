"""Views: what every door shows, typed and masked, without a terminal."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reconcile.app import load
from reconcile.store.findings import FindingFilter
from reconcile.views import findings, plans
from reconcile.views.plans import PlanView
from rules.pairs.evidence import Link
from tests.support.cli import Project, sqlite
from tests.support.folders import ROOT

CONFIG = """
version: 1
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets: {people: {source: shop, table: people, id: nick, pii: [nick, mail]}}
rules:
  twins:
    kind: duplicates
    dataset: people
    key: [city]
    clean: {action: delete}
    approval: required
jobs: {nightly: {rules: [twins]}}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    with sqlite(tmp_path / "shop.db") as database:
        database.execute("create table people (nick text primary key, mail text, city text)")
        database.execute("insert into people values ('Zq', 'ann@x.com', 'Bonn'), ('Zx', 'bob@x.com', 'Bonn')")
    shop = Project(tmp_path).write(CONFIG)
    assert shop("run").code == 0
    return shop


def test_a_view_of_a_plan_masks_ids_however_short_in_every_part(shop: Project) -> None:
    with load(shop.folder / "reconcile.yaml") as application:
        [rule_plans] = plans.chosen(application, [], [], show=False, limit=None)
        [view] = rule_plans

        assert isinstance(view, PlanView)
        shown = [str(view.lines), *view.remarks, view.title, view.next_step, str(plans.to_json(view))]
        assert rule_plans.summary().is_masked
    assert not [text for text in shown for secret in ("Zq", "Zx", "@x.com") if secret in text]
    assert "Bonn" in str(shown)


def test_a_finding_says_which_records_agree_by_which_key_and_what_alone_links_them(shop: Project) -> None:
    with load(shop.folder / "reconcile.yaml") as application:
        [row], _ = findings.listed(application, FindingFilter(), show=False, members=True)
        detail = findings.detail(application, row.id, show=True)
    links = (Link(0, 1, (0, 2)), Link(1, 0, (1,), bridge=True))

    linked = replace(detail, _finding=replace(detail._finding, links=links), alternatives=("mail", "phone"))

    assert list(linked.links) == ["only phone links Zx and Zq", "Zq and Zx agree by mail and key 3"]


@pytest.mark.slow
def test_a_view_of_a_finding_masks_its_records_and_names_the_next_step(shop: Project) -> None:
    with load(shop.folder / "reconcile.yaml") as application:
        [row], total = findings.listed(application, FindingFilter(), show=False, members=True)
        detail = findings.detail(application, row.id, show=False)
        open_detail = findings.detail(application, row.id, show=True)

    assert total == 1
    assert [record.name for record in detail.side_by_side.records] == ["•••", "•••"]
    assert {record.name for record in open_detail.side_by_side.records} == {"Zq", "Zx"}
    assert detail.is_masked
    assert not open_detail.is_masked
    assert detail.next_step is not None
    assert f"reconcile approve {row.id} --plan-hash" in detail.next_step


@pytest.mark.slow
def test_views_load_nothing_of_a_terminal() -> None:
    code = (
        "import sys\nimport reconcile.views.plans, reconcile.views.findings, reconcile.decisions.offered\n"
        "print([name for name in ('typer', 'rich', 'reconcile.cli') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
