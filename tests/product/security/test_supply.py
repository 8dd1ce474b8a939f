"""What we install and what we overlook: hashes and licences of locked packages, and a reason for each exception."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docs import ROOT

LOCKS = ("requirements.lock", "requirements-dev.lock")
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "PSF-2.0",
    "Zlib",
}
"""Licences under which anybody may use, change and pass on, by their SPDX names."""
ALLOWED_FOR = {
    "certifi": "MPL-2.0",  # binds changes of its own files alone, and it is a list of certificates
    "psycopg": "LGPL-3.0-only",  # a library of its own that is installed beside ours, unchanged and replaceable
    "psycopg-binary": "LGPL-3.0-only",  # see above
}
OLD_NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""What metadata calls them that is older than SPDX names."""
PYTHON = ("reconcile", "rules", "connectors", "notifications", "bench", "examples", "tests")
EXCEPTION = re.compile(r"# (?:noqa: [A-Z0-9, ]*?S\d{3}[A-Z0-9, ]*|nosec(?: [B0-9, ]+)?)(?P<reason>.*)")


def entries(lock: str) -> list[str]:
    """The requirements of a lock file, each with the lines that go on."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def licences(distribution: importlib.metadata.Distribution) -> str:
    """The licence of a distribution as an SPDX expression, or what its metadata says instead; empty for nothing."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or [] if "License ::" in line]
    names = classifiers or [line for line in (metadata.get("License") or "").splitlines()[:1] if line]
    return " AND ".join(OLD_NAMES.get(name, name) for name in names)


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Return True if one side of each OR, and both of each AND, is allowed."""
    choices = [re.findall(r"[A-Za-z0-9.-]+", choice) for choice in re.split(r"\bOR\b", expression)]
    return any(words and set(words) - {"AND"} <= allowed for words in choices)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_one_version_and_hashes(lock: str) -> None:
    result = entries(lock)
    loose = [
        line
        for line in result
        if not re.match(r"[A-Za-z0-9._-]+==[^\s*]+( ;.*?)?\s+--hash=sha256:[0-9a-f]{64}\b", line)
    ]

    assert len(result) > 40
    assert loose == []


def test_nothing_is_installed_without_comparing_its_hash() -> None:
    files = [ROOT / "Makefile", ROOT / ".ci" / "run", ROOT / "examples" / "docker" / "Dockerfile"]
    installs = [
        line.strip()
        for file in files
        for line in file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        if re.search(r"pip[\"', ]+install", line) and not re.search(r"--require-hashes|--no-deps", line)
    ]

    assert installs == []


def test_every_package_that_is_installed_with_us_has_a_licence_that_lets_it_be_used() -> None:
    named = {match[0] for line in entries("requirements.lock") if (match := re.match(r"[A-Za-z0-9._-]+", line))}
    installed = [each for each in importlib.metadata.distributions() if each.metadata["Name"].lower() in named]
    licences_by_package = {each.metadata["Name"].lower(): licences(each) for each in installed}

    assert len(licences_by_package) > 40
    refused = {
        name: expression
        for name, expression in licences_by_package.items()
        if not is_allowed(expression, ALLOWED | {ALLOWED_FOR.get(name, "MIT")})
    }
    assert refused == {}


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("(BSD-3-Clause AND 0BSD)", True),
        ("MIT AND GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("", False),
        ("Proprietary", False),
    ],
)
def test_a_licence_is_allowed_as_its_expression_says(expression: str, allowed: bool) -> None:
    assert is_allowed(expression, ALLOWED) == allowed


def test_every_rule_of_security_that_is_overruled_has_its_reason_on_the_line() -> None:
    silent = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in PYTHON
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (exception := EXCEPTION.search(line)) and not re.match(r" ?- \w+", exception["reason"].strip(" "))
    ]

    assert silent == []


def test_bandit_is_part_of_the_check_and_finds_what_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import yaml, hashlib\nyaml.load(open('x'))\nhashlib.md5(b'x')\n")
    command = [Path(sys.executable).with_name("bandit"), "-q", "-c", ROOT / "pyproject.toml", "-r", tmp_path]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert "/bandit -q -c pyproject.toml -r " in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert (done.returncode, "B324" in done.stdout, "B506" in done.stdout) == (1, True, True), done.stdout + done.stderr
