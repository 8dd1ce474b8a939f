"""The description of the API in OpenAPI, made from the routes themselves."""

from __future__ import annotations

import json
import re
from threading import Lock
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from reconcile.documents import JsonObject
from reconcile.web.api.documents import SUFFIX, Problem
from reconcile.web.problems import PROBLEM

PATH = "/api/v1/openapi.json"
_PROBLEMS = {
    400: "The body is not JSON",
    401: "The request has no token, or one that is unknown or expired",
    403: "The role of the token does not allow this",
    404: "Not found",
    409: "It is not possible now; nothing was changed",
    413: "The request is too large",
    422: "The request is invalid; nothing was changed",
    429: "Too many requests of this kind; `Retry-After` says when to try again",
    503: "The state, or a source, does not answer",
}


def answers(model: type[Any]) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route: the document, or a problem."""
    schema = {"$ref": "#/components/schemas/Problem"}
    problems: dict[int | str, dict[str, Any]] = {
        status: {"description": words, "content": {PROBLEM: {"schema": schema}}} for status, words in _PROBLEMS.items()
    }
    return {200: {"model": model, "description": "Done"}, **problems}


_building = Lock()
_REFERENCE = re.compile(rf"(#/components/schemas/\w+?){SUFFIX}\b")


def description(app: FastAPI) -> bytes:
    """Return the description as JSON; it is the same for everybody, and built for the first who asks."""
    with _building:
        if not hasattr(app.state, "description"):
            text = json.dumps(_built(app), separators=(",", ":"))
            app.state.description = _REFERENCE.sub(r"\1", text).encode()
    content: bytes = app.state.description
    return content


def _built(app: FastAPI) -> JsonObject:
    document = get_openapi(
        title="Reconcile",
        version="1",
        summary="Findings, decisions, rules, runs, effects, users and the audit log of a Reconcile deployment.",
        description="Create a token with `reconcile tokens add NAME --user USER` and send it as a bearer token.",
        routes=app.routes,
    )
    components = document.setdefault("components", {})
    named = {name.removesuffix(SUFFIX): schema for name, schema in components.get("schemas", {}).items()}
    schemas = components["schemas"] = dict(sorted(named.items()))
    schemas["Problem"] = Problem.model_json_schema()
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    return document
