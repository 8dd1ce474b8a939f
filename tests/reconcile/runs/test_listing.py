"""What `run --json` lists: what is new or changed in the run; with `--all` also what was known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.cli import Project

pytestmark = pytest.mark.slow

TEXT = """
version: 1
state: sqlite:///state.db
sources: {shop: {type: files}}
datasets: {charges: {source: shop, path: charges.csv, id: id}}
rules: {twice: {kind: duplicates, dataset: charges, key: [order], severity: high}}
jobs: {nightly: {rules: [twice]}}
"""


class Shop(Project):
    def charges(self, *rows: str) -> Shop:
        (self.folder / "charges.csv").write_text("\n".join(["id,order", *rows]) + "\n")
        return self

    def keys(self, *words: str) -> list[tuple[str, str]]:
        """The listed findings of a run: key and change."""
        answer = self("run", "--json", *words)
        assert answer.code == 0, answer.err
        return sorted(
            (_key(finding), finding.get("last_change") or finding["change"]) for finding in answer.json["findings"]
        )


def _key(finding: dict[str, Any]) -> str:
    return str(finding["key"]["order"])


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path).charges("1,A", "2,A", "3,B", "4,B")
    shop.write(TEXT)
    return shop


def test_a_run_lists_what_is_new_or_changed_and_with_all_what_was_known(shop: Shop) -> None:
    first = shop.keys()
    shop.charges("1,A", "2,A", "3,B", "4,B", "5,B", "6,C", "7,C")
    dry, dry_all = shop.keys("--dry-run"), shop.keys("--dry-run", "--all")
    second = shop.keys("--slot", "2026-11-21T06:00")
    again = shop.keys("--slot", "2026-11-21T06:00")
    third, third_all = shop.keys(), shop.keys("--all")

    assert first == [("A", "new"), ("B", "new")]
    assert dry == [("B", "grown"), ("C", "new")]
    assert dry_all == [("A", "known"), ("B", "grown"), ("C", "new")]
    assert second == again == [("B", "grown"), ("C", "new")]
    assert (third, [key for key, _ in third_all]) == ([], ["A", "B", "C"])


def test_known_findings_still_count_and_fail_a_run_that_lists_none(shop: Shop) -> None:
    shop.keys()

    answers = [shop("run", *words, "--fail-on", "high") for words in ((), ("--json",), ("--dry-run",))]
    mild = shop("run", "--fail-on", "critical")

    assert [answer.code for answer in answers] == [1, 1, 1]
    assert answers[1].json["rules"][0]["findings"]["known"] == 2
    assert mild.code == 0


def test_a_run_without_news_reads_no_known_finding(shop: Shop) -> None:
    shop.charges(*(f"{number},{number // 2}" for number in range(600)))
    shop.keys()
    asked: list[str] = []
    sa.event.listen(sa.Engine, "before_cursor_execute", heard := lambda *args: asked.append(args[2]))
    try:
        shop("run", "--json", "--fail-on", "high")
        few = [text for text in asked if "FROM finding_members" in text and "ORDER BY" in text]
        asked.clear()
        shop("run", "--json", "--all")
        many = [text for text in asked if "FROM finding_members" in text and "ORDER BY" in text]
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", heard)

    assert len(few) < len(many)


def test_all_without_json_is_refused(shop: Shop) -> None:
    refused = shop("run", "--all")

    assert refused.code == 2
    assert "only with --json" in refused.err
