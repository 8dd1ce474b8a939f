"""Configurations for tests: written to a folder of their own, with a connector and a channel of another package."""

import functools
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconcile import plugins
from reconcile.config import ConfigProblems, load
from reconcile.config.settings import Project
from rules.normalise import NORMALISERS
from tests.support.folders import ROOT

SNAPSHOTS = ROOT / "tests" / "snapshots"

VAULT = '''
"""A connector, a channel, an action and a normaliser as another package would bring them, with secrets inside."""

from typing import ClassVar, Literal

from pydantic import SecretStr, model_validator

from connectors.base import DatasetSettings, SourceSettings
from notifications.base import ChannelSettings
from rules.cleaning import Clean
from rules.normalise import Normaliser
from rules.values import Type


class VaultSettings(SourceSettings):
    url: SecretStr
    headers: dict[str, SecretStr] = {}
    retries: int = 3
    region: str = "eu"

    @model_validator(mode="after")
    def _address(self):
        if "://" not in self.url.get_secret_value():
            raise ValueError(f"{self.url.get_secret_value()!r} is not an address; write vault://…")
        return self


class VaultDataset(DatasetSettings):
    table: str


class VaultSource:
    Settings = VaultSettings
    Dataset = VaultDataset


class PagerSettings(ChannelSettings):
    token: SecretStr
    room: str = "all"


class PagerChannel:
    Settings = PagerSettings


class BurnSettings(Clean):
    can_undo: ClassVar[bool] = False
    action: Literal["burn"]


class Burn:
    Settings = BurnSettings


backwards = Normaliser("backwards", lambda value, argument, timezone: value[::-1], {Type.TEXT: Type.TEXT})
'''

ENTRY_POINTS = """\
[reconcile.connectors]
vault = vault_plugin:VaultSource
broken = vault_plugin:NotThere
sql = vault_plugin:VaultSource
[reconcile.channels]
pager = vault_plugin:PagerChannel
[reconcile.actions]
burn = vault_plugin:Burn
burnt = vault_plugin:NotThere
[reconcile.normalisers]
backwards = vault_plugin:backwards
"""

CLEANING = """\
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets:
  customers:
    source: shop
    table: customers
    id: id
    money: {amount: balance, currency: EUR}
    references: [{table: notes, columns: [customer_id], to: [id]}, {table: tags, columns: customer_id}]
rules:
  gone:
    kind: duplicates
    dataset: customers
    key: [email]
    clean: {action: delete, references: capture, triggers: known, ignore_drift: [updated_at], plan_rows: 50}
    approval: none
    approval_expires: 2d
    limits: {records: 10, share: 0.5%, group: 3, money: {EUR: 500, USD: 12.50}}
    retry: gentle
  marked:
    kind: duplicates
    dataset: customers
    key: [email]
    clean: {action: set, values: {status: duplicate, merged_into: "{{ keeper.id }}"}, ignore_drift: updated_at}
    approval: {when: surplus > 3 or EUR >= 500, then: two_person, else: none}
  merged:
    kind: duplicates
    dataset: customers
    key: [email]
    clean:
      action: merge
      fields: {phone: {last: updated_at}, tags: union, email: longest, note: {union: ";"}, name: most_frequent}
      linked: [[street, city, postcode]]
      surplus: {set: {status: merged}}
      references: repoint
    approval: two_person
    retry: never
  moved:
    kind: duplicates
    dataset: customers
    key: [email]
    clean: {action: move, to: old_customers}
retry: {gentle: {base: 5s, cap: 10m, attempts: 5, budget: 6h}}
limits: {shop: {records: 500, money: {EUR: 2000}}}
maintenance:
  - {source: shop, from: "22:00", to: "02:00", days: [mon, tue], timezone: Europe/Berlin}
  - {source: shop, from: "00:00", to: "24:00", days: sun}
undo_window: 60d
encryption_key: ["${secret:NEW}", "${secret:OLD}"]
audit: {anchors: {log: {type: file, path: anchors.jsonl}, repo: {type: git, path: ../anchors}}}
"""
"""A configuration that says everything there is to say of cleaning."""


def install_plugin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package with entry points where Python finds installed ones, for the length of a test."""
    site = folder / "site"
    info = site / "vault_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "vault_plugin.py").write_text(VAULT)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vault-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(plugins, "_foreign", functools.cache(plugins._foreign.__wrapped__))
    normalisers: dict[str, object] = NORMALISERS  # type: ignore[assignment]
    monkeypatch.setitem(normalisers, "backwards", None)  # so that what the test registers is gone after it
    del normalisers["backwards"]


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files and return the first, which is the configuration."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / next(iter(files))


def loaded(folder: Path, text: str | bytes, environ: Mapping[str, str] | None = None) -> Project:
    return load(write(folder, {"reconcile.yaml": text}), environ or {})


def problems(folder: Path, text: str | bytes, environ: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with a configuration, `line:column: sentence`."""
    with pytest.raises(ConfigProblems) as wrong:
        loaded(folder, text, environ)
    return [f"{p.line}:{p.column}: {p.sentence}" for p in wrong.value.problems]


def assert_matches_snapshot(name: str, text: str) -> None:
    """Compare with tests/snapshots/NAME; UPDATE_SNAPSHOTS=1 writes it anew, to be read before it is committed."""
    path = SNAPSHOTS / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text == expected, f"{path.name} differs; if the new text is right: UPDATE_SNAPSHOTS=1 pytest, then read it"
