"""Draws pages: templates, with every text from data escaped and its invisible characters written out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jinja2
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup, escape

from notifications.wording import words
from reconcile.config.settings import Project
from reconcile.people.roles import Role
from reconcile.telemetry import visible
from reconcile.web.console import letters, pieces
from reconcile.web.context import RequestOrigin
from reconcile.web.gate import COOKIE, Visit


@dataclass(frozen=True)
class NavigationEntry:
    """An entry of the navigation, for people with at least this role."""

    path: str
    name: str
    icon: str
    role: Role = Role.VIEWER


NAVIGATION = (
    NavigationEntry("/", "Today", "today"),
    NavigationEntry("/review", "Review", "review"),
    NavigationEntry("/search", "Search", "search"),
    NavigationEntry("/runs", "Runs", "runs"),
    NavigationEntry("/rules", "Rules", "rules"),
    NavigationEntry("/effects", "Effects", "effects"),
    NavigationEntry("/audit", "Audit", "audit"),
    NavigationEntry("/people", "People", "people", Role.ADMIN),
)


def page(visit: Visit, template: str, section: str, *, status: int = HTTPStatus.OK, **given: Any) -> Response:
    """Return a page for a person who signed in."""
    project = visit.context.project()
    entries = [entry for entry in NAVIGATION if visit.person.role >= entry.role]
    frame = {"nav": entries, "section": section, "person": visit.person, "csrf": visit.signed_in.csrf}
    answer = _answer(project, template, status, frame | given)
    if visit.begins:
        set_cookie(answer, COOKIE, visit.signed_in.secret, visit.connection)
    return answer


def page_for_anyone(project: Project, template: str, *, status: int = HTTPStatus.OK, **given: Any) -> Response:
    """Return a page for somebody who did not sign in."""
    return _answer(project, template, status, given)


def set_cookie(answer: Response, name: str, value: str, connection: RequestOrigin, seconds: int | None = None) -> None:
    """Set a cookie that only this site gets, and no script reads; by https alone where people use that."""
    answer.set_cookie(
        name, value, max_age=seconds, path="/", secure=connection.is_secure, httponly=True, samesite="lax"
    )


def _answer(project: Project, template: str, status: int, given: Mapping[str, Any]) -> Response:
    common = {"project": project.name or project.directory.name, "zone": project.timezone}
    return HTMLResponse(_environment().get_template(template).render(common | dict(given)), int(status))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "static": pieces.address,
        "plural": words.plural,
        "span": words.span,
        "letters": letters.marked,
    }
    environment.filters |= {
        "block": _block,
        "code": _code,
        "exact": _exact,
        "iso": _iso,
        "state": words.state,
        "thousands": lambda number: f"{number:,}",
        "when": _when,
    }
    return environment


def _shown(value: Any) -> Any:
    """Write out invisible characters of texts; markup of ours stays."""
    return visible.line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _block(text: str) -> Markup:
    """Return a text whose line ends are shown as such."""
    return escape(visible.block(text))


def _code(text: str) -> Markup:
    """Return a sentence in which names between backticks are set as code."""
    parts = visible.line(text).split("`")
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def _iso(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).isoformat(timespec="seconds")


@jinja2.pass_context
def _exact(context: jinja2.runtime.Context, at: dt.datetime) -> str:
    return words.to_the_second(at, context["zone"])


@jinja2.pass_context
def _when(context: jinja2.runtime.Context, at: dt.datetime) -> str:
    return words.minute(at, dt.datetime.now(dt.UTC), context["zone"])
