"""Requests to Google's APIs: authorised by Google's own library, answered as JSON, and repeated as Google documents.

A read is repeated after 429, 5xx, a broken connection or an unreadable answer, with truncated exponential backoff or
after Retry-After. A write is sent again only after an answer that proves that it was refused. Nothing here logs.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from connectors.errors import ConnectorError, DriverMissing, ReadStopped
from connectors.google_sheets.connector import GoogleSheetsSettings, key_of
from connectors.google_sheets.refusals import QuotaExceeded, SpreadsheetDenied, refusal, unreachable

if TYPE_CHECKING:
    import requests
    from google.auth.credentials import Credentials

SCOPES = (
    "https://www.googleapis.com/auth/spreadsheets",
    "https://www.googleapis.com/auth/drive.metadata.readonly",
)
CONNECT, READ = 10.0, 60.0
"""Seconds for a connection, and between two packets of an answer."""
LONGEST_WAIT = 64.0
"""Google's own most seconds between two tries."""
QUOTA = 429


class WriteLost(Exception):
    """A write was sent, and no answer tells if it was made."""


class Api:
    """The APIs for one spreadsheet. One thread uses it at a time; `stop` may be called from any other."""

    def __init__(self, source: str, settings: GoogleSheetsSettings, pause: Callable[[float], object] | None) -> None:
        """`pause` waits so many seconds; None: until `stop`."""
        self._source, self._settings = source, settings
        self._stopped = threading.Event()
        self._pause = self._stopped.wait if pause is None else pause
        self._session: requests.Session | None = None
        self._credentials: Credentials | None = None
        self.account = _account(settings)
        self.stops = 0

    def stop(self) -> None:
        """End the current read, which fails with a ReadStopped."""
        self.stops += 1
        self._stopped.set()
        if self._session is not None:
            self._session.close()

    def begin(self) -> None:
        """Allow reads again after a `stop`."""
        self._stopped.clear()

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def spreadsheet(self, params: Sequence[tuple[str, str]], seconds: float | None = None) -> dict[str, Any]:
        """Read parts of the spreadsheet within so many seconds. Raises a ConnectorError."""
        address = f"{self._settings.api}/v4/spreadsheets/{self._settings.spreadsheet}"
        return self._get(address, params, self._settings.patience if seconds is None else seconds)

    def version(self) -> str:
        """The version of the file, which Drive counts up. Asked once, without a second try."""
        address = f"{self._settings.drive_api}/drive/v3/files/{self._settings.spreadsheet}"
        answer = self._get(address, [("fields", "version"), ("supportsAllDrives", "true")], 0.0)
        return str(answer.get("version", ""))

    def batch_update(self, body: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Write once. Raises WriteLost if it may have been made, else a ConnectorError: then it was not."""
        address = f"{self._settings.api}/v4/spreadsheets/{self._settings.spreadsheet}:batchUpdate"
        data = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        tries = Tries(self._source, seconds, self._pause)
        while True:
            answer = self._post(address, data, tries.left)
            if answer.status_code == 200:
                written = _document(answer)
                if written is None:
                    raise WriteLost
                return written
            error = refusal(self._source, answer.status_code, _document(answer) or {}, self.account)
            if error is not None:
                raise error
            if answer.status_code not in (QUOTA, 403):
                raise WriteLost
            tries.wait(unreachable(self._source, "quota"), _retry_after(answer), is_quota=True)

    def _post(self, address: str, data: bytes, left: float) -> requests.Response:
        import requests  # noqa: PLC0415 - an extra

        headers = {"Content-Type": "application/json"}
        seconds = max(1.0, min(READ, left))
        try:
            answer = self._send("POST", address, data=data, headers=headers, timeout=(CONNECT, seconds))
            if answer.status_code == 401:
                self._expire()
                answer = self._send("POST", address, data=data, headers=headers, timeout=(CONNECT, seconds))
        except requests.exceptions.ConnectTimeout:
            raise unreachable(self._source, "no connection") from None
        except requests.exceptions.RequestException:
            raise WriteLost from None
        return answer

    def _get(self, address: str, params: Sequence[tuple[str, str]], seconds: float) -> dict[str, Any]:
        import requests  # noqa: PLC0415 - an extra

        tries = Tries(self._source, seconds, self._pause)
        has_new_token = False
        while True:
            self._must_go_on()
            wait: float | None = None
            is_quota = False
            try:
                answer = self._send("GET", address, params=list(params), timeout=(CONNECT, READ))
            except requests.exceptions.RequestException as error:
                problem = unreachable(self._source, f"the connection broke ({type(error).__name__})")
            else:
                document = _document(answer)
                if answer.status_code == 200 and document is not None:
                    return document
                if answer.status_code == 401 and not has_new_token:
                    self._expire()
                    has_new_token = True
                    continue
                final = refusal(self._source, answer.status_code, document or {}, self.account)
                if final is not None and answer.status_code != 200:
                    raise final
                wait, is_quota = _retry_after(answer), answer.status_code in (QUOTA, 403)
                what = "no JSON" if answer.status_code == 200 else f"HTTP {answer.status_code}"
                problem = unreachable(self._source, f"it answered with {what}")
            self._must_go_on()
            tries.wait(problem, wait, is_quota=is_quota)

    def _must_go_on(self) -> None:
        if self._stopped.is_set():
            raise ReadStopped(self._source)

    def _send(
        self, method: str, address: str, headers: Mapping[str, str] | None = None, **how: Any
    ) -> requests.Response:
        session = self._opened()
        token = self._token(session)
        return session.request(
            method,
            address,
            headers={**(headers or {}), "Authorization": f"Bearer {token}"},
            allow_redirects=False,
            **how,
        )

    def _opened(self) -> requests.Session:
        if self._session is None:
            try:
                import requests  # noqa: PLC0415 - an extra
            except ImportError as error:
                raise _missing(self._source, error) from error
            self._session = requests.Session()
            self._session.trust_env = True
        return self._session

    def _expire(self) -> None:
        if self._credentials is not None:
            self._credentials.token = None  # type: ignore[no-untyped-call, unused-ignore]

    def _token(self, session: requests.Session) -> str:
        """An access token that is valid now. Raises a ConnectorError."""
        try:
            from google.auth import exceptions  # noqa: PLC0415 - an extra
            from google.auth.transport.requests import Request  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise _missing(self._source, error) from error
        if self._credentials is None:
            self._credentials = _credentials(self._source, self._settings)
        if not self._credentials.valid:
            try:
                self._credentials.refresh(Request(session=session))  # type: ignore[no-untyped-call, unused-ignore]
            except exceptions.RefreshError as error:
                if getattr(error, "retryable", False):
                    raise unreachable(self._source, "no token was given") from None
                raise SpreadsheetDenied(
                    self._source,
                    "Google gave no token for the credentials",
                    "Check the key or the refresh token, and make a new one if it was revoked",
                ) from None
            except exceptions.GoogleAuthError:
                raise unreachable(self._source, "no token was given") from None
        return str(self._credentials.token)


class Tries:
    """The tries of one request: the waits between them get longer, and end after so many seconds."""

    def __init__(self, source: str, seconds: float, pause: Callable[[float], object]) -> None:
        self._source, self._seconds, self._pause = source, seconds, pause
        self._begun = time.monotonic()
        self._waited = 0.0
        self._number = 0

    @property
    def left(self) -> float:
        return self._seconds - max(self._waited, time.monotonic() - self._begun)

    def wait(self, problem: ConnectorError, retry_after: float | None, *, is_quota: bool) -> None:
        """Wait before the next try; raises the problem, or QuotaExceeded, if that would take too long."""
        backoff = min(2.0**self._number + random.random(), LONGEST_WAIT)  # noqa: S311 - spreads tries  # nosec B311
        self._number += 1
        wait = max(backoff, retry_after or 0.0) if retry_after != 0 else 0.0
        if wait > self.left or self._number > 20:
            raise QuotaExceeded(self._source, self._waited) if is_quota else problem
        self._waited += wait
        self._pause(wait)


def _retry_after(answer: requests.Response) -> float | None:
    """The seconds of Retry-After, which is a number or a date; None without a readable one."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return max(0.0, (moment - dt.datetime.now(dt.UTC)).total_seconds())


def _document(answer: requests.Response) -> dict[str, Any] | None:
    """The JSON object of an answer; None for anything else, such as a page of a proxy."""
    if "json" not in answer.headers.get("Content-Type", ""):
        return None
    try:
        document = json.loads(answer.content)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _account(settings: GoogleSheetsSettings) -> str:
    if settings.service_account is None:
        return "the Google account of the refresh token"
    return key_of(settings.service_account)["client_email"]


def _credentials(source: str, settings: GoogleSheetsSettings) -> Credentials:
    from google.oauth2 import credentials, service_account  # noqa: PLC0415 - an extra

    if settings.service_account is not None:
        try:
            made: Credentials = service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call, unused-ignore]
                key_of(settings.service_account), scopes=SCOPES
            )
        except ValueError:
            raise SpreadsheetDenied(source, "the private key cannot be read", "Make a new key") from None
        return made
    assert settings.client_secret is not None  # noqa: S101 - the settings were checked
    assert settings.refresh_token is not None  # noqa: S101 - the settings were checked
    return credentials.Credentials(  # type: ignore[no-untyped-call, unused-ignore]
        None,
        refresh_token=settings.refresh_token.get_secret_value(),
        token_uri=settings.token_url,
        client_id=settings.client_id,
        client_secret=settings.client_secret.get_secret_value(),
    )


def _missing(source: str, error: ImportError) -> DriverMissing:
    return DriverMissing(source, error.name or "google-auth", "reconcile-runner[google_sheets]")
