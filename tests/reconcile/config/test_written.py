"""The texts of a configuration that are kept say exactly what was read, and never hold a secret."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.config import load, load_kept
from reconcile.config.written import yaml_text
from rules.document.tree import Data, data, parse
from tests.support.config import install_plugin, loaded, write

SMALL = """\
version: 1
sources: {shop: {type: sql, url: "sqlite:///shop.sqlite"}}
datasets: {charges: {source: shop, table: charges, id: id}}
rules: {twice: {kind: duplicates, dataset: charges, key: [order_id]}}
"""
CANARY = "canary-8c1f"
WORDS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\ufffe\uffff"), max_size=20
) | st.sampled_from(
    [
        "",
        "~",
        "null",
        "no",
        "- a",
        "a: b",
        "a:b",
        "a #b",
        "#a",
        "<<",
        "${A:-b c}",
        "'a'",
        '"',
        "a\nb",
        "\u2028",
        "...",
        "a:",
        " a",
        "*a",
    ]
)
TREES: st.SearchStrategy[Data] = st.recursive(
    st.none() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


@given(TREES)
def test_what_is_written_reads_as_the_same_tree(tree: Data) -> None:
    document = parse(yaml_text(tree))

    assert document.problems == ()
    assert data(document.root) == tree


def test_kept_texts_are_the_same_release_with_variables_not_filled_in_and_comments_left_out(tmp_path: Path) -> None:
    main = f"{SMALL}include: [more/*.yaml]  # {CANARY}\nstate: ${{STATE:-sqlite:///state.db}}\n".replace(
        '"sqlite:///shop.sqlite"', '"postgresql://reader:${secret:PASSWORD}@${HOST}/shop"'
    )
    files = {"reconcile.yaml": main, "more/a.yaml": "rules: {b: {kind: duplicates, dataset: charges, key: x}}\n"}
    environ = {"HOST": "db.example.com", "PASSWORD": CANARY}
    project = load(write(tmp_path, files), environ)
    assert project.files is not None
    for path in ("reconcile.yaml", "more/a.yaml"):
        (tmp_path / path).unlink()

    again = load_kept(project.files, project.path, environ, "kept")

    assert list(project.files) == ["reconcile.yaml", "more/a.yaml"]
    assert again == project
    assert again.files == project.files
    assert "${secret:PASSWORD}@${HOST}" in project.files["reconcile.yaml"]
    assert CANARY not in str(project.files)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://reader:{CANARY}@db/shop",
        f"postgresql://reader:{CANARY}${{secret:X}}@db/shop",
        f"${{SHOP:-postgresql://reader:{CANARY}@db/shop}}",
        f"${{SCHEME}}://reader:{CANARY}@db/shop",
        f"postgresql://reader@db/shop?password={CANARY}",
    ],
)
def test_an_address_with_its_password_is_not_kept(address: str, tmp_path: Path) -> None:
    text = SMALL.replace("sqlite:///shop.sqlite", address)

    project = loaded(tmp_path, text, {"X": "x", "SCHEME": "postgresql"})

    assert project.files is None
    assert CANARY not in project.canonical


@pytest.mark.parametrize(
    "address",
    [
        "sqlite:///shop.sqlite",
        "postgresql://reader@db/shop",
        "postgresql://reader:${PASSWORD}@db/shop",
        "postgresql://reader:${secret:PASSWORD}@db/shop?sslmode=require",
        "${SHOP:-postgresql://reader@db/shop}",
    ],
)
def test_an_address_that_holds_no_password_as_written_is_kept(address: str, tmp_path: Path) -> None:
    project = loaded(tmp_path, SMALL.replace("sqlite:///shop.sqlite", address), {"PASSWORD": CANARY, "SHOP": ""})

    assert project.files is not None
    assert address in project.files["reconcile.yaml"]
    assert CANARY not in str(project.files)


@pytest.mark.parametrize(
    ("token", "kept"),
    [
        (CANARY, False),
        (f"${{TOKEN:-{CANARY}}}", False),
        (f"$${{secret:{CANARY}}}", False),
        (f"https://hooks.example.com/{CANARY}", False),
        ("${TOKEN}", True),
        ("${secret:TOKEN}", True),
        ("Bearer ${secret:TOKEN}", True),
    ],
)
def test_a_secret_setting_is_kept_only_as_a_reference(
    token: str, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin(tmp_path, monkeypatch)
    text = f'{SMALL}channels: {{ops: {{type: pager, token: "{token}"}}}}\n'

    project = loaded(tmp_path, text, {"TOKEN": CANARY})

    assert (project.files is not None) is kept
    assert CANARY not in str(project.files)


def test_a_secret_that_also_stands_elsewhere_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)
    text = f'{SMALL}channels: {{ops: {{type: pager, token: "${{secret:TOKEN}}", room: {CANARY}}}}}\n'

    assert loaded(tmp_path, text, {"TOKEN": CANARY}).files is None


def test_a_watchdogs_address_is_a_secret_of_its_job(tmp_path: Path) -> None:
    text = SMALL + "jobs: {nightly: {rules: all, heartbeat: %s}}\n"

    assert loaded(tmp_path / "a", text % f"https://hc.example.com/{CANARY}").files is None
    assert loaded(tmp_path / "b", text % '"${PING}"', {"PING": "https://hc.example.com/x"}).files is not None
