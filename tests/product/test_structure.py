"""The structure that import-linter cannot see: where SQL statements stand, and what a door may import."""

import ast
import re
from collections.abc import Iterator

from tests.support.folders import ROOT

WITH_STATEMENTS = ("reconcile/store/", "connectors/sql/")
"""The only places with SQL statements. `rules` compiles rules to expressions, which these places execute."""

BUILDERS = {"select", "insert", "update", "delete", "text", "exists", "union", "union_all"}
STATEMENT = re.compile(
    r"\s*(SELECT\s.+\sFROM\s|SELECT\s+\w+\(|INSERT\s+INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|PRAGMA\s+\w"
    r"|(CREATE|DROP|ALTER)\s+(TABLE|INDEX|TRIGGER|FUNCTION|VIEW)\s)",
    re.DOTALL,
)
IN_WORDS = {"reconcile/cleaning/actions/move.py"}
"""Prints the CREATE TABLE that a person has to execute."""


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for package in ("reconcile", "connectors", "notifications"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(WITH_STATEMENTS):
                yield name, ast.parse(path.read_text("utf-8"))


def test_only_the_store_and_the_databases_have_sql_statements() -> None:
    places = [f"{name}:{line} {what}" for name, tree in _modules() for line, what in _statements(name, tree)]
    assert not places, "\n".join(places)


def test_only_the_store_knows_its_tables() -> None:
    places = [
        f"{name}:{node.lineno}"
        for name, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        if node.module == "reconcile.store.tables"
        or (node.module == "reconcile.store" and any(alias.name == "tables" for alias in node.names))
    ]
    assert not places, "\n".join(places)


def _statements(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    modules, builders = _sqlalchemy(tree)
    documentation = set(_docstrings(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=builder)) if module in modules:
                if builder in BUILDERS:
                    yield node.lineno, builder
            case ast.Call(func=ast.Name(id=builder)) if builder in builders:
                yield node.lineno, builder
            case ast.Constant(value=str(text)) if STATEMENT.match(text) and name not in IN_WORDS:
                if id(node) not in documentation:
                    yield node.lineno, text.split("\n", 1)[0][:40]


def _sqlalchemy(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names under which a module has SQLAlchemy, and its functions that build statements."""
    modules: set[str] = set()
    builders: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name for alias in node.names if alias.name.startswith("sqlalchemy")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy"):
            builders |= {alias.asname or alias.name for alias in node.names if alias.name in BUILDERS}
    return modules, builders


def _docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)


def test_the_search_finds_a_statement() -> None:
    tree = ast.parse('import sqlalchemy as sa\nsa.select(1)\nQUERY = "DELETE FROM leases"\n"""SELECT a FROM b"""')
    assert [line for line, _ in _statements("reconcile/x.py", tree)] == [2, 3]
