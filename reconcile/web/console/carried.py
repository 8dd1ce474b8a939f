"""What became of many decisions, carried over the redirect that follows them: a reload must not decide again."""

from __future__ import annotations

import hmac
import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from reconcile.deciding.many import Outcome, Outcomes
from reconcile.store.sealing import RowsUnreadable, Seals
from reconcile.web.console.drawing import set_cookie
from reconcile.web.gate import Visit
from reconcile.web.office import connection_of

_COOKIE = "reconcile-outcome"
_SECONDS = 60
_LARGEST = 3_800
"""Bytes of a cookie that every browser keeps."""


@dataclass(frozen=True)
class Carried:
    """Outcomes, how many decisions that were not carried out did not fit, and a remark on the file they came from."""

    outcomes: Outcomes
    more_not_done: int = 0
    remark: str | None = None


def carry(answer: Response, request: Request, visit: Visit, outcomes: Outcomes, *, remark: str | None = None) -> None:
    """Let the next page of this person's browser tell what became of their decisions.

    They are sealed, for sentences of refusals may name records. Where they are too many for a cookie, the last
    decisions that were not carried out are only counted.
    """
    for left_out in range(len(outcomes.not_done) + 1):
        text = _seals(visit).seal(_packed(Carried(outcomes, left_out, remark)), visit.person.name)
        if len(text) <= _LARGEST:
            set_cookie(answer, _COOKIE, text, connection_of(request, visit.office), _SECONDS)
            return


def carried(request: Request, visit: Visit) -> Carried | None:
    """Return what `carry` left for this person; None without that, or if it was made up."""
    text = request.cookies.get(_COOKIE)
    if text is None:
        return None
    try:
        return _unpacked(_seals(visit).open(text, visit.person.name))
    except RowsUnreadable:
        return None


def forget(answer: Response) -> None:
    answer.delete_cookie(_COOKIE, path="/")


def _seals(visit: Visit) -> Seals:
    return Seals([hmac.digest(visit.office.store().key, b"reconcile/outcome/1", "sha256")])


def _packed(told: Carried) -> str:
    rows = [(each.finding, each.status, "", each.became) for each in told.outcomes.each if each.status != "not_done"]
    not_done = told.outcomes.not_done[: len(told.outcomes.not_done) - told.more_not_done]
    rows += [(each.finding, each.status, each.sentence, "") for each in not_done]
    text = json.dumps([told.more_not_done, told.remark, rows])
    return urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode()


def _unpacked(text: str) -> Carried:
    """Read what was sealed, so only what `_packed` wrote."""
    more, remark, rows = json.loads(zlib.decompress(urlsafe_b64decode(text)))
    return Carried(Outcomes(tuple(Outcome(*row) for row in rows)), more, remark)
