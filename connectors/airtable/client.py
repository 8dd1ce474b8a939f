"""Requests to Airtable's Web API: paced, each with a total time limit, none repeated here except after 429.

Requests go through pyairtable, whose own retries are off. A frozen answer, a redirect, or an answer that is not JSON is
a `Failure`; so is one that Airtable calls a mistake.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import requests
from pyairtable import Api

from connectors.airtable.connector import AirtableSettings
from connectors.airtable.failures import Failure, of_answer
from connectors.errors import ReadStopped
from connectors.pace import Pace

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 15.0
REQUEST_SECONDS = 60.0
MOST_BYTES = 200_000_000
PAUSES = 4
"""How often a request that reads waits after 429."""
PAGE = 100
RECORDS_AT_ONCE = 10
"""The most records of a request that changes some."""

Json = dict[str, Any]


class _Session(requests.Session):
    """A session that neither follows redirects nor takes settings from the environment, with a limit for an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False  # a .netrc would replace the token, a proxy would get it
        self.max_redirects = 0
        self.seconds = REQUEST_SECONDS

    def send(self, request: requests.PreparedRequest, **settings: Any) -> requests.Response:
        end = time.monotonic() + self.seconds
        settings |= {"stream": True, "timeout": (CONNECT_SECONDS, min(SILENCE_SECONDS, self.seconds))}
        response = super().send(request, **settings)
        body = bytearray()
        try:
            for part in response.iter_content(65_536):
                body += part
                if time.monotonic() > end or len(body) > MOST_BYTES:
                    raise requests.exceptions.ReadTimeout("the answer took too long or is too large")
        finally:
            response.close()
        response._content = bytes(body)  # noqa: SLF001 - requests has no other way to set what was read
        if response.ok and "json" not in response.headers.get("Content-Type", "").lower():
            raise requests.exceptions.InvalidJSONError("the answer is not JSON")
        return response


class AirtableClient:
    """The requests of a source, for any thread. `wait` sleeps for so many seconds unless the reads are stopped."""

    def __init__(
        self,
        name: str,
        settings: AirtableSettings,
        pace: Pace | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self.name = name
        self.base = settings.base
        self._token = settings.token
        self._endpoint = settings.endpoint
        self._pace = pace or Pace(settings.requests_per_second)
        self._sleep = sleep
        self._stopped = threading.Event()
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"<AirtableClient {self.name!r}>"

    def stop(self) -> None:
        """End the current reads of all threads; later ones begin anew."""
        stopped, self._stopped = self._stopped, threading.Event()
        stopped.set()

    @contextmanager
    def until(self, seconds: float) -> Iterator[None]:
        """Let the requests of the block end within so many seconds."""
        former = self._end
        self._local.end = self._pace.clock() + seconds
        try:
            yield
        finally:
            self._local.end = former

    @property
    def _end(self) -> float | None:
        end: float | None = getattr(self._local, "end", None)
        return end

    @property
    def left(self) -> float:
        """The seconds that the block of `until` still has."""
        return REQUEST_SECONDS if self._end is None else self._end - self._pace.clock()

    def wait(self, seconds: float, stopped: threading.Event | None = None) -> None:
        """Wait. Raises ReadStopped."""
        event = stopped or self._stopped
        if seconds > 0:
            if self._sleep is None:
                event.wait(seconds)
            else:
                self._sleep(seconds)
        if event.is_set():
            raise ReadStopped(self.name)

    # What is asked for

    def schema(self) -> Json:
        return self._asked("GET", "read the fields", "meta", "bases", self.base, "tables")

    def records(self, table: str, options: Mapping[str, Any]) -> Json:
        """A page of records by the id of their table. Options go into the body: no value is in an address."""
        body = {"pageSize": PAGE, "returnFieldsByFieldId": True, **options}
        return self._asked("POST", "list the records", self.base, table, "listRecords", json=body)

    def webhooks(self) -> Json:
        return self._asked("GET", "follow the changes", "bases", self.base, "webhooks")

    def payloads(self, webhook: str, cursor: int) -> Json:
        path = ("bases", self.base, "webhooks", webhook, "payloads")
        return self._asked("GET", "follow the changes", *path, params={"cursor": str(cursor)})

    # What changes something

    def add_webhook(self, specification: Json) -> Json:
        body = {"specification": specification}
        return self._sent("POST", "follow the changes", "bases", self.base, "webhooks", json=body)

    def remove_webhook(self, webhook: str) -> None:
        self._sent("DELETE", "follow the changes", "bases", self.base, "webhooks", webhook)

    def add_table(self, definition: Json) -> Json:
        path = ("meta", "bases", self.base, "tables")
        return self._sent("POST", "create a field of ours", *path, json=definition)

    def add_field(self, table: str, definition: Json) -> Json:
        path = ("meta", "bases", self.base, "tables", table, "fields")
        return self._sent("POST", "create a field of ours", *path, json=definition)

    def create(self, table: str, fields: Json) -> Json:
        body = {"records": [{"fields": fields}], "returnFieldsByFieldId": True}
        return self._sent("POST", "note the change", self.base, table, json=body)

    def delete(self, table: str, record: str) -> None:
        self._sent("DELETE", "note the change", self.base, table, record)

    def change(self, table: str, records: Sequence[Json], doing: str = "change the records") -> Json:
        """Set the named fields of up to ten records by one request. Raises Failure."""
        body = {"records": list(records), "returnFieldsByFieldId": True, "typecast": False}
        return self._sent("PATCH", doing, self.base, table, json=body)

    # How

    def _asked(self, method: str, doing: str, *path: str, **more: Any) -> Json:
        """Send a request that has no effect; after 429 again. Raises Failure, ReadStopped."""
        for number in range(PAUSES + 1):
            try:
                return self._sent(method, doing, *path, **more)
            except Failure as failure:
                if failure.status != 429 or number == PAUSES or self._pace.pending > self.left:
                    raise
        raise AssertionError  # pragma: no cover - the last round raises

    def _sent(self, method: str, doing: str, *path: str, **more: Any) -> Json:
        """Send a request once, in its turn. Raises Failure, ReadStopped."""
        stopped = self._stopped
        wait = self._pace.turn()
        if wait > self.left:
            raise Failure(doing, 429, reason="too many requests", pause=wait)
        self.wait(wait, stopped)
        try:
            answer = self._answer(method, doing, path, more)
        except Failure as failure:
            if failure.status == 429:
                self._pace.pause(failure.pause)
            raise
        if stopped.is_set():
            raise ReadStopped(self.name)
        return answer

    def _answer(self, method: str, doing: str, path: Sequence[str], more: Mapping[str, Any]) -> Json:
        api = self._api
        api.session.seconds = max(min(self.left, REQUEST_SECONDS), 0.1)
        try:
            answer = api.request(method, str(api.build_url(*path)), **more)
        except requests.exceptions.HTTPError as error:
            raise _refused(doing, error.response) from None
        except requests.exceptions.RequestException as error:
            raise Failure(doing, reason=_reason(error), is_certain=_never_sent(error)) from None
        except (OSError, ValueError) as error:
            raise Failure(doing, reason=type(error).__name__, is_certain=False) from None
        if not isinstance(answer, dict):
            raise Failure(doing, reason="the answer is not one of Airtable's", is_certain=False)
        return answer

    @property
    def _api(self) -> Any:
        """pyairtable's entry, one for each thread: a session of requests is not for several."""
        api = getattr(self._local, "api", None)
        if api is None:
            api = Api("-", endpoint_url=self._endpoint, retry_strategy=None, use_field_ids=True)
            api.session = _Session()
            api.api_key = self._token.get_secret_value()
            self._local.api = api
        return api

    def close(self) -> None:
        api = getattr(self._local, "api", None)
        if api is not None:
            api.session.close()
            self._local.api = None


def _refused(doing: str, response: requests.Response | None) -> Failure:
    if response is None:
        return Failure(doing, reason="the answer is not one of Airtable's", is_certain=False)
    try:
        body = response.json()
    except ValueError:
        body = None
    return of_answer(doing, response.status_code, body, response.headers)


def _never_sent(error: requests.exceptions.RequestException) -> bool:
    """Return True if no connection was made, so that nothing was sent."""
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    cause = error.args[0] if error.args else None
    reason = getattr(cause, "reason", None)
    return type(reason).__name__ in ("NewConnectionError", "ConnectTimeoutError", "NameResolutionError")


def _reason(error: requests.exceptions.RequestException) -> str:
    """The reason in words: the library's own text holds addresses."""
    if _never_sent(error):
        return "no connection could be made"
    if isinstance(error, requests.exceptions.Timeout):
        return "it took too long"
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return "it sent us to another address"
    if isinstance(error, requests.exceptions.InvalidJSONError):
        return "the answer is not one of Airtable's; perhaps it came from a proxy"
    return "the connection broke"
