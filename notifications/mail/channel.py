"""E-mail: each notice as one mail to all recipients, with a Message-ID that is the same in every repeat."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SecretStr, WithJsonSchema, field_validator, model_validator

from notifications import base
from notifications.base import ChannelSettings, DeliveryReceipt, Notice
from notifications.errors import CannotBeAsked, ChannelRefused, PartlySent
from notifications.mail import message, smtp
from notifications.mail.addresses import Mailbox, mailbox, mailboxes
from notifications.mail.attachment import Attachment, table
from notifications.mail.message import Envelope
from notifications.wording import html, render
from notifications.wording.document import Document
from notifications.wording.document import text as plain
from notifications.wording.template import Template

_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_LISTED = 1_000
"""Findings of a rule in an attachment."""
_TOO_LARGE = "The list of findings is too large for a mail; see `reconcile findings`."
_WORD = {"type": "string"}
_WORDS = {"anyOf": [_WORD, {"type": "array", "items": _WORD}]}

One = Annotated[Mailbox, BeforeValidator(mailbox), WithJsonSchema(_WORD)]
Many = Annotated[tuple[Mailbox, ...], BeforeValidator(mailboxes), WithJsonSchema(_WORDS)]


class EmailSettings(ChannelSettings):
    """The settings of a channel of type email."""

    type: Literal["email"] = Field(description="Mails over SMTP.")
    host: str = Field(pattern=r"^[A-Za-z0-9.:_-]{1,253}$", description="The mail server.")
    port: int | None = Field(default=None, ge=1, le=65535, description="Default: 587 with starttls, 465 with tls, 25.")
    security: smtp.Security = Field(
        default="starttls", description="Encryption: starttls, tls from the start, or none, without a password."
    )
    username: str | None = Field(default=None, description="The user to sign in as.")
    password: SecretStr | None = Field(default=None, description="The user's password.")
    ca: Path | None = Field(default=None, description="Certificates to trust instead of the system's (PEM).")
    from_: One = Field(alias="from", description="The sender, like Reconcile <reconcile@example.com>.")
    to: Many = Field(min_length=1, max_length=100, description="The recipients.")
    reply_to: One | None = Field(default=None, description="The Reply-To address.")
    unsubscribe: str | None = Field(default=None, description="The unsubscribe address: https://… or mailto:….")
    attach: Literal["csv", "xlsx"] | None = Field(default=None, description="Attach the findings as a table.")
    max_size: int = Field(default=10_000_000, ge=100_000, description="The largest mail, in bytes.")
    timeout: float = Field(default=60, gt=0, le=600, description="Seconds for the whole SMTP session.")

    @property
    def most_groups(self) -> int:
        """The number of findings of a rule that a notice lists."""
        return _LISTED if self.attach else super().most_groups

    @field_validator("unsubscribe")
    @classmethod
    def _an_address(cls, address: str | None) -> str | None:
        if address is not None and not re.fullmatch(r"(https://|mailto:)[!-;=?-~]{3,500}", address):
            raise ValueError("`unsubscribe` must be like https://example.com/mail or mailto:ops@example.com")
        return address

    @field_validator("attach")
    @classmethod
    def _can_be_written(cls, form: str | None) -> str | None:
        if form == "xlsx" and importlib.util.find_spec("xlsxwriter") is None:
            raise ValueError("xlsx needs a package: pip install 'reconcile-runner[workbook]'; or write csv")
        return form

    @model_validator(mode="after")
    def _password_is_safe(self) -> EmailSettings:
        if (self.username is None) != (self.password is None):
            raise ValueError("`username` and `password` belong together; write both or neither")
        if self.security == "none" and self.password is not None:
            raise ValueError("`security: none` would send the password unencrypted; use starttls or tls")
        return self


class EmailChannel:
    """Sends a notice as one mail. A server can't be asked about a mail; repeats have the same Message-ID."""

    Settings: ClassVar[type[ChannelSettings]] = EmailSettings

    def __init__(self, name: str, settings: EmailSettings, root: Path) -> None:
        """Opening sends nothing; raises TemplateRefused."""
        self.name = name
        self.settings = settings
        self._template = Template(root / settings.template, str) if settings.template else None
        self._envelope = Envelope(settings.from_, settings.to, settings.reply_to, settings.unsubscribe)
        self._server = smtp.MailServer(
            host=settings.host,
            port=settings.port or _PORTS[settings.security],
            security=settings.security,
            username=settings.username,
            password=settings.password,
            ca=None if settings.ca is None else root / settings.ca,
            seconds=settings.timeout,
        )

    def __repr__(self) -> str:
        return f"EmailChannel({self.name!r})"

    def send(self, notice: Notice) -> DeliveryReceipt:
        """Send one mail to all recipients. Raises PartlySent if the server refuses some of them."""
        return self._send(notice, [each.address for each in self.settings.to], ())

    def finish(self, notice: Notice, begun: DeliveryReceipt) -> DeliveryReceipt:
        """Send the mail to the recipients who do not have it."""
        done = begun.details.get("recipients", "").split()
        missing = [each.address for each in self.settings.to if _mark(each.address) not in done]
        return self._send(notice, missing, done) if missing else begun

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        """Raises CannotBeAsked: a mail server cannot be asked what it delivered."""
        raise CannotBeAsked(self.name, f"a repeat has the same Message-ID {self._message_id(notice)}")

    def check(self) -> None:
        """Connect and sign in; raises the ChannelError that sending would."""
        smtp.check(self.name, self._server)

    def preview(self, notice: Notice) -> str:
        """Return the mail's subject and text, and the name of its attachment."""
        attached = self._attachment(notice)
        names = f"Attached: {attached.name}\n" if attached else ""
        to = ", ".join(str(each.header) for each in self.settings.to)
        shown = self._document(notice)
        head = f"Subject: {shown.headline}\nFrom: {self.settings.from_.header}\nTo: {to}\n{names}"
        return f"{head}\n{self._text(notice, shown)}"

    def html(self, notice: Notice) -> str:
        """Return the mail as a mail program shows it."""
        shown = self._document(notice)
        return html.plain(self._text(notice, shown)) if self._template else html.fragment(shown)

    def _send(self, notice: Notice, recipients: Sequence[str], done: Sequence[str]) -> DeliveryReceipt:
        def written(largest: int | None) -> bytes:
            return self._written(notice, min(largest or self.settings.max_size, self.settings.max_size))

        refused = smtp.send(self.name, self._server, self.settings.from_.address, recipients, written)
        missing = {each.address for each in refused}
        marks = [*done, *(_mark(address) for address in recipients if address not in missing)]
        details = {"notice": notice.id, "message_id": self._message_id(notice), "recipients": " ".join(marks)}
        receipt = DeliveryReceipt(f"email {self.settings.host}", details)
        if refused:
            raise PartlySent(self.name, receipt, refused[0].error)
        return receipt

    def _written(self, notice: Notice, largest: int) -> bytes:
        """Return the mail; without its attachment if that is too large, and the text says so."""
        shown = self._document(notice)
        text, attached = self._text(notice, shown), self._attachment(notice)
        mail = self._mail(notice, shown, text, attached)
        if len(mail) > largest and attached is not None:
            mail = self._mail(
                notice, replace(shown, about=f"{shown.about} · {_TOO_LARGE}"), f"{text}\n{_TOO_LARGE}\n", None
            )
        if len(mail) > largest:
            raise ChannelRefused(self.name, "too large", f"the mail has {len(mail):,} bytes; shorten its `template`.")
        return mail

    def _mail(self, notice: Notice, shown: Document, text: str, attached: Attachment | None) -> bytes:
        page = message.page(shown, text if self._template else None)
        return message.written(notice, shown, text, page, self._envelope, attached)

    def _document(self, notice: Notice) -> Document:
        return render.document(notice, render.PAPER)

    def _text(self, notice: Notice, shown: Document) -> str:
        return self._template.render(shown, base.to_json(notice)) if self._template else plain(shown, has_title=False)

    def _attachment(self, notice: Notice) -> Attachment | None:
        return None if self.settings.attach is None else table(notice, self.settings.attach)

    def _message_id(self, notice: Notice) -> str:
        return message.message_id(notice, self.settings.from_)


def _mark(address: str) -> str:
    """Return what stands for a recipient in a receipt, which the audit log keeps: no address."""
    return hashlib.sha256(f"reconcile/recipient/1|{address.lower()}".encode()).hexdigest()[:12]
