"""A JSON API is read as JSON Lines with the same records, with each kind of access, and only again if it changed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import reconcile
from connectors.conformance import source as conformance
from connectors.conformance.source import Stored
from connectors.errors import ColumnMissing, ConnectorError, FileUnreadable
from connectors.files.connector import FilesDataset, FilesSettings
from connectors.files.source import FilesSource
from connectors.http.connector import HttpDataset, HttpSettings
from connectors.http.errors import ApiRefused, ApiUnanswered, TokenRefused
from tests.support.cli import Project
from tests.support.http_source import LIST, Pauses, opened, read, rows
from tests.support.json_api import Asked, JsonApi, PagedList, Reply, answer, serving

PAGE = {"data": {"items": [{"id": 1, "name": "Ann"}]}}
WORDS = (
    (pa.types.is_int64, "integer"),
    (pa.types.is_decimal, "decimal(20,4)"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "instant"),
)


# The port


class Kit:
    """Stores a table as the pages of an API."""

    settings = {  # noqa: RUF012 - read only
        "type": "http",
        "url": "https://api.example/v1",
        "headers": {"X-Key": "canary-key"},
        "auth": {"token": "canary-token"},
    }
    secret = "canary"
    empty_is_null = True

    def __init__(self, api: JsonApi, by: str) -> None:
        self.api, self.by = api, by

    def store(self, table: pa.Table) -> Stored:
        rows_written = [
            {
                name: None if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)
                for name, value in row.items()
            }
            for row in table.to_pylist()
        ]
        pages = PagedList(rows_written, self.by, size=max(len(rows_written) // 3, 2))
        self.api.answering = lambda asked: pages(asked) if asked.path == "/v1/charges" else answer({}, 404)
        words = {field.name: word for field in table.schema for check, word in WORDS if check(field.type)}
        columns = {name: words.get(name, "text") for name in table.column_names}
        common = {"records": "data.items", "paging": PagedList.PAGING[self.by]}
        return Stored(
            opened(f"{self.api.url}/v1", headers=self.settings["headers"], auth=self.settings["auth"]),
            HttpDataset.model_validate({"path": "/charges", "columns": columns, **common}),
            HttpDataset.model_validate({"path": "/chargs", **common}),
            None,
            lambda: {asked.method for asked in self.api.asked} | {"GET"},
        )


@pytest.fixture
def api() -> Iterator[JsonApi]:
    with serving(lambda _: answer(PAGE)) as server:
        yield server


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_an_api_conforms(check: Callable[[Any], None], api: JsonApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "MANY", 70_000)
    check(Kit(api, "cursor"))


# Records


LINES = [
    {"order": "A-1", "customer": {"id": 7}, "lines": [{"sku": "x", "price": {"net": 1.50}}, {"sku": "y"}]},
    {"order": "A-2", "customer": {"id": 8}, "lines": []},
    {"order": "A-3", "customer": {"id": 9}, "lines": None},
    {"order": "A-4", "customer": {"id": 9}},
]


def test_nested_values_are_those_of_json_lines(api: JsonApi) -> None:
    api.answering = PagedList(LINES, "cursor")

    found = read(
        api,
        "order",
        "customer.id",
        "lines.0.price.net",
        paging=PagedList.PAGING["cursor"],
        columns={"customer.id": "integer", "lines.0.price.net": "decimal(9,2)"},
    )

    assert [tuple(row.values()) for row in found] == [
        ("A-1", 7, Decimal("1.50")),
        ("A-2", 8, None),
        ("A-3", 9, None),
        ("A-4", 9, None),
    ]


def test_a_list_in_each_record_is_exploded(api: JsonApi) -> None:
    api.answering = PagedList(LINES, "offset")

    found = read(
        api, "_row", "order", "lines.sku", paging=PagedList.PAGING["offset"], explode="lines", id=["order", "lines.sku"]
    )

    assert [tuple(row.values()) for row in found] == [
        (1, "A-1", "x"),
        (1, "A-1", "y"),
        (2, "A-2", None),
        (3, "A-3", None),
        (4, "A-4", None),
    ]


def test_numbers_keep_their_digits(api: JsonApi) -> None:
    api.answering = PagedList([1] * 3, "next", texts=['{"n": 0.10}', '{"n": 12345678901234567890123.5}', '{"n": 1e2}'])

    found = read(api, "n", paging=PagedList.PAGING["next"])

    assert [row["n"] for row in found] == ["0.10", "12345678901234567890123.5", "1e2"]


def test_keys_with_dots_lead_to_lists_and_pages(api: JsonApi) -> None:
    def odata(asked: Asked) -> Reply:
        following = {"@odata.nextLink": "Orders?$skiptoken=X%27a b"} if not asked.query else {}
        return answer({"value": [{"id": len(asked.query)}], **following})

    api.answering = odata

    found = read(api, "id", path="/svc/Orders", records="value", paging={"by": "next", "next": "@odata.nextLink"})

    assert [row["id"] for row in found] == ["0", "1"]
    assert (api.asked[1].path, api.asked[1].query) == ("/svc/Orders", {"$skiptoken": "X'a b"})


def test_params_are_sent_with_each_page_and_characters_are_encoded(api: JsonApi) -> None:
    api.answering = PagedList([{"id": n} for n in range(3)], "page")

    read(api, "id", path="orders/", params={"q": "a&b=ü", "limit": "2"}, paging=PagedList.PAGING["page"])

    assert [dict(asked.query) for asked in api.asked[:2]] == [
        {"q": "a&b=ü", "limit": "2", "p": "1"},
        {"q": "a&b=ü", "limit": "2", "p": "2"},
    ]
    assert {asked.path for asked in api.asked} == {"/orders/"}


def test_the_answer_itself_may_be_the_list(api: JsonApi) -> None:
    api.answering = lambda _: answer([{"id": 1}, {"id": 2}])

    assert read(api, "_file", "_row", "id", records=None) == [
        {"_file": f"127.0.0.1:{api.port}/orders", "_row": n, "id": str(n)} for n in (1, 2)
    ]


def test_a_declared_charset_is_read(api: JsonApi) -> None:
    text = '{"data": {"items": [{"name": "Zoë"}]}}'
    for charset, content in (("iso-8859-1", text.encode("latin-1")), ('"UTF-8"', b"\xef\xbb\xbf" + text.encode())):
        api.answering = lambda _, content=content, charset=charset: Reply(  # type: ignore[misc]
            [
                f"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.api+json; charset={charset}\r\n"
                f"Content-Length: {len(content)}\r\n\r\n".encode()
                + content
            ]
        )
        assert read(api) == [{"name": "Zoë"}]


def test_a_column_that_is_missing_is_told_with_the_nearest(api: JsonApi) -> None:
    with pytest.raises(ColumnMissing, match="/orders has no column 'nmae'; did you mean name"):
        read(api, "nmae")
    with pytest.raises(ColumnMissing, match="did you mean name"):
        read(api, "nam")


def test_unreadable_values_are_counted_with_their_page(api: JsonApi) -> None:
    api.answering = PagedList([{"id": n, "fee": "x" if n == 3 else "1.5"} for n in range(5)], "cursor")
    source = opened(api.url)
    dataset = HttpDataset.model_validate(
        {**LIST, "paging": PagedList.PAGING["cursor"], "columns": {"fee": "decimal"}, "null_values": ["-"]}
    )

    scan = source.scan(dataset, ["fee"])
    scan.reader.read_all()
    [problem] = scan.problems()

    assert (problem.column, problem.records) == ("fee", 1)
    assert problem.first == f"127.0.0.1:{api.port}/orders, page 2, record 4"


def test_a_place_of_the_next_page_that_never_comes_is_told_by_check(api: JsonApi) -> None:
    api.answering = PagedList([{"id": 1}], "cursor")
    source = opened(api.url)
    misspelt = HttpDataset.model_validate({**LIST, "paging": {"by": "cursor", "param": "after", "next": "meta.nxt"}})
    counted = HttpDataset.model_validate(
        {**LIST, "paging": {"by": "cursor", "param": "after", "next": "meta.nxt", "total": "meta.total"}}
    )

    [warning] = source.warnings(misspelt, None)

    assert "one page, and no `next: meta.nxt` in it" in warning.reason
    assert source.warnings(misspelt, ["id"]) == source.warnings(counted, None) == ()


# Findings


TEXTS = st.sampled_from(["A", "a", "", " A ", "ü", "null", "0", "1.0"])
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"key": TEXTS | st.none() | st.integers(0, 3), "nested": st.dictionaries(st.sampled_from("xy"), TEXTS)},
        optional={"amount": st.decimals(-9, 9, places=2).map(float), "more": st.lists(st.booleans(), max_size=2)},
    ),
    min_size=1,
    max_size=9,
)


@pytest.mark.slow
@settings(
    max_examples=6, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(records=RECORDS, by=st.sampled_from([*PagedList.PAGING]), size=st.integers(1, 4))
def test_an_api_gives_the_findings_of_its_records_as_json_lines(
    tmp_path: Path, api: JsonApi, records: list[dict[str, Any]], by: str, size: int
) -> None:
    records = [{"key": "A", "nested": {"x": "0"}, "amount": -0.5}] * 2 + records
    numbered = [{"id": number, **record} for number, record in enumerate(records)]
    (tmp_path / "list.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in numbered))
    api.answering = PagedList(numbered, by, size=size)
    columns = {"amount": "decimal", "nested.x": "text", "key": "text"}
    lists = {
        "api": {"source": "api", "path": "/list", "records": "data.items", "paging": PagedList.PAGING[by]},
        "file": {"source": "files", "path": "list.jsonl"},
    }
    rules = {
        "same": {"kind": "duplicates", "key": ["key", "nested.x"], "max_share": "100%"},
        "amount": {"kind": "check", "where": "amount < 0"},
    }
    config = {
        "version": 1,
        "sources": {
            "api": {"type": "http", "url": api.url, "allow": ["127.0.0.1/32"]},
            "files": {"type": "files", "root": "."},
        },
        "datasets": {name: {**each, "id": "id", "columns": columns} for name, each in lists.items()},
        "rules": {f"{name}-{rule}": {**each, "dataset": name} for name in lists for rule, each in rules.items()},
    }
    (tmp_path / "reconcile.yaml").write_text(json.dumps(config))

    with reconcile.load(tmp_path / "reconcile.yaml") as project:
        report = project.run(dry_run=True).to_json()

    assert report["status"] == "dry_run", report
    for rule in rules:
        assert facts(report, f"api-{rule}") == facts(report, f"file-{rule}")
    assert [row["id"] for row in read(api, path="/list", paging=PagedList.PAGING[by])] == [
        str(record["id"]) for record in numbered
    ]


def facts(report: dict[str, Any], rule: str) -> Any:
    """What a rule counted and found, without the names of rule and dataset."""
    [counted] = [each for each in report["rules"] if each["rule"] == rule]
    found = [each for each in report["findings"] if each["rule"] == rule]
    named = {"id", "fingerprint", "rule", "dataset"}
    shown = [json.dumps({key: value for key, value in each.items() if key not in named}) for each in found]
    shown = [text.replace(f'"dataset": "{rule.partition("-")[0]}"', "") for text in shown]
    return counted["scanned"], counted["groups"], counted["skipped"], shown


def records_or_refusal(reading: Callable[[], list[dict[str, Any]]]) -> Any:
    try:
        return reading()
    except FileUnreadable as error:
        return error.reason


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    records=st.lists(st.dictionaries(st.sampled_from(["a", "b", "c.d", "Ä"]), VALUES), max_size=7),
    by=st.sampled_from([*PagedList.PAGING]),
    size=st.integers(1, 4),
    plain=st.booleans(),
)
def test_any_objects_are_read_as_json_lines_are(
    tmp_path: Path, api: JsonApi, records: list[dict[str, Any]], by: str, size: int, plain: bool
) -> None:
    records = [{"n": number, **record} for number, record in enumerate(records)]
    texts = [json.dumps(record, ensure_ascii=plain).encode("utf-8", "replace").decode() for record in records]
    (tmp_path / "list.jsonl").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    api.answering = PagedList(records, by, size=size, texts=texts)
    paging = {**PagedList.PAGING[by], "total": "meta.total"}
    columns = {"a": "text", "c.d": "text"}
    files = FilesSource("files", FilesSettings(type="files"), tmp_path)
    dataset = FilesDataset(path="list.jsonl", columns=columns)

    def of_lines() -> list[dict[str, Any]]:
        names = [name for name in files.describe(dataset).names if name != "_file"]
        lines: list[dict[str, Any]] = files.scan(dataset, names).reader.read_all().to_pylist()
        return lines

    def of_api() -> list[dict[str, Any]]:
        source = opened(api.url)
        chosen = HttpDataset.model_validate({**LIST, "paging": paging, "columns": columns})
        names = [name for name in source.describe(chosen).names if name != "_file"]
        return rows(source, *names, paging=paging, columns=columns)

    assert records_or_refusal(of_api) == records_or_refusal(of_lines)


# Access


def granted(asked: Asked) -> Reply:
    allowed = asked.headers.get("authorization") == "Bearer token-2" or asked.headers.get("x-key") == "key-1"
    return answer(PAGE) if allowed else answer({}, 401)


def test_a_header_a_bearer_token_and_basic_give_access(api: JsonApi) -> None:
    api.answering = granted
    assert rows(opened(api.url, headers={"X-Key": "key-1"}))
    assert rows(opened(api.url, auth={"token": "token-2"}))

    api.answering = lambda _: answer(PAGE)
    assert rows(opened(api.url, auth={"user": "ann", "password": "pä:ss"}))
    assert rows(opened(api.url, auth={"user": "sk_key"}))

    pairs = [base64.b64decode(asked.headers["authorization"][6:]).decode() for asked in api.asked[-2:]]
    assert pairs == ["ann:pä:ss", "sk_key:"]


class TokenServer:
    """An API whose tokens are valid for a number of requests."""

    def __init__(self) -> None:
        self.given = 0
        self.fields: list[dict[str, str]] = []
        self.valid: set[str] = set()
        self.more: dict[str, Any] = {"token_type": "Bearer", "expires_in": 3600}
        self.refusal: Reply | None = None

    def __call__(self, asked: Asked) -> Reply:
        if asked.path != "/token":
            return answer(PAGE) if asked.headers.get("authorization", "")[7:] in self.valid else answer({}, 401)
        self.fields.append({name: values[0] for name, values in parse_qs(asked.body.decode()).items()})
        self.fields[-1]["authorization"] = asked.headers.get("authorization", "")
        if self.refusal is not None:
            return self.refusal
        self.given += 1
        self.valid.add(f"token-{self.given}")
        return answer({"access_token": f"token-{self.given}", **self.more})


OAUTH = {"client_id": "me", "client_secret": "s/cret", "scope": "orders.read"}


def test_client_credentials_get_a_token_that_is_kept_until_it_ends(api: JsonApi) -> None:
    tokens, pauses = TokenServer(), Pauses()
    api.answering = tokens
    source = opened(api.url, pauses, auth={**OAUTH, "token_url": f"{api.url}/token", "params": {"audience": "x"}})

    for seconds in (0, 3_000, 600):
        pauses.now += seconds
        source.renew()
        assert rows(source)

    assert len(tokens.fields) == 2
    assert tokens.fields[0] == {
        "grant_type": "client_credentials",
        "scope": "orders.read",
        "audience": "x",
        "authorization": "Basic " + base64.b64encode(b"me:s%2Fcret").decode(),
    }


def test_a_token_that_is_refused_is_replaced_once(api: JsonApi) -> None:
    tokens = TokenServer()
    api.answering = tokens
    auth = {"client_id": "me", "refresh_token": "r-1", "token_url": f"{api.url}/token", "client_in": "body"}
    source = opened(api.url, auth=auth)
    assert rows(source)

    tokens.valid.clear()
    tokens.more["refresh_token"] = "r-2"
    source.renew()
    assert rows(source)
    tokens.valid.clear()
    source.renew()
    assert rows(source)

    sent = [(fields["grant_type"], fields["refresh_token"], fields["client_id"]) for fields in tokens.fields]
    assert sent == [("refresh_token", token, "me") for token in ("r-1", "r-1", "r-2")]

    api.answering = lambda asked: tokens(asked) if asked.path == "/token" else answer({}, 401)
    source.renew()
    with pytest.raises(ApiRefused, match="HTTP 401"):
        rows(source)


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (answer({"error": "invalid_client", "error_description": "canary"}, 401), "invalid_client"),
        (answer({"error": "canary"}, 400), "it answered with HTTP 400"),
        (answer(["canary"], 403), "it answered with HTTP 403"),
        (answer({}, 302, Location="http://10.0.0.1/canary"), "it answered with HTTP 302"),
        (answer({"token": "canary"}), "no `access_token`"),
        (answer({"access_token": "can\r\nary"}), "no `access_token`"),
        (answer({"access_token": "canary", "token_type": "mac"}), "not a bearer token"),
        (answer(["canary"]), "not a JSON object"),
    ],
)
def test_an_address_that_gives_no_token_is_told(api: JsonApi, refusal: Reply, words: str) -> None:
    tokens = TokenServer()
    tokens.refusal, api.answering = refusal, tokens
    source = opened(api.url, auth={**OAUTH, "token_url": f"{api.url}/token"})

    with pytest.raises(TokenRefused) as raised:
        rows(source)

    assert words in str(raised.value)
    assert "canary" not in str(raised.value)
    assert [asked.path for asked in api.asked] == ["/token"]


def test_a_token_server_that_fails_is_asked_again(api: JsonApi) -> None:
    tokens = TokenServer()
    tokens.refusal, api.answering = answer({}, 503), tokens
    source = opened(api.url, auth={**OAUTH, "token_url": f"{api.url}/token"})

    with pytest.raises(ApiUnanswered, match="HTTP 503"):
        rows(source)
    assert len(api.asked) == 3
    with pytest.raises(ApiUnanswered):
        source.datasets()

    tokens.refusal = None
    assert source.datasets() == ()
    assert rows(source)


# Again only if it changed


def test_a_list_is_read_once_until_it_is_renewed_and_unchanged_pages_are_not_sent_again(api: JsonApi) -> None:
    records = [{"id": number} for number in range(5)]
    pages = PagedList(records, "offset")

    def tagged(asked: Asked) -> Reply:
        start = int(asked.query["skip"])
        tag = f'"{abs(hash(str(records[start : start + 2])))}"'
        if asked.headers.get("if-none-match") == tag:
            return Reply([f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n".encode()])
        sent = pages(asked)
        return Reply([sent.parts[0].replace(b"\r\n", f"\r\nETag: {tag}\r\n".encode(), 1)])

    api.answering = tagged
    source = opened(api.url)
    dataset = HttpDataset.model_validate({**LIST, "paging": PagedList.PAGING["offset"]})
    first = source.content(dataset, lambda _: None)
    assert len(rows(source, paging=PagedList.PAGING["offset"])) == 5
    assert len(api.asked) == 8  # four pages, and each again with its tag
    assert [("if-none-match" in asked.headers) for asked in api.asked] == [False] * 4 + [True] * 4

    source.renew()
    assert source.content(dataset, lambda _: None) == first
    assert all("if-none-match" in asked.headers for asked in api.asked[4:])
    records[4] = {"id": 99}
    source.renew()
    assert source.content(dataset, lambda _: None) != first
    assert rows(source, paging=PagedList.PAGING["offset"])[-1] == {"id": "99"}
    assert source.version(dataset).startswith("4 pages at 20")


def test_settings_of_values_do_not_read_the_list_again(api: JsonApi) -> None:
    source = opened(api.url)

    assert rows(source) == [{"id": "1", "name": "Ann"}]
    assert rows(source, columns={"id": "integer"}, null_values=["Ann"]) == [{"id": 1, "name": None}]
    assert len(api.asked) == 1


def test_an_open_scan_keeps_its_pages(api: JsonApi) -> None:
    source = opened(api.url)
    scan = source.scan(HttpDataset.model_validate(LIST), ["id"])
    source.renew()
    source.close()

    assert scan.reader.read_all().to_pylist() == [{"id": "1"}]


# Settings


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"url": "ftp://canary/"}, "http:// or https://"),
        ({"url": "http://api.example/"}, "not encrypted; write https://"),
        ({"url": "https://ann:canary@api.example/"}, "put it into `auth`"),
        ({"url": "https://api.example/?key=canary"}, "as `params`"),
        ({"url": "https://api.example:99999/"}, "port"),
        ({"headers": {"Host": "x"}}, "set by Reconcile"),
        ({"headers": {"X": "canary\r\nY: z"}}, "line break"),
        ({"headers": {"authorization": "canary"}, "auth": {"token": "canary"}}, "keep one of them"),
        ({"auth": {}}, "write one of `token`"),
        ({"auth": {"token": "canary", "user": "ann"}}, "write one of `token`"),
        ({"auth": {"token": "can ary"}}, "characters that no token has"),
        ({"auth": {"user": "ann:canary"}}, "colon"),
        ({"auth": {"token": "canary", "password": "canary"}}, "`password` needs `user`"),
        ({"auth": {"token": "canary", "scope": "x"}}, "`scope` needs `token_url`"),
        ({"auth": {"token_url": "https://a.example/t", "client_secret": "canary"}}, "needs `client_id`"),
        ({"auth": {"token_url": "https://a.example/t", "client_id": "me"}}, "or a `refresh_token`"),
        ({"auth": {"token_url": "http://a.example/t", "client_id": "me", "client_secret": "canary"}}, "not encrypted"),
        ({"allow": ["everything"]}, "is not a network"),
        ({"rate": 0}, "greater than 0"),
    ],
)
def test_wrong_settings_of_a_source_are_told_without_their_secrets(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence) as raised:
        HttpSettings.model_validate({"type": "http", "url": "https://api.example", **wrong})

    assert all("canary" not in error["msg"] for error in raised.value.errors())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"path": "/a?b=c"}, "write them as `params`"),
        ({"path": "/../x"}, "below the source's `url`"),
        ({"path": "//10.0.0.1/x"}, "below the source's `url`"),
        ({"path": "/a b"}, "percent-encoded"),
        ({"paging": {"by": "cursor", "param": "a"}}, "either `next`"),
        ({"paging": {"by": "cursor", "param": "a", "next": "b", "last": "c"}}, "either `next`"),
        ({"paging": {"by": "next"}}, "needs `next`"),
        ({"paging": {"by": "link", "param": "a"}}, "`param` has no meaning with `by: link`"),
        ({"paging": {"by": "page"}, "params": {"page": "1"}}, "`params` sets `page`, which `paging` sets"),
        ({"explode": ["a", "b"]}, "only one list can be exploded"),
    ],
)
def test_wrong_settings_of_a_dataset_are_told(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        HttpDataset.model_validate({**LIST, **wrong})


def test_plain_http_needs_a_word_except_to_this_machine() -> None:
    for more in ({"url": "http://api.example", "insecure": True}, {"url": "http://localhost:8080/v1/"}):
        assert HttpSettings.model_validate({"type": "http", **more}).url in (
            "http://api.example",
            "http://localhost:8080/v1",
        )


# Commands


CONFIG = """\
version: 1
sources:
  shop:
    type: http
    url: {url}/v1
    allow: 127.0.0.1/32
    retries: 0
    headers: {{X-Key: "${{secret:HEADER}}"}}
    auth:
      token_url: "{url}/token"
      client_id: me
      client_secret: "${{secret:CLIENT}}"
      refresh_token: "${{secret:REFRESH}}"
datasets:
  orders:
    source: shop
    path: /orders
    params: {{status: paid, limit: 100}}
    records: data.items
    paging: {{by: cursor, param: after, next: meta.next}}
    id: id
    columns: {{id: integer, amount: decimal, customer.name: text}}
    pii: customer.name
    incremental: {{by: content}}
rules:
  twice: {{kind: duplicates, dataset: orders, key: [number, amount]}}
"""
CANARIES = {"HEADER": "canary-header-1", "CLIENT": "canary-client-2", "REFRESH": "canary-refresh-3"}
ORDERS = [
    {"id": n, "number": f"A-{n // 2 if n < 4 else n}", "amount": 20.5, "customer": {"name": "Ann Smith"}}
    for n in range(9)
]


@pytest.fixture
def shop(tmp_path: Path, api: JsonApi, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name, canary in CANARIES.items():
        monkeypatch.setenv(f"RECONCILE_SECRET_{name}", canary)
        monkeypatch.setenv(name, canary)
    pages = PagedList(ORDERS, "cursor", size=4)
    api.answering = lambda asked: (
        answer({"access_token": "canary-token-4", "token_type": "bearer"}) if asked.path == "/token" else pages(asked)
    )
    return Project(tmp_path).write(CONFIG.format(url=api.url))


def test_every_command_works_with_an_api(shop: Project, api: JsonApi) -> None:
    checked = shop("check")
    suggested = shop("suggest", "orders")
    of_source = shop("suggest", "shop")
    explained = shop("explain", "twice")
    rehearsed = shop("run", "--dry-run", "--json")
    first = shop("run", "--slot", "2026-11-21T05:15:00Z", "--json")
    second = shop("run", "--slot", "2026-11-22T05:15:00Z", "--json")
    found = shop("findings", "--json")

    assert checked.code == 0, checked.said
    assert "source shop" in checked.said
    assert "reachable" in checked.said
    assert "customer.name text" in checked.said
    assert suggested.code == 0, suggested.said
    assert "cannot list its contents; declare a dataset" in of_source.said
    assert explained.code == 0, explained.said
    assert rehearsed.json["rules"][0]["groups"] == first.json["rules"][0]["groups"] == 2
    assert sorted(finding["key"]["number"] for finding in found.json) == ["A-0", "A-1"]
    assert second.json["rules"][0]["mode"] == "unchanged", second.json
    assert all(answered.headers.get("x-key") == "canary-header-1" for answered in api.asked if answered.method == "GET")


FAULTS: dict[str, Reply] = {
    "500": answer({"error": "canary-header-1"}, 500),
    "401": answer({"error": "canary-token-4"}, 401),
    "422": answer({"error": "canary-client-2"}, 422),
    "a redirect": answer({}, 302, Location="https://canary-refresh-3.example/canary-header-1?x=canary-token-4"),
    "no list": answer({"error": {"message": "canary-header-1"}}),
    "no JSON": Reply([b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{canary-token-4"]),
    "a reset": Reply([b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"], end="reset"),
    "a next page elsewhere": answer({"meta": {"next": "x"}, "data": {"items": [{"id": "canary-header-1"}]}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_no_secret_is_anywhere_after_a_failure(shop: Project, api: JsonApi, fault: Reply) -> None:
    good = api.answering
    api.answering = lambda asked: good(asked) if asked.path == "/token" else fault

    said = [shop(*words).said for words in (["run"], ["check"], ["suggest", "orders"], ["runs"], ["audit"], ["doctor"])]
    said.append(shop("audit", "export", "-o", str(shop.folder / "export")).said)

    hidden = {**CANARIES, "TOKEN": "canary-token-4"}
    if "refresh" in str(fault.parts):
        hidden.pop("REFRESH")  # the host of the redirect is shown
    for canary in hidden.values():
        assert canary not in "".join(said)
        for file in shop.folder.rglob("*"):
            if file.is_file() and file.name != "reconcile.yaml":
                assert canary.encode() not in file.read_bytes(), file


def test_a_token_that_the_token_server_repeats_in_its_refusal_is_not_shown(shop: Project, api: JsonApi) -> None:
    api.answering = lambda _: answer({"error": "canary-client-2", "error_description": "canary-refresh-3"}, 400)

    told = shop("run")

    assert told.code == 3
    assert "got no token from 127.0.0.1: it answered with HTTP 400" in told.said
    assert "canary" not in told.said


def test_a_failed_source_is_reported_and_other_rules_go_on(shop: Project, api: JsonApi) -> None:
    good = api.answering
    api.answering = lambda asked: good(asked) if asked.path == "/token" else answer({}, 503, Retry_After="99999")
    (shop.folder / "list.jsonl").write_text('{"id": 1, "k": "A"}\n{"id": 2, "k": "A"}\n')
    config = (shop.folder / "reconcile.yaml").read_text()
    config = config.replace("sources:\n", "sources:\n  files: {type: files}\n")
    config = config.replace("datasets:\n", "datasets:\n  lines: {source: files, path: list.jsonl, id: id}\n")
    shop.write(config + "  of-file: {kind: duplicates, dataset: lines, key: [k], max_share: 100%}\n")

    told = shop("run")

    assert told.code == 3
    assert "got no usable answer from 127.0.0.1" in told.said
    assert "of-file" in told.said


def test_the_guard_holds_for_the_address_of_tokens(api: JsonApi) -> None:
    source = opened(api.url, auth={**OAUTH, "token_url": f"http://localhost:{api.port}/token"}, allow=["10.0.0.0/8"])

    with pytest.raises(ConnectorError, match="is not a public address"):
        rows(source)
    assert api.asked == []
