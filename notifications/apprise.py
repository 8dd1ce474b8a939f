"""Apprise: messages to the hundred services that its library knows, such as Teams, Discord, Telegram and PagerDuty.

The library says whether a service accepted a message, not whether it arrived, and cannot be queried later.
"""

from __future__ import annotations

import importlib.util
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, SecretStr, field_validator

from notifications import base
from notifications.base import ChannelSettings, DeliveryReceipt, Notice
from notifications.errors import CannotBeAsked, ChannelError, ChannelRefused, DeliveryUnknown, RateLimited
from notifications.http import DEFAULT_PAUSE
from notifications.wording import html, render, words
from notifications.wording.document import Document
from notifications.wording.document import text as plain
from notifications.wording.headline import severity
from notifications.wording.render import ChannelRoom
from notifications.wording.template import Template

if TYPE_CHECKING:
    from apprise import Apprise

_INSTALL = "apprise needs its package: pip install 'reconcile-runner[apprise]'"
_SCHEME = re.compile(r"[a-z][a-z0-9]{1,30}://\S{1,4000}", re.IGNORECASE)
_LOCAL = {"dbus", "glib", "gnome", "kde", "macosx", "qt", "syslog", "windows", "ncursed"}
"""Services that show something on this machine's screen."""
_STATUS = re.compile(r"error=(\d{3})\b")
_RINGS = re.compile(r"@(?=\w)|<(?=[@!#&])|\](?=\()")
_SHORT = 1_000
"""A service that takes fewer characters gets the first line only."""
_MOST = 10_000


class AppriseSettings(ChannelSettings):
    """The settings of a channel of type apprise. Its address holds a token and is never shown."""

    type: Literal["apprise"] = Field(description="Any service of the library apprise.")
    url: SecretStr = Field(description="The service's address in the notation of apprise, like discord://id/token.")
    timeout: float = Field(default=30, gt=0, le=300, description="Seconds for the service.")

    @field_validator("url")
    @classmethod
    def _of_a_service(cls, url: SecretStr) -> SecretStr:
        address = url.get_secret_value()
        if not _SCHEME.fullmatch(address):
            raise ValueError("`url` must be an address in the notation of apprise, like discord://id/token")
        if importlib.util.find_spec("apprise") is None:
            raise ValueError(_INSTALL)
        if address.split("://")[0].lower() in _LOCAL:
            raise ValueError("`url` names a desktop notification of this machine; use a service that reaches people")
        return url


class AppriseChannel:
    """Sends a notice once through apprise; its answer says whether the service accepted it."""

    Settings: ClassVar[type[ChannelSettings]] = AppriseSettings

    def __init__(self, name: str, settings: AppriseSettings, root: Path) -> None:
        """Opening sends nothing; raises TemplateRefused."""
        self.name = name
        self.settings = settings
        self._template = Template(root / settings.template, quiet) if settings.template else None

    def __repr__(self) -> str:
        return f"AppriseChannel({self.name!r})"

    def send(self, notice: Notice) -> DeliveryReceipt:
        """Send once. Raises ChannelRefused for an address that apprise does not understand."""
        service = self._service()
        title, body = self._message(notice, int(service[0].body_maxlen))
        kind = {"critical": "failure", "high": "failure", "medium": "warning"}.get(severity(notice) or "", "info")
        result = service.notify(title=title, body=body, body_format="text", notify_type=kind)
        if not result:
            raise self._failure(result)
        return DeliveryReceipt(f"apprise {self._scheme}", {"notice": notice.id})

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        """Raises CannotBeAsked: apprise only sends."""
        raise CannotBeAsked(self.name, f"apprise can only send; look for the message {notice.id}")

    def check(self) -> None:
        """Raise ChannelRefused for an address that apprise does not understand; connects to nothing."""
        self._service()

    def preview(self, notice: Notice) -> str:
        """Return the message as text: title, then body."""
        title, body = self._message(notice, int(self._service()[0].body_maxlen))
        return f"{title}\n{body}"

    def html(self, notice: Notice) -> str:
        """Return the same lines; the service decides how they look."""
        return html.plain(self.preview(notice))

    @property
    def _scheme(self) -> str:
        return self.settings.url.get_secret_value().split("://")[0].lower()

    def _message(self, notice: Notice, most: int) -> tuple[str, str]:
        """Return title and body, within what the service takes and with nothing that rings."""
        shown = self._document(notice, most)
        if self._template:
            body = self._template.render(shown, base.to_json(notice))
        else:
            body = quiet(plain(shown).removeprefix(f"{shown.headline}\n"))
        short = quiet(words.visible(shown.headline, 200))
        return short, short if most < _SHORT else _cut(body, min(most, _MOST) - len(short) - 10)

    def _document(self, notice: Notice, most: int) -> Document:
        return render.document(notice, ChannelRoom(groups=5, details=0, units=max(min(most, _MOST) - 500, _SHORT)))

    def _service(self) -> Apprise:
        """Return the service, without files of its own, redirects, or repeats that we would not know of."""
        import apprise  # noqa: PLC0415 - an extra, 0.2 s

        logger = logging.getLogger("apprise")  # its entries tell how a service answered, but may name an address
        logger.propagate = False
        logger.handlers = logger.handlers or [logging.NullHandler()]
        asset = apprise.AppriseAsset(
            app_id="Reconcile",
            app_desc="Reconcile",
            app_url="",
            image_url_mask="",
            image_url_logo="",
            async_mode=False,
            storage_mode=apprise.PersistentStoreMode.MEMORY,
            default_service_retry=0,
            http_redirects=False,
            service_timeout=self.settings.timeout,
            pgp_autogen=False,
            pem_autogen=False,
            interpret_escapes=False,
            interpret_emojis=False,
        )
        service = apprise.Apprise(asset=asset)
        if not service.add(self.settings.url.get_secret_value()):
            raise ChannelRefused(
                self.name, f"{self._scheme}://…", "apprise does not understand `url`; see its page on this service."
            )
        return service

    def _failure(self, result: Any) -> ChannelError:
        """Return the error for a service that did not accept the message: known only if it answered."""
        logged = [str(entry) for each in result for attempt in each for entry in attempt]
        codes = [int(match[1]) for line in logged if (match := _STATUS.search(line))]
        if not codes or codes[-1] >= 500 or codes[-1] in (408, 425):
            return DeliveryUnknown(self.name, f"{self._scheme} did not confirm the message, but may have received it")
        if codes[-1] == 429:
            return RateLimited(self.name, DEFAULT_PAUSE)
        return ChannelRefused(self.name, f"HTTP {codes[-1]}", "check the ids and the token in `url`.")


def quiet(text: str) -> str:
    """Return a text in which nothing rings anybody and no words hide a link: a joiner holds the marks apart."""
    return _RINGS.sub(lambda match: f"{match[0]}\u2060", text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(most, 1) - 2]}\n…"
