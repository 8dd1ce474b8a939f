"""A mail server on loopback for the tests: it keeps what arrives, demands encryption and a password, and fails."""

import asyncio
import datetime as dt
import email
import email.policy
import ipaddress
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PASSWORD = "canary-5up3rs3cr3t"


@dataclass
class Mails:
    """What arrived: the raw mails, and their recipients. `answers` are replies to give instead, by command."""

    raw: list[bytes] = field(default_factory=list)
    to: list[list[str]] = field(default_factory=list)
    answers: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    vanish_after_text: int = 0
    passwords: list[bytes] = field(default_factory=list)

    @property
    def parsed(self) -> list[EmailMessage]:
        return [_parsed(raw) for raw in self.raw]

    def answer(self, command: str) -> str | None:
        return self.answers[command].pop(0) if self.answers.get(command) else None

    async def handle_MAIL(self, _s: Any, _session: Any, envelope: Envelope, address: str, options: list[str]) -> str:  # noqa: N802 - its name
        if refusal := self.answer("MAIL"):
            return refusal
        envelope.mail_from, envelope.mail_options = address, options
        return "250 OK"

    async def handle_RCPT(self, _s: Any, _session: Any, envelope: Envelope, address: str, _options: Any) -> str:  # noqa: N802 - its name
        if refusal := self.answer("RCPT") or self.refused.get(address):
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - its name
        if refusal := self.answer("DATA"):
            return refusal
        assert isinstance(envelope.content, bytes)
        self.raw.append(envelope.content)
        self.to.append(list(envelope.rcpt_tos))
        if self.vanish_after_text:
            self.vanish_after_text -= 1
            assert server.transport is not None
            server.transport.abort()
            await asyncio.sleep(0)
        return "250 OK"

    def authenticate(self, _s: Any, _session: Any, _envelope: Any, mechanism: str, auth: Any) -> AuthResult:
        assert isinstance(auth, LoginPassword), mechanism
        self.passwords.append(auth.password)
        return AuthResult(success=auth.password == PASSWORD.encode())


def _parsed(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


@contextmanager
def mail_server(
    certificate: tuple[Path, Path] | None = None, *, security: str = "starttls", size: int = 33_554_432
) -> Iterator[tuple[Mails, int]]:
    """A server and its port; with a certificate it demands encryption and a password."""
    mails = Mails()
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
    options: dict[str, Any] = {"data_size_limit": size, "enable_SMTPUTF8": False}
    if context is not None:
        options |= {"authenticator": mails.authenticate}
        if security == "starttls":
            options |= {"tls_context": context, "require_starttls": True, "auth_required": True}
        else:  # the connection is encrypted before the server begins, which it cannot see
            options |= {"auth_require_tls": False}
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    wrapped = context if security == "tls" else None
    controller = Controller(mails, hostname="127.0.0.1", port=port, ssl_context=wrapped, **options)
    controller.start()
    try:
        yield mails, port
    finally:
        controller.stop()


def certificates(folder: Path, name: str = "localhost") -> tuple[Path, tuple[Path, Path]]:
    """An authority, and a server's certificate with its key, signed by it: files in PEM."""
    now = dt.datetime.now(dt.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in "ab"]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("Test Authority", name)]
    alternative = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    files = []
    for number, key in enumerate(keys):
        builder = x509.CertificateBuilder().subject_name(names[number]).issuer_name(names[0])
        builder = builder.public_key(key.public_key()).serial_number(number + 1)
        builder = builder.not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=number == 0, path_length=None), critical=True)
        if number == 1:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternative), critical=False)
            identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(keys[0].public_key())
            builder = builder.add_extension(identifier, critical=False)
        file = folder / f"certificate{number}.pem"
        file.write_bytes(builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        files.append(file)
    key_file = folder / "key.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key_file.write_bytes(keys[1].private_bytes(*form))
    return files[0], (files[1], key_file)
