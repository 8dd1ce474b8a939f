"""Access to routes: each route declares the role it needs, and gets the person who asks.

A route of the API takes a token, one of the console a session. A body is parsed only for somebody who may use its
route; of strangers, only small forms are parsed. `declared` lists what routes declare; a site with a
route that declares nothing is not built.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from reconcile.people import sessions, tokens
from reconcile.people.roles import Person, Role
from reconcile.people.sessions import SignedIn
from reconcile.web.context import RequestOrigin, WebContext, connection_of, context_of
from reconcile.web.multipart import FormPart, parts_of
from reconcile.web.problems import FormRefused, NotHere, NotSignedIn, RequestInvalid
from rules.document.mistakes import short, suggestion

COOKIE = "reconcile"
_FIELDS = 5_000
"""Fields of a form."""
_LARGEST_FOR_STRANGERS = 65_536
"""Bytes of a form that is parsed before anybody signed in."""
_FORM, _FORM_WITH_FILE = "application/x-www-form-urlencoded", "multipart/form-data"


class Form(Mapping[str, str]):
    """The fields of a form; of a field that is given twice, the last one counts. `files` are chosen files by field."""

    def __init__(self, pairs: list[tuple[str, str]], files: Mapping[str, FormPart] | None = None) -> None:
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


async def body_of(request: Request) -> bytes:
    """Return the bytes of a posted body, which nobody parsed yet."""
    return await request.body() if request.method == "POST" else b""


Body = Annotated[bytes, Depends(body_of)]


def form_of(request: Request, body: bytes, *, takes_file: bool = False) -> Form:
    """Return the fields of a posted form. Raises FormRefused for anything else, and for files that nobody asked for."""
    kind = request.headers.get("content-type", "")
    form = kind.partition(";")[0].strip().lower()
    try:
        if form == _FORM:
            return _form(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_FIELDS))
        if form == _FORM_WITH_FILE and takes_file:
            parts = parts_of(kind, body)
            texts = [(part.name, part.content.decode("utf-8")) for part in parts if part.file is None]
            return _form(texts, {part.name: part for part in parts if part.file})
    except ValueError:
        raise FormRefused from None
    raise FormRefused


def form_of_stranger(request: Request, body: bytes) -> Form:
    """Return the fields of a form of somebody without a session, which is small. Raises FormRefused."""
    if len(body) > _LARGEST_FOR_STRANGERS:
        raise FormRefused
    return form_of(request, body)


def _form(pairs: list[tuple[str, str]], files: Mapping[str, FormPart] | None = None) -> Form:
    texts = [(name, value.replace("\r\n", "\n").replace("\0", "")) for name, value in pairs]
    return Form(texts, files)


@dataclass(frozen=True)
class Visit:
    """A request of a person who signed in. `form` is empty unless one was posted."""

    context: WebContext
    connection: RequestOrigin
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
    """Declares the role that a route of the API needs, and gives it the person of the token, whom `admit` let in."""

    role: Role

    def __call__(self, request: Request) -> Person:
        person: Person = request.state.person
        return person

    def admit(self, request: Request) -> None:
        """Let the person of the token in. Raises NotSignedIn, NotAllowed, NotHere, RequestInvalid."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        person = tokens.person(context_of(request).store(), token.strip()) if scheme.lower() == "bearer" else None
        if person is None:
            raise NotSignedIn
        person.require(self.role)
        refuse_nul(request)
        _refuse_unknown(request)
        request.state.person = person


class ApiRoute(APIRoute):
    """A route of the API: FastAPI parses a body before it asks who sent it, so that is asked here."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        needed = [call for call in declared(self) if isinstance(call, OfApi)]

        async def handle_admitted(request: Request) -> Response:
            for call in needed:
                await run_in_threadpool(call.admit, request)
            return await handle(request)

        return handle_admitted


@dataclass(frozen=True)
class OfConsole:
    """Declares the role that a page needs, and gives it the visit. A posted form must be one of this session.

    Only a page that `takes_file` reads forms with a file.
    """

    role: Role
    takes_file: bool = False

    def __call__(self, request: Request, body: Body) -> Visit:
        return visit_of(request, body, self.role, takes_file=self.takes_file)


def refuse_nul(request: Request) -> None:
    """Raise NotHere for a NUL in an address: nothing has such a name, and PostgreSQL takes no such text."""
    if any("\0" in text for text in (*request.path_params.values(), *request.query_params.values())):
        raise NotHere(HTTPStatus.NOT_FOUND)


def _refuse_unknown(request: Request) -> None:
    """Raise RequestInvalid for an unknown parameter: a filter with a typing error would filter nothing."""
    allowed = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in allowed:
            hint = suggestion(name, allowed) if allowed else "this address has none"
            raise RequestInvalid(f"There is no parameter `{short(name)}`; {hint}")


def visit_of(request: Request, body: bytes, role: Role, *, takes_file: bool = False) -> Visit:
    """Return the visit of a person with at least this role. Raises SignInNeeded, NotAllowed, FormRefused, NotHere."""
    is_post = request.method == "POST"
    refuse_nul(request)
    context = context_of(request)
    connection = connection_of(request, context)
    signed_in, begins = signed_in_of(request, context, connection)
    if is_post and is_foreign(request):
        raise FormRefused
    if signed_in is None:
        raise SignInNeeded(_typed_by_stranger(request, body))
    signed_in.person.require(role)
    form = form_of(request, body, takes_file=takes_file) if is_post else Form([])
    if is_post and not hmac.compare_digest(form.get("csrf", "").encode(), signed_in.csrf.encode()):
        raise SignInNeeded(form) if begins else FormRefused
    return Visit(context, connection, signed_in, form, begins)


def _typed_by_stranger(request: Request, body: bytes) -> Form:
    """Return the form of a person whose session ended; empty if it is too large, has a file, or is no form."""
    try:
        return form_of_stranger(request, body)
    except FormRefused:
        return Form([])


def signed_in_of(request: Request, context: WebContext, connection: RequestOrigin) -> tuple[SignedIn | None, bool]:
    """Return the session of a request, and True if it begins with it: a proxy signs people in."""
    secret, lifetime = request.cookies.get(COOKIE, ""), context.lifetime()
    session = sessions.resume(context.store(), secret, lifetime) if secret else None
    user = connection.proxied_user
    if user is None or (session is not None and session.person.name == user.strip().lower()):
        return session, False
    return sessions.sign_in_by_proxy(context.store(), user, lifetime, former=secret or None), True


def is_foreign(request: Request) -> bool:
    """Return True if another site's page sent the request, as far as the browser says."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()
    except ValueError:  # no browser sends such an origin
        return True


def declared(route: APIRoute) -> list[Anyone | OfApi | OfConsole]:
    """Return what the route declares about who may use it."""
    return [call for call in _calls(route.dependant) if isinstance(call, Anyone | OfApi | OfConsole)]


def _calls(dependant: Dependant) -> Iterator[object]:
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from _calls(dependency)
