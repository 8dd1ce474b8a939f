"""Compare the structure of checkouts: `python bench/structure.py BEFORE AFTER`; prints a table for each.

Sizes are counted in the syntax trees of the four packages. Journeys run the command line of a checkout on the same
small project and count, with a profiler, the product files whose functions were called, and the calls from one file to
another; what an import executes is not counted. Run it with a Python that has the dependencies installed.
"""

from __future__ import annotations

import ast
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("reconcile", "rules", "connectors", "notifications")
VAGUE = ("one", "found", "said", "known", "made", "there")
CONFIGURATION = """\
version: 1
state: sqlite:///state.db
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets: {customers: {source: shop, table: customers, id: id}}
rules:
  twins:
    kind: duplicates
    dataset: customers
    key: [{email: [trim, lower]}]
    clean: {action: delete}
    limits: {records: 100, share: 100%}
channels: {ops: {type: CHANNEL}}
jobs: {nightly: {rules: all, notify: NOTIFY, existing: report}}
"""
TRACE = """\
import json, sys, threading
root, packages = sys.argv[1], tuple(f"{sys.argv[1]}/{name}/" for name in sys.argv[2].split(","))
sys.argv = ["reconcile", *sys.argv[4:]]
out = sys.orig_argv[-(len(sys.argv))]
sys.path.insert(0, root)
files, across = set(), 0
importing = threading.local()
def profile(frame, event, _):
    global across
    code = frame.f_code
    if code.co_name == "<module>":
        if event in ("call", "return"):
            importing.depth = getattr(importing, "depth", 0) + (1 if event == "call" else -1)
        return
    if event == "call" and code.co_filename.startswith(packages) and not getattr(importing, "depth", 0):
        files.add(code.co_filename)
        caller = frame.f_back
        across += caller is not None and caller.f_code.co_filename != code.co_filename
from reconcile.cli import main
threading.setprofile(profile)
sys.setprofile(profile)
try:
    main()
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    with open(out, "w") as file:
        json.dump([len(files), across], file)
"""


def modules(root: Path) -> dict[str, ast.Module]:
    paths = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    return {str(path.relative_to(root)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def lines(root: Path, name: str) -> int:
    return len((root / name).read_text(encoding="utf-8").splitlines())


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def cycles(trees: dict[str, ast.Module]) -> int:
    """Groups of modules that import each other at their top level, through any number of others."""
    names = {name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in trees}
    imports = {name: set(_imported(trees[file], names)) - {name} for name, file in names.items()}
    reach = {name: _reached(name, imports) for name in imports}
    return len({frozenset(other for other in reach[name] if name in reach[other]) for name in imports} - {frozenset()})


def _imported(tree: ast.Module, names: dict[str, str]) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from _targets(node, names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)


def _targets(node: ast.ImportFrom, names: dict[str, str]) -> Iterator[str]:
    for alias in node.names:
        for target in (f"{node.module}.{alias.name}", str(node.module)):
            if target in names:
                yield target
                break


def _reached(start: str, imports: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for name in imports[waiting.pop()] - reached:
            reached.add(name)
            waiting.append(name)
    return reached


def sizes(root: Path) -> Iterator[tuple[str, str]]:
    trees = modules(root)
    of_modules = {name: lines(root, name) for name in trees}
    of_functions = sorted(
        (node.end_lineno or 0) - node.lineno + 1 for tree in trees.values() for node in functions(tree)
    )
    parameters = sorted(
        len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
        for tree in trees.values()
        for node in functions(tree)
    )
    yield "lines of product", f"{sum(of_modules.values()):,}"
    for package in PACKAGES:
        own = {name: size for name, size in of_modules.items() if name.startswith(f"{package}/")}
        top = {name.split("/")[1] for name in own}
        yield f"{package}: lines, modules, names at the top", f"{sum(own.values()):,}, {len(own)}, {len(top)}"
    yield "names in a folder: most", str(max(Counter(str(Path(name).parent) for name in trees).values()))
    largest = sorted(of_modules.values())
    yield "lines of a module: median, largest", f"{statistics.median(largest):g}, {largest[-1]}"
    percentile = of_functions[int(0.9 * len(of_functions))]
    yield (
        "lines of a function: median, p90, largest",
        (f"{statistics.median(of_functions):g}, {percentile}, {of_functions[-1]}"),
    )
    yield "parameters: p90, most", f"{parameters[int(0.9 * len(parameters))]}, {parameters[-1]}"
    yield "import cycles", str(cycles(trees))
    names = Counter(name for tree in trees.values() for name in bound(tree))
    yield f"bound: {', '.join(VAGUE)}", ", ".join(str(names[name]) for name in VAGUE)


def project(folder: Path, channel: str, *, notify: bool) -> None:
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute("create table customers (id integer primary key, email text)")
        rows = [(number, f"c{number // 2}@example.com") for number in range(40)]
        database.executemany("insert into customers values (?, ?)", rows)
    text = CONFIGURATION.replace("{type: CHANNEL}", channel).replace("NOTIFY", "[ops]" if notify else "[]")
    (folder / "reconcile.yaml").write_text(text, encoding="utf-8")


def trace(root: Path, folder: Path, *arguments: str) -> tuple[int, int]:
    answer = folder / "trace.json"
    command = [sys.executable, "-P", "-c", TRACE, str(root), ",".join(PACKAGES), str(answer), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not answer.exists():
        raise SystemExit(done.stderr)
    files, across = json.loads(answer.read_text(encoding="utf-8"))
    answer.unlink()
    return files, across


def counted(figures: tuple[int, int]) -> str:
    return f"{figures[0]}, {figures[1]:,}"


def finding(folder: Path) -> str:
    with sqlite3.connect(folder / "state.db") as state:
        return str(state.execute("select id from findings order by id").fetchone()[0])


def journeys(root: Path) -> Iterator[tuple[str, str]]:
    to_a_file = "{type: file, path: messages.txt}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, to_a_file, notify=False)
        yield "YAML to SQL: files entered, calls across", counted(trace(root, folder, "explain", "twins"))
        yield "run to finding: files entered, calls across", counted(trace(root, folder, "run", "--quiet"))
        approve = trace(root, folder, "approve", finding(folder))
        yield "approval to receipt: files entered, calls across", counted(approve)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sys.path.insert(0, str(root))
        from reconcile.testing.slack_server import SlackServer

        with SlackServer() as slack:
            token = f'{{type: slack, token: "{slack.token}", channel: "#finance-ops", base_url: "{slack.base_url}"}}'
            project(folder, token, notify=True)
            yield "finding to Slack: files entered, calls across", counted(trace(root, folder, "run", "--quiet"))


def main() -> None:
    for given in sys.argv[1:]:
        root = Path(given).resolve()
        print(f"{root.name}\n\n| figure | |\n| --- | ---: |")
        for figure, value in (*sizes(root), *journeys(root)):
            print(f"| {figure} | {value} |")
        print()


if __name__ == "__main__":
    main()
