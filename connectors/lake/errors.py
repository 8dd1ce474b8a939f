"""Errors of the libraries for people: one sentence each, without values of records or secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

from connectors.errors import (
    AccessDenied,
    ConnectorError,
    DriverMissing,
    Reaction,
    SourceMissing,
    SourceUnreachable,
)

_DENIED = (
    r"(?i)access.?denied|permission.?denied|forbidden|unauthori[sz]ed|not authori[sz]ed|\b40[13]\b|expired.?token"
    r"|invalid.?access.?key|signature.?does.?not.?match|AuthorizationExpired|OAuthError|invalid.?credentials"
)
_GONE = (
    r"(?i)error sending request|client error|connect(ion)? (refused|reset|closed|error|aborted)|connect error|network"
    r"|timed? ?out|dns error|name resolution|token request|max retries|service ?unavailable|server ?error|\b50[0234]\b"
)
_LOST = r"(?i)object at location .* not found|no such file|filenotfound|path does not exist|does not exist|NoSuchKey"
_NO_STORE = r"NoSuchBucket|NO_SUCH_BUCKET|bucket does not exist|ContainerNotFound|container does not exist"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_NESTING = re.compile(r"^(\w+(Error|Invalid|Exception)?: |C Data interface error: |External error: |Kernel error: )+")
"""How libraries name the libraries below them."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LONGEST = 300
_SHORTEST_SECRET = 4
"""Shorter values, such as a number of tries, are hidden as whole words only: else they tear texts apart."""


class TableRefused(ConnectorError):
    """A table that cannot be read exactly; nothing of it is used."""

    def __init__(self, place: str, reason: str, remedy: str) -> None:
        super().__init__(f"{place} is not read: {reason}; {remedy}")


class TableUnreadable(TableRefused):
    """A table on which the library fails, for a reason of its own."""

    def __init__(self, place: str, library: str, complaint: str) -> None:
        self.reason = f"{library} could not read it ({complaint})"
        super().__init__(place, self.reason, "check it with the program that writes it")


class FilesGone(ConnectorError):
    """Files of the version that is read no longer exist; nothing of it is used and a later try can succeed."""

    reaction = Reaction.RETRY

    def __init__(self, place: str, version: str) -> None:
        super().__init__(
            f"{place} lost files of {version} while it was read, perhaps to a cleanup of old versions. None of it "
            f"was used; run it again, and let the cleanup keep files for longer than a run takes"
        )


@dataclass(frozen=True)
class LakePlace:
    """The context of an error: the source, its address without secrets, the library, and what is never shown."""

    source: str
    where: str
    library: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def table(self, place: str) -> str:
        return f"{place[:1].upper()}{place[1:]} of source {self.source!r}"

    def hidden(self, text: str) -> str:
        """The text without secrets and without quotations, which may be values of records."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            forms = {re.escape(form) for form in (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))}
            pattern = "|".join(forms) if len(secret) >= _SHORTEST_SECRET else rf"\b{re.escape(secret)}\b"
            text = re.sub(pattern, "***", text)
        return _QUOTED.sub("…", text)


OwnErrors = Callable[[Exception, str], ConnectorError | None]
"""A connector's own errors for one of its library, from the error and its text."""


@contextmanager
def translated(place: LakePlace, dataset: str, version: str | None, own_errors: OwnErrors) -> Iterator[None]:
    """Turn the library's errors into ours. `version` is None until the table is open."""
    try:
        yield
    except ConnectorError:
        raise
    except Exception as error:  # noqa: BLE001 - libraries raise what their own libraries raise
        raise _connector_error(error, place, dataset, version, own_errors) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic in Rust is no Exception
            raise
        raise _unreadable(place, dataset, str(error)) from None


def _connector_error(
    error: Exception, place: LakePlace, dataset: str, version: str | None, own_errors: OwnErrors
) -> ConnectorError:
    text = _COLOURS.sub("", " ".join(_texts(error)))
    if own := own_errors(error, text):
        return own
    if isinstance(error, ImportError) or type(error).__name__ == "NotInstalledError":
        extra = re.search(r"pyiceberg\[[\w-]+\]", text)
        needs = extra[0] if extra else getattr(error, "name", None) or place.library
        return DriverMissing(place.source, needs, needs)
    if re.search(_NO_STORE, text):
        return SourceMissing(place.source, place.where, "the object store has no such bucket")
    if re.search(_DENIED, text):
        return AccessDenied(place.source, place.where, "its user has no right to read it")
    if isinstance(error, FileNotFoundError) or re.search(_LOST, text):
        if version is not None:
            return FilesGone(place.table(dataset), version)
        reason = "files with its metadata do not exist; perhaps it was deleted"
        return TableRefused(place.table(dataset), reason, "check it with the program that writes it")
    if re.search(_GONE, text):
        return SourceUnreachable(place.source, place.where, place.hidden(_last_line(text)))
    return _unreadable(place, dataset, text)


def _unreadable(place: LakePlace, dataset: str, text: str) -> TableUnreadable:
    return TableUnreadable(place.table(dataset), place.library, place.hidden(_first_line(text)))


def _texts(error: BaseException) -> Iterator[str]:
    """The texts of the error and of those that led to it, each with its class."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield f"{type(cause).__name__}: {cause}" if not isinstance(cause, OSError) else str(cause)
        cause = cause.__cause__ or cause.__context__


def _lines(text: str) -> list[str]:
    return [line.strip(" \t↳.") for line in text.splitlines() if line.strip(" \t↳.")] or ["no reason given"]


def _first_line(text: str) -> str:
    return _NESTING.sub("", _lines(text)[0])[:_LONGEST]


def _last_line(text: str) -> str:
    return _lines(text)[-1][:_LONGEST]
