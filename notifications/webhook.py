"""A webhook: each notice as one JSON document, POSTed to a user's address, signed if there is a secret."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal
from unicodedata import category
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from notifications import base
from notifications.base import ChannelSettings, DeliveryReceipt, Notice
from notifications.errors import CannotBeAsked, ChannelRefused, DeliveryUnknown, RateLimited
from notifications.http import HttpLimits, HttpResponse, Network, check_header, networks, post, retry_after, web_address
from notifications.wording import render
from notifications.wording.document import text
from notifications.wording.template import Template

_OURS = {"content-type", "content-length", "host", "idempotency-key", "reconcile-signature", "transfer-encoding"}
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class WebhookSettings(ChannelSettings):
    """The settings of a webhook. Its address may hold a secret and is never shown."""

    type: Literal["webhook"] = Field(description="A webhook of your own.")
    url: SecretStr = Field(description="The address to POST each notice to, as JSON.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Additional headers, e.g. Authorization.")
    secret: SecretStr | None = Field(
        default=None, description="Signs each call: Reconcile-Signature: t=…,v1=HMAC-SHA256 of `t.body`."
    )
    allow: tuple[Network, ...] = Field(
        default=(), description="Private networks that the address may be in, e.g. 10.0.0.0/8."
    )
    connect_timeout: float = Field(default=5, gt=0, le=300, description="Seconds to connect.")
    timeout: float = Field(default=30, gt=0, le=300, description="Seconds for the whole call.")

    @field_validator("allow", mode="before")
    @classmethod
    def _networks(cls, texts: Any) -> Any:
        return networks(texts)

    @field_validator("url")
    @classmethod
    def _an_address(cls, url: SecretStr) -> SecretStr:
        web_address("url", url.get_secret_value(), "put it into `headers: {Authorization: …}`")
        return url

    @field_validator("headers")
    @classmethod
    def _not_ours(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, content in headers.items():
            check_header(name, content.get_secret_value(), _OURS)
        return headers


class WebhookChannel:
    """POSTs a notice once. The receiver tells repeats apart by `id`, which is also the header Idempotency-Key."""

    Settings: ClassVar[type[ChannelSettings]] = WebhookSettings

    def __init__(
        self, name: str, settings: WebhookSettings, root: Path, clock: Callable[[], float] = time.time
    ) -> None:
        """Opening sends nothing; raises TemplateRefused. `clock` gives the seconds in signatures."""
        self.name = name
        self.settings = settings
        self._clock = clock
        self._template = Template(root / settings.template, str) if settings.template else None
        self._limits = HttpLimits(settings.allow, settings.connect_timeout, settings.timeout)

    def __repr__(self) -> str:
        return f"WebhookChannel({self.name!r})"

    def send(self, notice: Notice) -> DeliveryReceipt:
        """POST once; any 2xx is a receipt, a redirect is a refusal."""
        body = json.dumps(self.payload(notice), ensure_ascii=True, separators=(",", ":")).encode("ascii")
        url = self.settings.url.get_secret_value()
        answer = post(self.name, url, body, self._headers(notice, body), self._limits)
        if 200 <= answer.status < 300:
            return DeliveryReceipt(
                f"webhook {urlsplit(url).hostname}", {"notice": notice.id, "status": str(answer.status)}
            )
        raise self._refusal(answer)

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        """Raises CannotBeAsked: a webhook cannot be queried. Repeats carry the same Idempotency-Key."""
        raise CannotBeAsked(self.name, f"a webhook cannot be queried; a repeat carries Idempotency-Key {notice.id}")

    def preview(self, notice: Notice) -> str:
        """Return the JSON that would be sent."""
        payload = json.dumps(self.payload(notice), ensure_ascii=False, indent=2)
        return "".join(json.dumps(c)[1:-1] if c != "\n" and category(c) in _UNSEEN else c for c in payload) + "\n"

    def payload(self, notice: Notice) -> dict[str, Any]:
        """The document: `version`, `headline` and `text` for people, and every field of the notice, `id` among them."""
        message = render.document(notice, render.PAPER)
        facts = base.to_json(notice)
        body = self._template.render(message, facts) if self._template else text(message)
        return {"version": facts["version"], "headline": message.headline, "text": body, **facts}

    def _headers(self, notice: Notice, body: bytes) -> dict[str, str]:
        headers = {name: content.get_secret_value() for name, content in self.settings.headers.items()}
        headers |= {"Content-Type": "application/json", "User-Agent": "reconcile", "Idempotency-Key": notice.id}
        if self.settings.secret is not None:
            headers["Reconcile-Signature"] = signature(self.settings.secret, body, int(self._clock()))
        return headers

    def _refusal(self, answer: HttpResponse) -> Exception:
        if answer.status == 429:
            return RateLimited(self.name, retry_after(answer.headers))
        if answer.status >= 500 or answer.status in (408, 425):
            wait = retry_after(answer.headers) if "retry-after" in answer.headers else None
            return DeliveryUnknown(self.name, f"the receiver answered HTTP {answer.status}", wait)
        if 300 <= answer.status < 400:
            return ChannelRefused(
                self.name, f"HTTP {answer.status}", "redirects are not followed; set the final `url`."
            )
        advice = "the receiver rejected it; check its log, and `url`, `headers` and `secret`."
        return ChannelRefused(self.name, f"HTTP {answer.status}", advice)


def signature(secret: SecretStr, body: bytes, now: int) -> str:
    """`t=NOW,v1=HEX`: HMAC-SHA256 over "NOW." and the body. A receiver refuses times more than five minutes off."""
    signed = hmac.new(secret.get_secret_value().encode(), f"{now}.".encode() + body, hashlib.sha256)
    return f"t={now},v1={signed.hexdigest()}"
