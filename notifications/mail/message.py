"""A notice as a mail: text and HTML, headers for threads and filters, an attachment."""

from __future__ import annotations

import email.policy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime

from notifications.base import Notice
from notifications.mail.addresses import Mailbox
from notifications.mail.attachment import Attachment
from notifications.wording import html, words
from notifications.wording.document import Document

_SUBJECT = 200  # units; a phone shows the first 40 to 80
_POLICY = email.policy.SMTP


@dataclass(frozen=True)
class Envelope:
    """The sender and the recipients. `unsubscribe` is an address for readers who want no more mail."""

    sender: Mailbox
    to: Sequence[Mailbox]
    reply_to: Mailbox | None = None
    unsubscribe: str | None = None


def message_id(notice: Notice, sender: Mailbox) -> str:
    """Return the Message-ID, the same for every repeat: servers and mail programs drop the second one."""
    return f"<{_safe(notice.id)}@{sender.domain}>"


def thread_id(notice: Notice, sender: Mailbox) -> str:
    """Return the id that the mails of one job, or of one trouble, refer to, so that they stand together."""
    subject = f"job|{notice.job}" if notice.trouble is None else f"trouble|{notice.trouble.subject}"
    return f"<thread.{_digest(f'reconcile/thread/1|{notice.project}|{subject}')[:24]}@{sender.domain}>"


def written(
    notice: Notice, shown: Document, text: str, body: str, envelope: Envelope, attached: Attachment | None
) -> bytes:
    """Return the mail as it is sent. `text` is its plain text, `body` a page of HTML."""
    message = EmailMessage(policy=_POLICY)
    message["Subject"] = words.visible(shown.headline, _SUBJECT)
    message["From"] = envelope.sender.header
    message["To"] = tuple(each.header for each in envelope.to)
    if envelope.reply_to is not None:
        message["Reply-To"] = envelope.reply_to.header
    message["Date"] = format_datetime(notice.created or notice.slot)
    message["Message-ID"] = message_id(notice, envelope.sender)
    message["In-Reply-To"] = message["References"] = thread_id(notice, envelope.sender)
    for name, content in _automatic(notice, envelope).items():
        message[name] = content
    message.set_content(_encodable(text))
    message.add_alternative(_encodable(body), subtype="html")
    if attached is not None:
        main, sub = attached.kind
        message.add_attachment(attached.content, maintype=main, subtype=sub, filename=attached.name)
    return message.as_bytes()


def _automatic(notice: Notice, envelope: Envelope) -> dict[str, str]:
    """Return headers for programs: no person wrote this, so no answer about holidays, and a name to filter by."""
    names = (notice.project or "reconcile", notice.job or "reconcile")
    listed = ".".join(_safe(name) for name in names)
    headers = {
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "List-Id": f"<{listed}.{envelope.sender.domain}>",
        "X-Reconcile-Notice": _safe(notice.id),
    }
    return headers | ({"List-Unsubscribe": f"<{envelope.unsubscribe}>"} if envelope.unsubscribe else {})


def page(shown: Document, text: str | None) -> str:
    """Return the HTML of a mail: the document, or the text of a user's template."""
    return html.page(shown.headline, [html.fragment(shown, has_title=False) if text is None else html.plain(text)])


def _safe(text: str) -> str:
    """Return a text of letters, digits and dashes; what was left out is told apart by a digest."""
    kept = "".join(character if character.isascii() and character.isalnum() else "-" for character in text)[:64]
    return kept if kept == text else f"{kept.strip('-')}-{_digest(text)[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
