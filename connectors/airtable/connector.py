"""The connector `airtable` as a configuration needs it: its settings, without the client of the service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from connectors.base import DatasetSettings, SourceSettings

if TYPE_CHECKING:
    from connectors.airtable.source import AirtableSource

SERVICE = "https://api.airtable.com"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class AirtableSettings(SourceSettings):
    """A base, by its id, and a personal access token that may read it.

    `endpoint` is another address of the same interface, such as a proxy: https, or http on this machine.
    `requests_per_second` leaves a share of the five that Airtable grants a base to other programs.
    """

    type: Literal["airtable"]
    token: SecretStr
    base: str
    endpoint: str = SERVICE
    requests_per_second: int = Field(default=4, ge=1, le=5)

    @field_validator("token")
    @classmethod
    def _is_token(cls, token: SecretStr) -> SecretStr:
        if not re.fullmatch(r"[!-~]+", token.get_secret_value()):
            raise ValueError("the token is empty or has characters that no token has; copy it again from Airtable")
        return token

    @field_validator("base")
    @classmethod
    def _is_base(cls, base: str) -> str:
        if not re.fullmatch(r"app[A-Za-z0-9]+", base):
            raise ValueError("write the id of the base: it begins with `app` and is in the address of each table")
        return base

    @field_validator("endpoint")
    @classmethod
    def _is_safe(cls, endpoint: str) -> str:
        try:
            address = urlsplit(endpoint)
            is_address = bool(address.hostname) and address.port != 0
        except ValueError:
            is_address = False
        if not is_address or address.username is not None or address.query or address.fragment:
            raise ValueError(f"write an address like {SERVICE}")
        if address.scheme != "https" and not (address.scheme == "http" and address.hostname in _LOOPBACK):
            raise ValueError("the token is only sent by https, or by http to this machine; write https://")
        return endpoint.rstrip("/")


class AirtableDataset(DatasetSettings):
    """A `table` by its name or id (`tbl…`), or only the records and their order of a `view` of it.

    Columns are named as the fields are. `fields` gives a column of its own name to a field, by its id (`fld…`) or its
    name: a column of a field named by its id survives when people rename the field. `_record` is a record's own id.
    """

    table: str = Field(min_length=1)
    view: str | None = Field(default=None, min_length=1)
    fields: dict[str, str] = Field(default_factory=dict)

    @field_validator("fields")
    @classmethod
    def _are_named(cls, fields: dict[str, str]) -> dict[str, str]:
        lower = [name.lower() for name in fields]
        if "_record" in lower or "" in fields or "" in fields.values():
            raise ValueError("write `column: field`; `_record` is the name of the record's own id")
        if len({*lower}) < len(lower):
            raise ValueError("two columns have the same name; upper and lower case make no difference")
        if len({*fields.values()}) < len(fields):
            raise ValueError("a field is named twice; name each field once")
        return fields


class AirtableConnector:
    """The base class of AirtableSource. It loads no client: most commands read a configuration, but no records."""

    Settings: ClassVar[type[SourceSettings]] = AirtableSettings
    Dataset: ClassVar[type[DatasetSettings]] = AirtableDataset

    @staticmethod
    def open(name: str, settings: AirtableSettings, directory: Path) -> AirtableSource:
        """Return the source, which reads. Raises DriverMissing."""
        from connectors.errors import DriverMissing  # noqa: PLC0415 - see above

        try:
            from connectors.airtable.source import AirtableSource  # noqa: PLC0415 - see above
        except ModuleNotFoundError as error:
            if error.name not in ("pyairtable", "requests"):
                raise
            raise DriverMissing(name, error.name, "reconcile-runner[airtable]") from error
        return AirtableSource(name, settings, directory)

    @staticmethod
    def obstacle(settings: AirtableSettings, dataset: AirtableDataset) -> str | None:
        """The reason why no record of the dataset can ever be changed; see connectors.target.Cleanable."""
        del settings, dataset
        return None

    @staticmethod
    def file(settings: AirtableSettings, root: Path) -> Path | None:
        del settings, root
        return None

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:
        del path
        return None

    def state(self, dataset: AirtableDataset) -> str | None:
        """See connectors.base.Watchable. The source defines it; a configuration only looks if it exists."""
        raise NotImplementedError
