"""What docs/guard.md shows of FastAPI and of no-code tools works as it says."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from reconcile.service.listener import Listener
from reconcile.web.api.documents import ClaimAnswerDocument, ClaimDocument, CompleteDocument
from tests.support.docs import blocks
from tests.support.folders import ROOT
from tests.support.web import Browser

PAGE = ROOT / "docs" / "guard.md"


@pytest.mark.slow
def test_the_webhook_in_fastapi_works_on_an_event_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [block] = [block for block in blocks(PAGE, "python") if "FastAPI()" in block.body]
    names: dict[str, Any] = {"__name__": "docs"}
    exec(compile(block.body, str(block), "exec"), names)  # noqa: S102 - our own page
    body = json.dumps({"action": "opened"}).encode()
    right = hmac.new(b"a secret", body, hashlib.sha256).hexdigest()
    listener = Listener("127.0.0.1:0", {}, (), names["app"])
    listener.start()
    try:
        browser = Browser(listener.address, {"X-GitHub-Delivery": "d-1", "X-Hub-Signature-256": f"sha256={right}"})
        answers = [browser.ask("POST", "/webhooks/github", body) for _ in range(2)]
        forged = browser.ask("POST", "/webhooks/github", b"{}")
    finally:
        listener.stop()
        names["guard"].close()

    assert [(answer.status, answer.json) for answer in answers] == [(200, {"action": "opened"})] * 2
    assert forged.status == 401


def test_the_bodies_for_no_code_tools_are_those_of_the_api() -> None:
    claim, answer, end = (json.loads(block.body) for block in blocks(PAGE, "json"))

    assert ClaimDocument.model_validate(claim).key == ["17", "welcome"]
    assert ClaimAnswerDocument.model_validate(answer).fence == CompleteDocument.model_validate(end).fence
    assert set(answer) == set(ClaimAnswerDocument.model_fields)
