"""The settings under `audit:`."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from rules.models import Duration, Strict, parse_duration


class AnchorSettings(Strict):
    """Settings of every anchor."""

    every: Duration = Field(
        default=dt.timedelta(0),
        json_schema_extra={"default": "0s"},
        description="The shortest time between two heads; entries after the last head can be removed unnoticed.",
    )


class FileAnchorSettings(AnchorSettings):
    """A file that Reconcile only appends to."""

    type: Literal["file"] = Field(description="A file that Reconcile only appends to.")
    path: str = Field(min_length=1, description="The file; best in a place where Reconcile can append but not rewrite.")


class SlackAnchorSettings(AnchorSettings):
    """Messages in a Slack channel; its members see them and cannot edit them."""

    type: Literal["slack"] = Field(description="Messages in a Slack channel.")
    channel: str = Field(description="One of `channels`: a Slack channel with a bot token.")
    every: Duration = Field(
        default=parse_duration("1d"),
        json_schema_extra={"default": "1d"},
        description="The shortest time between two heads.",
    )


class GitSettings(AnchorSettings):
    """Commits in a git repository."""

    type: Literal["git"] = Field(description="Commits in a git repository.")
    path: str = Field(min_length=1, description="The repository's folder; created if missing.")
    push: str | None = Field(default=None, description="A remote to push each commit to, e.g. origin.")
    timeout: float = Field(default=30, gt=0, le=300, description="Seconds to wait for git.")
    every: Duration = Field(
        default=parse_duration("1h"),
        json_schema_extra={"default": "1h"},
        description="The shortest time between two heads.",
    )

    @field_validator("push")
    @classmethod
    def _is_a_name(cls, remote: str | None) -> str | None:
        if remote is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", remote):
            raise ValueError("`push` is the name of a remote of that repository, like origin")
        return remote


class SyslogSettings(AnchorSettings):
    """A log server; Reconcile can write to it but not read it."""

    type: Literal["syslog"] = Field(description="A log server (RFC 5424).")
    address: str = Field(
        default="/dev/log", description="A socket's path, or udp://host:port or tcp://host:port of a log server."
    )
    timeout: float = Field(default=5, gt=0, le=60, description="Seconds to wait for it.")

    @field_validator("address")
    @classmethod
    def _is_address(cls, address: str) -> str:
        if not re.fullmatch(r"/.+|(udp|tcp)://(\[[0-9a-fA-F:]+\]|[^\s/:@\[\]]+):\d{1,5}", address):
            raise ValueError("`address` is a socket's path like /dev/log, or udp://host:514, or tcp://host:601")
        return address


Anchor = Annotated[FileAnchorSettings | SlackAnchorSettings | GitSettings | SyslogSettings, Field(discriminator="type")]


class AuditSettings(Strict):
    """The audit log's own settings."""

    anchors: dict[str, Anchor] = Field(
        default_factory=dict, description="Places outside the state that keep signed heads of the log."
    )
