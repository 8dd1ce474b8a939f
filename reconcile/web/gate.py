"""Who may pass: each route declares the role it needs, and gets the person who asks.

A route of the API takes a token, one of the console a session. `declared` lists what routes declare; a site with a
route that declares nothing is not built.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from reconcile.people import sessions, tokens
from reconcile.people.roles import Person, Role
from reconcile.people.sessions import SignedIn
from reconcile.web.multipart import Part, parts_of
from reconcile.web.office import Connection, Office, connection_of, office_of
from reconcile.web.problems import FormRefused, NotHere, NotSignedIn, RequestInvalid
from rules.document.mistakes import short, suggestion

COOKIE = "reconcile"
_FIELDS = 5_000
"""Fields of a form."""


class Form(Mapping[str, str]):
    """The fields of a form; of a field that is given twice, the last one counts. `files` are chosen files by field."""

    def __init__(self, pairs: list[tuple[str, str]], files: Mapping[str, Part] | None = None) -> None:
        self.files = files or {}
        self._pairs = pairs
        self._last = dict(pairs)

    def __getitem__(self, name: str) -> str:
        return self._last[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def every(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value for field, value in self._pairs if field == name]

    def text(self, name: str) -> str | None:
        """Return the value without surrounding blanks; None if it is empty."""
        return self._last.get(name, "").strip() or None


async def form_of(request: Request) -> Form:
    """Return the fields of a posted form. Raises FormRefused for anything else."""
    kind = request.headers.get("content-type", "")
    try:
        match kind.partition(";")[0].strip():
            case "application/x-www-form-urlencoded":
                body = (await request.body()).decode("utf-8")
                return _form(parse_qsl(body, keep_blank_values=True, max_num_fields=_FIELDS))
            case "multipart/form-data":
                parts = parts_of(kind, await request.body())
                texts = [(part.name, part.content.decode("utf-8")) for part in parts if part.file is None]
                return _form(texts, {part.name: part for part in parts if part.file})
    except ValueError:
        raise FormRefused from None
    raise FormRefused


def _form(pairs: list[tuple[str, str]], files: Mapping[str, Part] | None = None) -> Form:
    texts = [(name, value.replace("\r\n", "\n").replace("\0", "")) for name, value in pairs]
    return Form(texts, files)


@dataclass(frozen=True)
class Visit:
    """A request of a person who signed in. `form` is empty unless one was posted."""

    office: Office
    connection: Connection
    signed_in: SignedIn
    form: Form
    begins: bool = False
    """The session is new: its cookie has to be set."""

    @property
    def person(self) -> Person:
        return self.signed_in.person


class SignInNeeded(NotSignedIn):
    """A person has to sign in; `form` is what they posted, which is not acted on."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form


@dataclass(frozen=True)
class Anyone:
    """Declares that a route is for everybody."""

    def __call__(self) -> None:
        return None


@dataclass(frozen=True)
class OfApi:
    """Declares the role that a route of the API needs, and gives it the person of the token."""

    role: Role

    def __call__(self, request: Request) -> Person:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        person = tokens.person(office_of(request).store(), token.strip()) if scheme.lower() == "bearer" else None
        if person is None:
            raise NotSignedIn
        person.require(self.role)
        refuse_nul(request)
        _refuse_unknown(request)
        return person


async def _posted(request: Request) -> Form:
    return await form_of(request) if request.method == "POST" else Form([])


@dataclass(frozen=True)
class OfConsole:
    """Declares the role that a page needs, and gives it the visit. A posted form must be one of this session."""

    role: Role

    def __call__(self, request: Request, form: Annotated[Form, Depends(_posted)]) -> Visit:
        return visit_of(request, form, self.role)


def refuse_nul(request: Request) -> None:
    """Raise NotHere for a NUL in an address: nothing has such a name, and PostgreSQL takes no such text."""
    if any("\0" in text for text in (*request.path_params.values(), *request.query_params.values())):
        raise NotHere(HTTPStatus.NOT_FOUND)


def _refuse_unknown(request: Request) -> None:
    """Raise RequestInvalid for an unknown parameter: a filter with a typing error would filter nothing."""
    allowed = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in allowed:
            hint = suggestion(name, allowed) if allowed else "this address takes none"
            raise RequestInvalid(f"There is no parameter `{short(name)}`; {hint}")


def visit_of(request: Request, form: Form, role: Role) -> Visit:
    """Return the visit of a person with at least this role. Raises SignInNeeded, NotAllowed, FormRefused, NotHere."""
    refuse_nul(request)
    office = office_of(request)
    connection = connection_of(request, office)
    signed_in, begins = signed_in_of(request, office, connection)
    if request.method == "POST" and is_foreign(request):
        raise FormRefused
    if signed_in is None:
        raise SignInNeeded(form)
    signed_in.person.require(role)
    if request.method == "POST" and not hmac.compare_digest(form.get("csrf", "").encode(), signed_in.csrf.encode()):
        raise SignInNeeded(form) if begins else FormRefused
    return Visit(office, connection, signed_in, form, begins)


def signed_in_of(request: Request, office: Office, connection: Connection) -> tuple[SignedIn | None, bool]:
    """Return the session of a request, and True if it begins with it: a proxy signs people in."""
    secret, lifetime = request.cookies.get(COOKIE, ""), office.lifetime()
    session = sessions.resume(office.store(), secret, lifetime) if secret else None
    user = connection.proxied_user
    if user is None or (session is not None and session.person.name == user.strip().lower()):
        return session, False
    return sessions.sign_in_by_proxy(office.store(), user, lifetime, former=secret or None), True


def is_foreign(request: Request) -> bool:
    """Return True if another site's page sent the request, as far as the browser says."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()


def declared(route: APIRoute) -> list[Anyone | OfApi | OfConsole]:
    """Return what the route declares about who may use it."""
    return [call for call in _calls(route.dependant) if isinstance(call, Anyone | OfApi | OfConsole)]


def _calls(dependant: Dependant) -> Iterator[object]:
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from _calls(dependency)
