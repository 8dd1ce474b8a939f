"""The errors of the source `http`: each says what to do, and none holds a secret, a value, or an address of the API's.

`where` is the host and the path that the configuration names.
"""

from __future__ import annotations

from connectors.errors import ConnectorError, DatasetMissing, FileUnreadable, Reaction, SourceUnavailable


class AnswerCut(FileUnreadable):
    """An answer is not JSON: perhaps only a part of it arrived, so it is asked for again."""

    reaction = Reaction.RETRY


class ApiAddressRefused(SourceUnavailable):
    """The host of the API has an address that is not public; nothing was sent."""

    reaction = Reaction.STOP

    def __init__(self, source: str, subject: str, network: str) -> None:
        super().__init__(
            source,
            f"Source {source!r}: {subject} is not a public address, so nothing was sent. If this is intended, "
            f'set `allow: ["{network}"]` in the source',
        )


class ApiUnanswered(SourceUnavailable):
    """The API gave no usable answer, as often as it was asked."""

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} got no usable answer from {where}: {reason}. Nothing was changed. "
            f"To test the source: reconcile check --source {source}",
        )


class CertificateRefused(SourceUnavailable):
    """The server has no certificate that we trust; nothing was sent."""

    reaction = Reaction.STOP

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} did not connect to {where}: {reason}. Nothing was sent; correct `url`, or set "
            "SSL_CERT_FILE to the certificate of your own authority",
        )


class ApiBusy(SourceUnavailable):
    """The API asked us to wait, for longer than we may."""

    def __init__(self, source: str, where: str, seconds: float | None) -> None:
        """`seconds` are what the API asked for; None if it did not say."""
        still = "" if seconds is None else f" for another {seconds:.0f} s"
        super().__init__(
            source,
            f"Source {source!r} limits requests to {where}{still}. Nothing was changed; it is tried again later, or "
            "set a lower `rate`, or a longer `deadline`",
        )


class DeadlinePassed(SourceUnavailable):
    """Reading a dataset took longer than `deadline`."""

    def __init__(self, source: str, where: str, pages: int, seconds: int) -> None:
        super().__init__(
            source,
            f"Source {source!r} was not read: {where} has more than the {pages:,} "
            f"{'page' if pages == 1 else 'pages'} that came within `deadline` ({seconds} s). Nothing was changed; ask "
            "for larger pages in `params`, or raise `deadline`",
        )


class ApiRefused(SourceUnavailable):
    """The API does not accept our credentials, or they may not read this. A person has to give access."""

    reaction = Reaction.ASK

    def __init__(self, source: str, where: str, status: int) -> None:
        super().__init__(
            source,
            f"Source {source!r} refused access at {where} (HTTP {status}). Nothing was read; check `auth` and "
            "`headers`, and what they are allowed to read",
        )


class TokenRefused(SourceUnavailable):
    """The address that gives tokens gave none."""

    reaction = Reaction.ASK

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} got no token from {where}: {reason}. Nothing was read; check `client_id`, "
            "`client_secret` and `refresh_token`. A service that replaces the refresh token with each use needs client "
            "credentials",
        )


class RedirectRefused(SourceUnavailable):
    """The API sends us to another origin, or round in circles."""

    reaction = Reaction.STOP

    def __init__(self, source: str, where: str, reason: str, remedy: str) -> None:
        super().__init__(source, f"Source {source!r} was not read: {where} {reason}. Nothing was changed; {remedy}")


class RequestRefused(ConnectorError):
    """The API calls a request invalid."""

    def __init__(self, source: str, where: str, status: int) -> None:
        super().__init__(
            f"Source {source!r} refused the request for {where} (HTTP {status}). Nothing was changed; check `path`, "
            "`params` and `paging`"
        )


class PathMissing(DatasetMissing):
    """The API has no such path."""

    def __init__(self, source: str, where: str, status: int) -> None:
        ConnectorError.__init__(
            self, f"Source {source!r} has no {where} (HTTP {status}). Nothing was changed; correct `path` or `url`"
        )


class ApiTooLarge(ConnectorError):
    """A dataset is larger than a limit of its source; none of it is used."""

    def __init__(self, where: str, limit: int, setting: str) -> None:
        what = {"max_pages": "more pages than", "max_page": "a page with more bytes than"}.get(
            setting, "more bytes than"
        )
        super().__init__(
            f"{where} has {what} `{setting}` allows ({limit:,}). None of it was used; read less by `params`, or raise "
            f"`{setting}`"
        )


class PagesEndless(ConnectorError):
    """The pages of a dataset lead nowhere: in circles, or to another host."""

    def __init__(self, where: str, page: int, reason: str, remedy: str) -> None:
        super().__init__(f"{where}, page {page}: {reason}. None of it was used; {remedy}")


class ListRestless(SourceUnavailable):
    """The list changed while it was read, as often as it was read."""

    def __init__(self, source: str, where: str, reason: str, remedy: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} was not read: the list at {where} changed each time that it was read ({reason}). None "
            f"of it was used; {remedy}",
        )


class NoRoom(SourceUnavailable):
    """The temporary folder has no room for the pages."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} was not read: its pages could not be written to the temporary folder ({reason}). "
            "Nothing was changed; make room there, or set TMPDIR",
        )
