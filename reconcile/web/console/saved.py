"""Views that a person saved: names of filters, kept in this person's browser and sealed for them.

A view is an address, so nothing of it has to be kept in the state.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import Response

from reconcile.errors import Wrong
from reconcile.store.sealing import RowsUnreadable, Seals
from reconcile.web.console.drawing import set_cookie
from reconcile.web.console.filters import Filter
from reconcile.web.context import connection_of
from reconcile.web.gate import Visit

_SECONDS = 400 * 86_400
"""The longest that browsers keep a cookie."""
_LARGEST = 3_800
"""Bytes of a cookie that every browser keeps."""
LONGEST_NAME = 40


class ViewRefused(Wrong):
    """The view cannot be saved."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The view was not saved: {why}")


def views(request: Request, visit: Visit) -> Mapping[str, Filter]:
    """Return the saved views by name, in the order in which they were saved."""
    text = request.cookies.get(_cookie(visit), "")
    try:
        saved = json.loads(_seals(visit).open(text, visit.person.name))
    except RowsUnreadable:
        return {}
    return {name: Filter.of(given) for name, given in saved.items()}


def save(answer: Response, request: Request, visit: Visit, name: str, wanted: Filter) -> None:
    """Save a view; one of the same name is replaced. Raises ViewRefused."""
    if not name:
        raise ViewRefused("give it a name")
    if len(name) > LONGEST_NAME:
        raise ViewRefused(f"its name has more than {LONGEST_NAME} characters")
    _keep(answer, request, visit, {**views(request, visit), name: wanted})


def remove(answer: Response, request: Request, visit: Visit, name: str) -> None:
    kept = {saved: view for saved, view in views(request, visit).items() if saved != name}
    _keep(answer, request, visit, kept)


def _keep(answer: Response, request: Request, visit: Visit, saved: Mapping[str, Filter]) -> None:
    kept = {name: {field: text for field, text in view.fields.items() if text} for name, view in saved.items()}
    text = _seals(visit).seal(json.dumps(kept), visit.person.name)
    if len(text) > _LARGEST:
        raise ViewRefused("your browser keeps no more; remove one first")
    set_cookie(answer, _cookie(visit), text, connection_of(request, visit.context), _SECONDS)


def _cookie(visit: Visit) -> str:
    """Return the name of this person's cookie: several people may use one browser."""
    return f"reconcile-views-{hmac.digest(visit.context.store().key, visit.person.name.encode(), 'sha256').hex()[:12]}"


def _seals(visit: Visit) -> Seals:
    return Seals([hmac.digest(visit.context.store().key, b"reconcile/views/1", "sha256")])
