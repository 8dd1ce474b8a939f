"""The connector `http` as a configuration needs it: its settings, without the client and the reader of records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from connectors.base import DatasetSettings, SourceSettings
from connectors.outbound import Network, check_header, networks, web_address

if TYPE_CHECKING:
    from connectors.http.source import HttpSource

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OURS = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "if-none-match", "te", "trailer", "transfer-encoding"}
)


class HttpAuth(BaseModel):
    """One way in: a bearer `token`; `user` and `password`; or OAuth, with a `token_url` and a client.

    OAuth's client credentials are used, or the `refresh_token` if there is one. `params` are more fields of the
    request for a token, such as `audience`. `client_in: body` sends the client in the form instead of by Basic.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    token: SecretStr | None = None
    user: SecretStr | None = None
    password: SecretStr | None = None
    token_url: str | None = None
    client_id: str | None = None
    client_secret: SecretStr | None = None
    refresh_token: SecretStr | None = None
    scope: str | None = None
    params: dict[str, str] = Field(default_factory=dict)
    client_in: Literal["header", "body"] = "header"

    @field_validator("token")
    @classmethod
    def _is_token(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"[!-~]+", token.get_secret_value()):
            raise ValueError("the token is empty or has characters that no token has; copy it again")
        return token

    @model_validator(mode="after")
    def _is_one_way(self) -> HttpAuth:
        ways = [name for name in ("token", "user", "token_url") if getattr(self, name) is not None]
        if len(ways) != 1:
            raise ValueError(
                "write one of `token`, `user` with `password`, or `token_url` with `client_id` and `client_secret`"
            )
        if self.password is not None and self.user is None:
            raise ValueError("`password` needs `user`")
        if self.user is not None and ":" in self.user.get_secret_value():
            raise ValueError("`user` cannot contain a colon; the part behind it is the `password`")
        if self.token_url is not None and self.client_id is None:
            raise ValueError("`token_url` needs `client_id`; add it")
        of_oauth = ("client_id", "client_secret", "refresh_token", "scope")
        if self.token_url is None and (extra := next((n for n in of_oauth if getattr(self, n) is not None), None)):
            raise ValueError(f"`{extra}` needs `token_url`, the address that gives tokens")
        if self.token_url is not None and self.client_secret is None and self.refresh_token is None:
            raise ValueError("`token_url` needs `client_secret`, or a `refresh_token`")
        return self


class HttpSettings(SourceSettings):
    """An API by its `url`, below which its datasets are.

    `rate` are requests a second, `timeout` the seconds of a request, and `deadline` those for reading a dataset, with
    all waiting. A failed request is sent again up to `retries` times. `max_page` and `max_bytes` limit the unpacked
    bytes of a page and of a dataset. `allow` are private networks that the API may be in.
    """

    type: Literal["http"]
    url: str
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    auth: HttpAuth | None = None
    insecure: bool = False
    allow: tuple[Network, ...] = ()
    rate: float | None = Field(default=None, gt=0, le=1_000)
    timeout: int = Field(default=30, ge=1, le=600)
    deadline: int = Field(default=900, ge=1, le=86_400)
    retries: int = Field(default=5, ge=0, le=20)
    max_pages: int = Field(default=10_000, ge=1, le=1_000_000)
    max_page: int = Field(default=50_000_000, ge=1_000, le=1_000_000_000)
    max_bytes: int = Field(default=2_000_000_000, ge=1_000)

    @field_validator("allow", mode="before")
    @classmethod
    def _networks(cls, texts: Any) -> Any:
        return networks(texts)

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        web_address("url", url, "put it into `auth`")
        if urlsplit(url).query or urlsplit(url).fragment:
            raise ValueError("`url` has parameters; write them as `params` of each dataset")
        return url.rstrip("/")

    @field_validator("headers")
    @classmethod
    def _are_theirs(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, content in headers.items():
            check_header(name, content.get_secret_value(), _OURS)
        return headers

    @model_validator(mode="after")
    def _is_safe(self) -> HttpSettings:
        if self.auth is not None and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("`headers` has an Authorization, which `auth` sets too; keep one of them")
        self._must_be_secret("url", self.url)
        if self.auth is not None and self.auth.token_url is not None:
            web_address("token_url", self.auth.token_url, "write `client_id` and `client_secret`")
            self._must_be_secret("token_url", self.auth.token_url)
        return self

    def _must_be_secret(self, setting: str, address: str) -> None:
        """Refuse an address at which others could read what is sent. Raises ValueError."""
        parts = urlsplit(address)
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not self.insecure:
            raise ValueError(
                f"`{setting}` is not encrypted; write https://, or set `insecure: true` if anybody on the way may read "
                "what is sent"
            )


class HttpPaging(BaseModel):
    """How the pages of a list follow each other.

    cursor   `param` takes the value at `next` in the last answer, or the field `last` of its last record
    page     `param` (`page`) counts pages from `first` (1)
    offset   `param` (`offset`) counts records from `first` (0)
    link     the answer's header Link has the address (rel="next")
    next     the answer has the address at `next`

    `more` is the path to a boolean that is false on the last page, `total` that to the number of all records. `twice`
    lists all pages again and compares.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    by: Literal["cursor", "page", "offset", "link", "next"]
    param: str | None = Field(default=None, min_length=1)
    next: str | None = Field(default=None, min_length=1)
    last: str | None = Field(default=None, min_length=1)
    first: int | None = Field(default=None, ge=0)
    more: str | None = Field(default=None, min_length=1)
    total: str | None = Field(default=None, min_length=1)
    twice: bool | None = None

    @model_validator(mode="after")
    def _fits(self) -> HttpPaging:
        usable = {
            "cursor": ("param", "next", "last"),
            "page": ("param", "first"),
            "offset": ("param", "first"),
            "link": (),
            "next": ("next",),
        }[self.by]
        for name in ("param", "next", "last", "first"):
            if getattr(self, name) is not None and name not in usable:
                raise ValueError(f"`{name}` has no meaning with `by: {self.by}`; remove it")
        if self.by == "cursor" and (self.param is None or (self.next is None) == (self.last is None)):
            raise ValueError(
                "`by: cursor` needs `param`, and either `next`, the place of the next cursor in an answer, or `last`, "
                "the field of the last record that is the cursor"
            )
        if self.by == "next" and self.next is None:
            raise ValueError("`by: next` needs `next`, the place of the next page's address in an answer")
        return self

    @property
    def parameter(self) -> str:
        """The name of the parameter that differs between pages."""
        return self.param or self.by


class HttpDataset(DatasetSettings):
    """A list at a `path` below the source's `url`, with fixed `params`.

    `records` is the path to the list in an answer, like `data.items`; without it, the answer is the list. `explode` is
    the path of a list in each record, whose elements become records. `id` is the dataset's own: records that two pages
    share are recognised by it.
    """

    path: str = Field(min_length=1)
    params: dict[str, str] = Field(default_factory=dict)
    records: str | None = Field(default=None, min_length=1)
    explode: str | None = Field(default=None, min_length=1)
    paging: HttpPaging | None = None
    id: tuple[str, ...] = ()

    @field_validator("path")
    @classmethod
    def _is_below(cls, path: str) -> str:
        if not re.fullmatch(r"[!-~]+", path):
            raise ValueError("`path` has a blank or a letter that addresses do not have; write it percent-encoded")
        if "?" in path or "#" in path:
            raise ValueError("`path` has parameters; write them as `params`")
        if "//" in path or "\\" in path or any(part in (".", "..") for part in path.split("/")):
            raise ValueError("`path` must lead below the source's `url`, like /orders")
        return path

    @field_validator("explode", mode="before")
    @classmethod
    def _is_one_list(cls, explode: Any) -> Any:
        if isinstance(explode, list | tuple):
            raise ValueError("only one list can be exploded; declare a dataset for each list")  # noqa: TRY004 - pydantic's
        return explode

    @model_validator(mode="after")
    def _has_one_place(self) -> HttpDataset:
        if self.paging is not None and self.paging.by in ("cursor", "page", "offset"):
            name = self.paging.parameter
            if name in self.params:
                raise ValueError(f"`params` sets `{name}`, which `paging` sets for each page; remove it")
        return self


class HttpConnector:
    """The base class of HttpSource. It loads no client: most commands read a configuration, but no records."""

    Settings: ClassVar[type[SourceSettings]] = HttpSettings
    Dataset: ClassVar[type[DatasetSettings]] = HttpDataset

    @staticmethod
    def open(name: str, settings: HttpSettings, directory: Path) -> HttpSource:
        """Return the source, which reads."""
        from connectors.http.source import HttpSource  # noqa: PLC0415 - see above

        return HttpSource(name, settings, directory)
