"""The description of the API in OpenAPI, made from the routes themselves."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from reconcile.web.api.documents import Problem
from reconcile.web.problems import PROBLEM

PATH = "/api/v1/openapi.json"
_PROBLEMS = {
    400: "The body is not JSON",
    401: "The request has no token, or one that is unknown or expired",
    403: "The role of the token does not allow this",
    404: "There is no such thing",
    409: "It is not possible now; nothing was changed",
    413: "The request is too large",
    422: "The request is not as described; nothing was changed",
    503: "The state, or a source, does not answer",
}


def answers(model: type[Any]) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route: the document, or a problem."""
    schema = {"$ref": "#/components/schemas/Problem"}
    problems: dict[int | str, dict[str, Any]] = {
        status: {"description": words, "content": {PROBLEM: {"schema": schema}}} for status, words in _PROBLEMS.items()
    }
    return {200: {"model": model, "description": "Done"}, **problems}


def description(app: FastAPI) -> dict[str, Any]:
    """Return the description; it is the same for everybody."""
    document = get_openapi(
        title="Reconcile",
        version="1",
        summary="Findings, decisions, rules, runs, effects, users and the audit log of a Reconcile deployment.",
        description="Make a token with `reconcile tokens add NAME --user USER` and send it as a bearer token.",
        routes=app.routes,
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema()
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    return document
