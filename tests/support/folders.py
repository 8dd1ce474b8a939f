"""The folders that tests read: of this checkout, and of real data beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
NAUGHTY_STRINGS = SHARED / "ugly" / "naughty-strings.json"
