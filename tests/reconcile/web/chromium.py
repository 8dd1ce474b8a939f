"""A real Chromium (Debian's) driven by Playwright, and axe-core, which looks for what keeps people out of a page."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.support.docs import ROOT
from tests.support.web import PASSWORD

_PROGRAM = "/usr/bin/chromium"
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
)
_AXE = ("axe-core", "4.14.1")
_AXE_DIGEST = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""SHA-256 of its axe.min.js."""
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if not Path(_PROGRAM).exists():
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed")
        pytest.skip("chromium is not installed")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        flags = [*_FLAGS, f"--disk-cache-dir={folder}"]
        browser = driver.chromium.launch(executable_path=_PROGRAM, args=flags)
        yield browser
        browser.close()


@dataclass
class Person:
    """Somebody at a browser of their own. `trouble` is what the browser complained about, `asked` where it went."""

    context: BrowserContext
    page: Page
    url: str
    trouble: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)

    @classmethod
    def at(cls, browser: Browser, url: str, **settings: Any) -> Person:
        context = browser.new_context(**{"viewport": DESK} | settings)
        context.set_default_timeout(20_000)
        person = cls(context, context.new_page(), url)
        person.page.on("console", lambda message: person.note(message.text))
        person.page.on("pageerror", lambda error: person.trouble.append(str(error)))
        person.page.on("request", lambda request: person.asked.add(request.url))
        return person

    def note(self, complaint: str) -> None:
        # A key that is pressed before the page is first painted takes the focus that the page would have given.
        if not complaint.startswith(
            "Autofocus processing was blocked because a document already has a focused element"
        ):
            self.trouble.append(complaint)

    def go(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def sign_in(self, name: str) -> Person:
        self.go("/sign-in")
        self.page.fill("#name", name)
        self.page.fill("#password", PASSWORD)
        self.page.click("button.primary")
        self.page.wait_for_selector(".frame")
        return self

    def press(self, key: str) -> None:
        """Press a key that leads to another page, and wait for that."""
        with self.page.expect_navigation():
            self.page.keyboard.press(key)

    def focused(self) -> str:
        """The text of the element with the focus."""
        return str(self.page.evaluate("document.activeElement.innerText"))

    def violations(self) -> list[str]:
        """What axe-core finds on this page."""
        self.page.evaluate(_axe())
        result = self.page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})")
        return [f"{rule['id']}: {node['html'][:200]}" for rule in result["violations"] for node in rule["nodes"]]

    def is_too_wide(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


@cache
def _axe() -> str:
    """The text of axe-core, fetched once into the folder of what `make` builds, and compared with its digest."""
    folder = ROOT / ".make" / "axe-core"
    file = folder / "axe.min.js"
    if not file.exists():
        npm = shutil.which("npm")
        if npm is None:
            if os.environ.get("CI"):
                pytest.fail("npm is not installed")
            pytest.skip("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(
            [npm, "pack", "--silent", "@".join(_AXE)], cwd=folder, capture_output=True, text=True, check=True
        )
        with tarfile.open(folder / packed.stdout.strip()) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            file.write_bytes(member.read())
    text = file.read_bytes()
    assert hashlib.sha256(text).hexdigest() == _AXE_DIGEST, "axe-core is not the one that was looked at"
    return text.decode()
