"""Other packages bring connectors, kinds, normalisers and channels through the door of our own."""

import subprocess
import sys
from pathlib import Path

import pytest

import connectors
from reconcile.plugins import Kinds, PluginBroken
from rules.kinds.duplicates import DuplicatesRule
from tests.support.config import install_plugin, loaded


def test_a_connector_of_another_package_is_used_like_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)

    project = loaded(
        tmp_path,
        "sources: {v: {type: vault, url: 'vault://h', retries: 5}}\n"
        "datasets: {d: {source: v, table: t}}\n"
        "rules: {r: {kind: duplicates, dataset: d, key: [{name: [trim, backwards]}]}}\n",
    )

    assert project.sources["v"].settings.model_dump()["retries"] == 5
    assert project.datasets["d"].settings.model_dump()["table"] == "t"
    assert isinstance(project.rules["r"], DuplicatesRule)
    assert [step.name for step in project.rules["r"].key[0].steps] == ["trim", "backwards"]


def test_a_built_in_name_always_means_the_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)

    assert Kinds("connectors")["sql"] == connectors.KINDS["sql"]
    assert Kinds("connectors")["vault"] == "vault_plugin:VaultSource"
    assert {*connectors.KINDS, "vault"} < set(Kinds("connectors"))


def test_what_cannot_be_imported_is_told_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)

    with pytest.raises(PluginBroken, match="`broken` of connectors cannot be loaded: vault_plugin:NotThere"):
        Kinds("connectors").load("broken")


def test_an_unknown_name_is_no_kind() -> None:
    with pytest.raises(KeyError):
        Kinds("channels").load("executor-pigeon")

    assert "executor-pigeon" not in Kinds("channels")


@pytest.mark.slow
def test_looking_names_up_imports_no_connector() -> None:
    code = (
        "import sys; from reconcile.plugins import Kinds; assert 'files' in Kinds('connectors');"
        "print([m for m in sys.modules if m.startswith(('connectors.', 'pyarrow', 'duckdb', 'sqlalchemy'))])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
