"""slack-sdk's clients with a transport that follows no redirect and uses only the configured proxy.

slack-sdk itself follows redirects, with the token, and reads HTTPS_PROXY; it has no option for either.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from slack_sdk import WebClient
from slack_sdk.webhook import WebhookClient, WebhookResponse


class _NoRedirect(HTTPRedirectHandler):
    """Makes a redirect an HTTPError, like any unsuccessful answer."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _opener(proxy: str | None) -> OpenerDirector:
    return build_opener(ProxyHandler({"http": proxy, "https": proxy} if proxy else {}), _NoRedirect())


class ApiClient(WebClient):
    """Slack's Web API; each call is made once."""

    def __init__(self, token: str, base_url: str, timeout: int, proxy: str | None, logger: logging.Logger) -> None:
        super().__init__(token, base_url=base_url, timeout=timeout, logger=logger, retry_handlers=[])
        self._opener = _opener(proxy)

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:  # noqa: ARG002 - theirs
        with self._opener.open(req, timeout=self.timeout) as answer:
            body = answer.read().decode(answer.headers.get_content_charset() or "utf-8")
            return {"status": answer.status, "headers": answer.headers, "body": body}


class HookClient(WebhookClient):
    """An incoming webhook; each message is posted once."""

    def __init__(self, address: str, timeout: int, proxy: str | None, logger: logging.Logger) -> None:
        super().__init__(address, timeout=timeout, logger=logger, retry_handlers=[])
        self._opener = _opener(proxy)

    def _perform_http_request_internal(self, url: str, req: Request) -> WebhookResponse:
        with self._opener.open(req, timeout=self.timeout) as answer:
            body = answer.read().decode(answer.headers.get_content_charset() or "utf-8")
            return WebhookResponse(url=url, status_code=answer.status, body=body, headers=dict(answer.headers))
