"""The type of a JSON object: what commands print, the API answers, the log records and the state stores as JSON."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
"""An object whose fields only its writer and its readers define. What our own rooms exchange is a dataclass."""
