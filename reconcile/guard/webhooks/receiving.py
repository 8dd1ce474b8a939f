"""Receive a webhook in any web framework: check its signature, then its event id, and only then do the work."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from reconcile.errors import Refused, Wrong
from reconcile.guard.claiming import ClaimLost, Done, InProgress
from reconcile.guard.guard import Claim, Guard
from reconcile.guard.webhooks.signatures import EventUnnamed, Headers, Sender, SignatureRefused
from reconcile.store.columns import json_text

Handler = Callable[["WebhookEvent"], Any]


@dataclass(frozen=True)
class WebhookEvent:
    """An event whose signature is right, and that nobody worked on before.

    `claim.attempt` is above 1 if an earlier delivery began the work and did not end it.
    """

    id: str
    body: bytes = field(repr=False)
    headers: Headers = field(repr=False)
    claim: Claim = field(repr=False)

    @property
    def json(self) -> Any:
        """The body as JSON. Raises ValueError."""
        return json.loads(self.body)


@dataclass(frozen=True)
class WebhookAnswer:
    """What to answer the sender: 200 also to a repeat, with the stored result; 409 while another delivery is worked
    on, 401 for a wrong signature, 400 without an event id."""

    status: int
    body: str
    headers: Mapping[str, str]
    is_repeat: bool = False


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def receive(
    guard: Guard,
    namespace: str,
    sender: Sender,
    headers: Mapping[str, str] | Sequence[tuple[str, str]],
    body: bytes,
    work: Handler,
    *,
    not_done: tuple[type[Exception], ...] = (),
    now: Callable[[], dt.datetime] = _now,
) -> WebhookAnswer:
    """Do the work of an event once and return the answer; `work` returns JSON, which repeats of the event get, too.

    `headers` and `body` are as received: of a body that was parsed and written again, the signature is wrong. Raises
    what `work` raises, which your framework answers with 500, so that the sender sends the event again: at once after
    an error in `not_done`, else when the lease is over. Raises NamespaceUnknown, SecretMissing, StoreError.
    """
    received = Headers(headers)
    guard.settings(namespace)
    try:
        event = sender.check(received, body, now())
    except SignatureRefused as error:
        return _refusal(HTTPStatus.UNAUTHORIZED, error)
    except EventUnnamed as error:
        return _refusal(HTTPStatus.BAD_REQUEST, error)
    claim = guard.claim(namespace, event)
    match claim:
        case Done():
            return _answer(HTTPStatus.OK, claim.result, is_repeat=True)
        case InProgress():
            wait = {"Retry-After": str(max(1, math.ceil(claim.seconds)))}
            return _answer(HTTPStatus.CONFLICT, {"detail": "This event is being worked on"}, wait, is_repeat=True)
    try:
        result = work(WebhookEvent(event, body, received, claim))
    except not_done as error:
        with contextlib.suppress(ClaimLost):  # another delivery took over, and the error says enough
            claim.fail(type(error).__name__)
        raise
    claim.complete(result)
    return _answer(HTTPStatus.OK, result)


def _refusal(status: HTTPStatus, error: Wrong | Refused) -> WebhookAnswer:
    return _answer(status, {"detail": str(error)})


def _answer(
    status: HTTPStatus, document: Any, headers: Mapping[str, str] | None = None, *, is_repeat: bool = False
) -> WebhookAnswer:
    kind = {"Content-Type": "application/json"}
    return WebhookAnswer(int(status), json_text(document), kind | dict(headers or {}), is_repeat)
