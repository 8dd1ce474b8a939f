"""The connector `google_sheets` as a configuration needs it: its settings, without the reader of cells."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from connectors.base import DatasetSettings, SourceSettings

if TYPE_CHECKING:
    from connectors.google_sheets.source import GoogleSheetsSource

_ID = re.compile(r"[A-Za-z0-9_-]{10,200}")
_IN_ADDRESS = re.compile(r"https://docs\.google\.com/spreadsheets/(?:u/\d+/)?d/([A-Za-z0-9_-]+)(?:[/?#].*)?")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_NEEDED = ("client_email", "private_key", "token_uri")


class GoogleSheetsSettings(SourceSettings):
    """A spreadsheet, by its id or its address in the browser.

    Access is given by the JSON key of a service account (`service_account: ${file:key.json}`), or by a client id, a
    client secret and a refresh token of OAuth. `api`, `drive_api` and `token_url` are Google's addresses.
    """

    type: Literal["google_sheets"]
    spreadsheet: str
    service_account: SecretStr | None = None
    client_id: str | None = None
    client_secret: SecretStr | None = None
    refresh_token: SecretStr | None = None
    patience: int = Field(default=120, ge=0, le=3_600, description="Seconds a read waits for quotas and errors.")
    api: str = "https://sheets.googleapis.com"
    drive_api: str = "https://www.googleapis.com"
    token_url: str = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address

    @field_validator("spreadsheet")
    @classmethod
    def _is_spreadsheet(cls, text: str) -> str:
        match = _IN_ADDRESS.fullmatch(text.strip())
        identifier = match[1] if match else text.strip()
        if not _ID.fullmatch(identifier):
            raise ValueError("write the spreadsheet's id, or its address https://docs.google.com/spreadsheets/d/…")
        return identifier

    @field_validator("api", "drive_api", "token_url")
    @classmethod
    def _is_address(cls, address: str) -> str:
        return _secure(address).rstrip("/")

    @field_validator("service_account")
    @classmethod
    def _is_key(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None:
            key_of(secret)
        return secret

    @model_validator(mode="after")
    def _has_one_way_in(self) -> GoogleSheetsSettings:
        oauth = (self.client_id, self.client_secret, self.refresh_token)
        if (self.service_account is None) == all(part is None for part in oauth):
            raise ValueError("give `service_account`, or `client_id`, `client_secret` and `refresh_token`")
        if self.service_account is None and None in oauth:
            raise ValueError("`client_id`, `client_secret` and `refresh_token` are needed together")
        return self


def key_of(secret: SecretStr) -> dict[str, str]:
    """The content of a service account's key. Raises ValueError, which never repeats any of it."""
    problem = "is not the JSON key of a service account; write `${file:key.json}` with the path of the file"
    try:
        key = json.loads(secret.get_secret_value())
    except ValueError:
        raise ValueError(problem) from None
    if not isinstance(key, dict) or not all(isinstance(key.get(name), str) for name in _NEEDED):
        raise ValueError(problem)
    _secure(key["token_uri"])
    return key


def _secure(address: str) -> str:
    """Return the address if nobody on the way can read what is sent. Raises ValueError, without it."""
    parts = urlsplit(address)
    is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not parts.hostname or parts.username or parts.password or not (parts.scheme == "https" or is_local):
        raise ValueError("must be an https:// address without a user; http:// only on this computer")
    return address


class GoogleSheetsDataset(DatasetSettings):
    """`sheet` is the name on the tab, not needed if only one is visible; `header_row` and `skip_footer` are as in
    workbooks. `timezone` defaults to that of the spreadsheet.
    """

    sheet: str | None = Field(default=None, min_length=1)
    header_row: int | None = Field(default=None, ge=1)
    skip_footer: int = Field(default=0, ge=0, le=1_000)
    fill: tuple[str, ...] = ()


class GoogleSheetsConnector:
    """The base class of GoogleSheetsSource. It loads no reader and no client."""

    Settings: ClassVar[type[SourceSettings]] = GoogleSheetsSettings
    Dataset: ClassVar[type[DatasetSettings]] = GoogleSheetsDataset

    @staticmethod
    def open(name: str, settings: GoogleSheetsSettings, directory: Path) -> GoogleSheetsSource:
        """Return the source, which reads."""
        from connectors.google_sheets.source import GoogleSheetsSource  # noqa: PLC0415 - see above

        return GoogleSheetsSource(name, settings, directory)

    @staticmethod
    def obstacle(settings: Any, dataset: GoogleSheetsDataset) -> str | None:
        """The reason why no record of the dataset can ever be changed; see connectors.target.Cleanable."""
        del settings
        return "`fill` gives its records values that are not in their rows" if dataset.fill else None

    @staticmethod
    def file(settings: Any, root: Path) -> Path | None:
        del settings, root
        return None

    def state(self, dataset: GoogleSheetsDataset) -> str | None:
        """Declared here, so that a schedule knows that the source can be watched; GoogleSheetsSource asks Drive."""
        raise NotImplementedError
