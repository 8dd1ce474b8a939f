"""The first user: whoever reads the terminal of `serve` has its code, and may make one."""

from __future__ import annotations

import base64
import hmac
import secrets
from dataclasses import dataclass, field


def _code() -> str:
    text = base64.b32encode(secrets.token_bytes(10)).decode()
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


@dataclass(frozen=True)
class Welcome:
    """A code of 80 random bits that this process accepts while there is no user. It is stored nowhere."""

    code: str = field(default_factory=_code, repr=False)

    def fits(self, typed: str) -> bool:
        """Return True if this is the code, however it was typed."""
        letters = typed.upper().replace("-", "").replace(" ", "")
        return hmac.compare_digest(letters.encode(), self.code.replace("-", "").encode())
