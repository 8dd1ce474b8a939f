"""One mail over SMTP: the server's replies become our errors, and the outbox retries.

A reply of 4xx means not now, 5xx never. Until the text is sent, a broken connection sent nothing; after that the mail
may have arrived.
"""

from __future__ import annotations

import contextlib
import re
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from notifications.errors import ChannelError, ChannelRefused, ChannelUnreachable, DeliveryUnknown, RefusedForNow

Security = Literal["starttls", "tls", "none"]

_AUTHENTICATION = (454, 530, 534, 535, 538)
_TOO_LARGE = 552
_CONTINUE = 354
_ENHANCED = re.compile(rb"[245]\.\d{1,3}\.\d{1,3}\b")


@dataclass(frozen=True)
class MailServer:
    """A mail server. `seconds` is the time for the whole conversation; `ca` holds certificates to trust instead."""

    host: str
    port: int
    security: Security
    username: str | None = None
    password: SecretStr | None = None
    ca: Path | None = None
    seconds: float = 60


@dataclass(frozen=True)
class Refusal:
    """A recipient that the server did not accept."""

    address: str
    error: ChannelError


def send(
    channel: str, server: MailServer, sender: str, recipients: Sequence[str], written: Callable[[int | None], bytes]
) -> list[Refusal]:
    """Send one mail and return the recipients that the server refused; raises a ChannelError if nobody got it.

    `written` returns the mail for a server that takes so many bytes; None: the server does not say.
    """
    with _connected(channel, server) as smtp:
        largest = smtp.esmtp_features.get("size", "")
        mail = written(int(largest) if largest.isdecimal() and int(largest) else None)
        refused = _addressed(channel, smtp, sender, recipients, len(mail))
        _content(channel, smtp, mail)
        with contextlib.suppress(smtplib.SMTPException, OSError):  # the mail is sent, whatever follows
            smtp.quit()
    return refused


def check(channel: str, server: MailServer) -> None:
    """Connect and sign in; raises the ChannelError that sending would."""
    with _connected(channel, server) as smtp:
        _step(channel, server, smtp.noop)


@contextlib.contextmanager
def _connected(channel: str, server: MailServer) -> Iterator[smtplib.SMTP]:
    """Connect, encrypt and sign in, in bounded time; nothing is sent before that."""
    where = f"{server.host}:{server.port}"
    try:
        smtp = _opened(server)
    except smtplib.SMTPResponseException as error:
        raise _refusal(channel, error.smtp_code, error.smtp_error) from None
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise ChannelUnreachable(channel, where, _reason(error)) from None
    watch = threading.Timer(server.seconds, _hang_up, (smtp.sock,))
    watch.daemon = True
    watch.start()
    try:
        _encrypt(channel, server, smtp)
        yield smtp
    except (smtplib.SMTPServerDisconnected, OSError) as error:
        raise ChannelUnreachable(channel, where, _reason(error)) from None
    finally:
        watch.cancel()
        smtp.close()


def _opened(server: MailServer) -> smtplib.SMTP:
    timeout = min(server.seconds, 30)
    if server.security == "tls":
        return smtplib.SMTP_SSL(server.host, server.port, _own_name(), timeout=timeout, context=_context(server))
    return smtplib.SMTP(server.host, server.port, _own_name(), timeout=timeout)


def _encrypt(channel: str, server: MailServer, smtp: smtplib.SMTP) -> None:
    """Say hello, encrypt, and sign in. Without encryption no password is sent: the settings see to that."""
    try:
        smtp.ehlo_or_helo_if_needed()
        if server.security == "starttls":
            smtp.starttls(context=_context(server))
            smtp.ehlo_or_helo_if_needed()
        if server.username is not None and server.password is not None:
            smtp.login(server.username, server.password.get_secret_value())
    except smtplib.SMTPNotSupportedError:
        raise ChannelRefused(
            channel,
            "not supported",
            "the server does not offer STARTTLS or a way to sign in; check `host`, `port` and `security`.",
        ) from None
    except smtplib.SMTPResponseException as error:
        raise _refusal(channel, error.smtp_code, error.smtp_error) from None
    except smtplib.SMTPServerDisconnected:
        raise
    except smtplib.SMTPException as error:
        raise ChannelRefused(channel, type(error).__name__, "the server rejects the sign-in.") from None


def _addressed(channel: str, smtp: smtplib.SMTP, sender: str, recipients: Sequence[str], size: int) -> list[Refusal]:
    """Name the sender and every recipient; raises if the server accepts none."""
    options = [f"size={size}"] if smtp.has_extn("size") else []
    _expect(channel, smtp.mail(sender, options), 250)
    refused = []
    for address in recipients:
        code, reply = smtp.rcpt(address)
        if code not in (250, 251):
            refused.append(Refusal(address, _refusal(channel, code, reply, address)))
    if len(refused) == len(recipients):
        transient = [each.error for each in refused if isinstance(each.error, RefusedForNow)]
        raise transient[0] if transient else refused[0].error
    return refused


def _content(channel: str, smtp: smtplib.SMTP, mail: bytes) -> None:
    """Send the text. A server that answers has decided; one that does not may have taken it."""
    _expect(channel, smtp.docmd("DATA"), _CONTINUE)
    lines = re.sub(rb"\r\n|\r|\n", b"\r\n", mail)  # a bare line break could end the mail early for some servers
    escaped = re.sub(rb"(?m)^\.", b"..", lines)
    try:
        smtp.send(escaped + (b"" if escaped.endswith(b"\r\n") else b"\r\n") + b".\r\n")
        answer = smtp.getreply()
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryUnknown(channel, f"the connection broke after the text ({type(error).__name__})") from None
    _expect(channel, answer, 250)


def _expect(channel: str, answer: tuple[int, bytes], wanted: int) -> None:
    code, reply = answer
    if code != wanted and not (wanted == 250 and 200 <= code < 300):
        raise _refusal(channel, code, reply)


def _step(channel: str, server: MailServer, act: Callable[[], tuple[int, bytes]]) -> None:
    _expect(channel, act(), 250)
    del server


def _refusal(channel: str, code: int, reply: bytes | str, address: str | None = None) -> ChannelError:
    """Return the error for a reply. Its words are not repeated: they may quote the mail."""
    raw = reply.encode() if isinstance(reply, str) else reply
    enhanced = _ENHANCED.search(raw)
    shown = f"{code} {enhanced[0].decode()}" if enhanced else str(code)
    whom = f" for {address}" if address else ""
    if 400 <= code < 500:
        return RefusedForNow(channel, f"{shown}{whom}")
    if code in _AUTHENTICATION:
        return ChannelRefused(channel, shown, "the sign-in failed; check `username` and `password`.")
    if code == _TOO_LARGE:
        return ChannelRefused(channel, shown, "the mail is too large for the server; lower `max_size`.")
    if address is not None:
        return ChannelRefused(
            channel, f"{shown}{whom}", "check this address in `to`, and that the server relays to it."
        )
    return ChannelRefused(channel, shown, "check `from`, and in the server's log why it rejects the mail.")


def _context(server: MailServer) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=None if server.ca is None else str(server.ca))


def _own_name() -> str:
    """Return this host's name for the greeting, without asking DNS, which can take minutes."""
    name = socket.gethostname()
    return name if re.fullmatch(r"[A-Za-z0-9.-]{1,255}", name) else "localhost"


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def _hang_up(connection: socket.socket | None) -> None:
    """End a conversation that takes too long: a socket's time-out only bounds the time between two bytes."""
    if connection is not None:
        with contextlib.suppress(OSError):  # it ended in this very moment
            connection.shutdown(socket.SHUT_RDWR)
