"""The console and the API for tests: a site over a small shop, and a browser of plain requests."""

from __future__ import annotations

import html
import http.client
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest

from reconcile import config
from reconcile.app import Application
from reconcile.cli import exits
from reconcile.config.settings import Project
from reconcile.people import passwords, users
from reconcile.people.roles import Role
from reconcile.people.welcome import Welcome
from reconcile.service.listener import Listener
from reconcile.store import Store
from reconcile.store import users as stored_users
from reconcile.web.context import WebContext
from reconcile.web.headers import SafeHeaders
from reconcile.web.site import application
from tests.support.world import World

PASSWORD = "correct horse battery"
PEOPLE = {"ada": Role.ADMIN, "otto": Role.OPERATOR, "bob": Role.REVIEWER, "rita": Role.REVIEWER, "vic": Role.VIEWER}
PII: dict[str, Any] = {"source": "shop", "table": "customers", "id": "id", "pii": ["email"]}


@dataclass
class Site:
    """The application of a world, at an address of its own. `woken` are the duties it woke."""

    world: World
    project: Project
    store: Store
    woken: list[str] = field(default_factory=list)
    welcome: Welcome = field(default_factory=Welcome)

    def __post_init__(self) -> None:
        self.office = WebContext(
            project=lambda: self.project,
            store=lambda: self.store,
            wake=self.woken.append,
            sentence=exits.sentence,
            welcome=self.welcome,
        )
        self.app = application(self.office)
        self.listener = Listener("127.0.0.1:0", {}, self.project.listen_hosts, SafeHeaders(self.app))

    @property
    def url(self) -> str:
        return f"http://{self.listener.address}"

    def application(self) -> Application:
        return self.office.application()

    def clean(self) -> None:
        """What the duty does that a decision woke."""
        with self.application() as application:
            application.clean_due()

    def browser(self, user: str | None = None, password: str = PASSWORD, **headers: str) -> Browser:
        """A browser, signed in if a user is named."""
        browser = Browser(self.listener.address, headers)
        if user is not None:
            assert browser.sign_in(user, password).status == 303
        return browser


@contextmanager
def site_of(world: World, people: Mapping[str, Role] = PEOPLE, **console: Any) -> Iterator[Site]:
    """The site of a world, with these users."""
    world.config["console"] = console
    world.write()
    project = config.load(world.folder / "reconcile.yaml", {})
    with Store.open(project.state.get_secret_value(), world.folder) as store:
        with store.begin() as tx:
            names = {user.name for user in stored_users.listed(tx)}
            for name, role in ((name, role) for name, role in people.items() if name not in names):
                users.add(tx, name, role, by=name, password=PASSWORD)
        site = Site(world, project, store)
        site.listener.start()
        yield site
        site.listener.stop()


@pytest.fixture(autouse=True, scope="module")
def cheap_hashes() -> Iterator[None]:
    """Hashes that cost nothing: the tests sign in often."""
    from argon2 import PasswordHasher  # noqa: PLC0415 - of the extra `console`

    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", lambda: quick)
        passwords._no_hash.cache_clear()
        yield
    passwords._no_hash.cache_clear()


@dataclass(frozen=True)
class Page:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """What a person reads: the body without tags."""
        return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", self.body.decode()))).strip()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def field(self, name: str) -> str:
        """The value of the first field of that name."""
        match = re.search(rf'name="{re.escape(name)}"[^>]*? value="([^"]*)"', self.body.decode())
        assert match is not None, f"no field {name}: {self.text}"
        return html.unescape(match[1])


class Browser:
    """Sends requests with its cookies, like a browser without JavaScript."""

    def __init__(self, address: str, headers: Mapping[str, str] | None = None) -> None:
        self.address = address
        self.headers = dict(headers or {})
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Page:
        connection = http.client.HTTPConnection(self.address, timeout=30)
        sent = self.headers | headers
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            for cookie in answer.headers.get_all("Set-Cookie") or []:
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
                if value in ("", '""'):
                    del self.cookies[name]
            return Page(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Page:
        return self.ask("GET", path, **headers)

    def post(self, path: str, fields: Mapping[str, Any], **headers: str) -> Page:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, urlencode(fields, doseq=True), **kind | headers)

    def csrf(self, path: str = "/") -> str:
        return self.get(path).field("csrf")

    def send(self, path: str, page: str = "/", **fields: Any) -> Page:
        """Post a form of a page."""
        return self.post(path, {"csrf": self.csrf(page), "back": page} | fields)

    def follow(self, page: Page) -> Page:
        """Return where a form leads to, as a browser shows it."""
        return self.get(page.headers["Location"]) if page.status == 303 else page

    def sign_in(self, name: str, password: str = PASSWORD, **fields: str) -> Page:
        csrf = self.csrf("/sign-in")
        return self.post("/sign-in", {"csrf": csrf, "name": name, "password": password} | fields)
