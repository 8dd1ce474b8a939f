"""A channel of another package: a list in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from notifications.base import ChannelSettings, DeliveryReceipt, Notice
from notifications.wording import document, render

LETTERS: dict[str, dict[str, str]] = {}
"""What each letterbox holds: messages by the id of their notice."""


class LetterboxSettings(ChannelSettings):
    type: Literal["letterbox"]
    box: str


class Letterbox:
    """Channel `letterbox`."""

    Settings: ClassVar[type[ChannelSettings]] = LetterboxSettings

    def __init__(self, name: str, settings: Any, root: Path) -> None:
        self.name = name
        self.settings = settings

    def send(self, notice: Notice) -> DeliveryReceipt:
        LETTERS.setdefault(self.settings.box, {})[notice.id] = self.preview(notice)
        return DeliveryReceipt(f"letterbox {self.settings.box}", {"notice": notice.id})

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        arrived = notice.id in LETTERS.get(self.settings.box, {})
        return DeliveryReceipt(f"letterbox {self.settings.box}", {"notice": notice.id}) if arrived else None

    def preview(self, notice: Notice) -> str:
        return document.text(render.document(notice, render.PAPER))
