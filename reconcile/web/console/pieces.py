"""The style sheet, the script and the mark of the console, each at an address that changes with its content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from reconcile.web.gate import Anyone

_FOLDER = Path(__file__).with_name("static")
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_FILES = {file.name: file.read_bytes() for file in _FOLDER.iterdir() if file.suffix in _KINDS}
_FOREVER = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)


def address(name: str) -> str:
    """Return the address of a piece."""
    return f"/static/{hashlib.sha256(_FILES[name]).hexdigest()[:12]}/{name}"


@router.get("/static/{digest}/{name}", dependencies=[Depends(Anyone())])
def piece(digest: str, name: str) -> Response:
    if name not in _FILES or address(name) != f"/static/{digest}/{name}":
        raise HTTPException(404)
    return Response(_FILES[name], media_type=_KINDS[Path(name).suffix], headers={"cache-control": _FOREVER})
