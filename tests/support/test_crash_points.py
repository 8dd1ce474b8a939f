"""Crash points and the warm fork server of the tests."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile import points
from tests.support.crash_points import Crashed, Fault, LabelUnknown, arm, disarm
from tests.support.docs import tree_of
from tests.support.folders import ROOT
from tests.support.fork_server import Warm

PACKAGES = ("reconcile", "connectors", "rules", "notifications")
REACH = "reconcile.points:reach"
OF_THE_TESTS = ("reconcile.testing", "tests.")


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm() as server:
        yield server


def _reached() -> dict[str, list[str]]:
    """Every label in the code, and where it is reached."""
    places: dict[str, list[str]] = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(tree_of(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                    if name == "reach" and node.args and isinstance(node.args[0], ast.Constant):
                        places.setdefault(node.args[0].value, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    return places


@pytest.mark.slow
def test_every_registered_crash_point_stands_in_the_code_and_every_one_in_the_code_is_registered() -> None:
    assert set(_reached()) == set(points.LABELS)
    assert len(set(points.LABELS)) == len(points.LABELS)


def test_a_point_does_nothing_unless_it_is_armed() -> None:
    assert points.armed is None

    points.reach("target.committed")
    points.reach("no such point")


def test_an_armed_point_raises_at_its_nth_time_and_only_then(tmp_path: Path) -> None:
    log = tmp_path / "log"
    arm(Fault("target.changed", 2, "raise"), log=log)
    try:
        points.reach("target.changed")
        points.reach("target.sealed")
        with pytest.raises(Crashed):
            points.reach("target.changed")
        points.reach("target.changed")
        with pytest.raises(LabelUnknown):
            points.reach("target.chagned")
    finally:
        disarm()

    assert log.read_text().split() == ["target.changed", "target.sealed", "target.changed", "target.changed"]


@pytest.mark.parametrize("text", ["target.committed", "target.committed:3", "target.committed:3:stop"])
def test_a_fault_is_what_its_text_says(text: str) -> None:
    assert str(Fault.parse(text)).startswith(text)


@pytest.mark.parametrize("text", ["target.committed:0", "target.committed:x", "target.committed:1:explode"])
def test_a_fault_that_says_nothing_sensible_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"nth|invalid literal"):
        Fault.parse(text)


@pytest.mark.slow
def test_no_environment_variable_arms_a_crash_point_or_loads_the_package_of_the_tests() -> None:
    names = ("CRASH_POINT", "CRASH_LOG", "FAULT", "FAULTS", "CLOCK", "NOW", "TESTING")
    told = os.environ | {f"RECONCILE_{name}": "target.committed" for name in names}
    code = (
        "import sys, reconcile.app, reconcile.cli; from reconcile import points; points.reach('target.committed')\n"
        f"print(points.armed, [name for name in sys.modules if name.startswith({OF_THE_TESTS})])"
    )

    ended = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (0, "None []\n")


@pytest.mark.slow
def test_the_product_reads_no_environment_variable_of_its_own_but_who_acts() -> None:
    """A name that begins with RECONCILE_ could arm something: the tests' own ones stay with the tests."""
    names = {
        constant.value
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for constant in ast.walk(tree_of(path.read_text(encoding="utf-8")))
        if isinstance(constant, ast.Constant) and re.fullmatch(r"RECONCILE_[A-Z_]+", str(constant.value))
    }

    assert names == {"RECONCILE_ACTOR"}


@pytest.mark.slow
def test_nothing_but_the_package_of_the_tests_arms_a_crash_point_or_imports_that_package() -> None:
    mentions = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if path.parent != ROOT / "reconcile" / "testing"
        for node in ast.walk(tree_of(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr == "armed")
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OF_THE_TESTS))
        or (isinstance(node, ast.Import) and any(name.name.startswith(OF_THE_TESTS) for name in node.names))
        or (isinstance(node, ast.Constant) and str(node.value).startswith(OF_THE_TESTS))
    }

    assert mentions == set()


@pytest.mark.slow
def test_a_child_is_killed_at_the_point_it_is_armed_with_and_another_is_not(warm: Warm, tmp_path: Path) -> None:
    log = tmp_path / "log"

    dead = warm.call(REACH, "target.begun", faults=[Fault("target.begun")], log=log).wait()
    alive = warm.call(REACH, "target.begun", faults=[Fault("target.begun", 2)], log=log).wait()

    assert (dead.killed, alive.code) == (True, 0)
    assert log.read_text() == "target.begun\n" * 2


@pytest.mark.slow
def test_a_child_stopped_at_a_point_goes_on_when_it_is_let(warm: Warm) -> None:
    child = warm.call(REACH, "target.begun", faults=[Fault("target.begun", how="stop")])

    child.stopped()
    assert child.is_alive()
    child.go_on()

    assert child.wait().code == 0


@pytest.mark.slow
def test_a_child_gives_back_what_its_function_returns_and_what_it_wrote(warm: Warm, tmp_path: Path) -> None:
    assert warm.call("os:getcwd", cwd=tmp_path).wait().result == str(tmp_path.resolve())
    assert warm.call("os:getenv", "SAID", environ={"SAID": "so"}).wait().result == "so"
    ended = warm.cli("version").wait()
    assert (ended.code, ended.result, ended.err) == (0, 0, "")
    assert ended.out.startswith("reconcile ")


@pytest.mark.slow
def test_a_child_whose_function_fails_says_how(warm: Warm) -> None:
    ended = warm.call("json:loads", "{").wait()

    assert ended.code == 70
    assert "JSONDecodeError" in ended.err


@pytest.mark.slow
def test_children_die_with_their_server() -> None:
    with Warm() as server:
        children = [server.call("time:sleep", 60) for _ in range(3)]
        children[0].stop()

    assert [child.wait().killed for child in children] == [True] * 3
    assert not any(child.is_alive() for child in children)
