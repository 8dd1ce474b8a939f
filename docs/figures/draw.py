"""Draw the pictures of the docs from the demo's data: pages of the console, and commands in a terminal.

`python docs/figures/draw.py`, in a checkout with the development packages and with Debian's chromium.
"""

from __future__ import annotations

import html
import io
import itertools
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright
from rich.style import Style
from rich.text import Text

HERE = Path(__file__).parent
RECONCILE = (str(Path(sys.executable).with_name("reconcile")),)
PASSWORD = "a demo of the console"
CHROMIUM = "/usr/bin/chromium"
DESK, PHONE = ViewportSize(width=1200, height=760), ViewportSize(width=390, height=844)
COLUMNS, ROWS = 100, 25
WIDTH, HEIGHT, MARGIN = 7.83, 17.0, 16.0
"""Of one character of 13 px, and of the border, in pixels."""
TYPED, READ = 1.2, 5.0
"""Seconds for which a command stands alone, and for which its output is shown."""
PAPER, INK, MUTED = "#17181a", "#e6e6e3", "#8b8d91"


def draw(folder: Path = HERE) -> list[Path]:
    """Draw all pictures into a folder; return the files."""
    with tempfile.TemporaryDirectory() as name:
        demo = Path(name) / "demo"
        _run(Path(name), "demo", "--in", "demo")
        _run(demo, "users", "add", "ada", "--role", "admin", typed=f"{PASSWORD}\n")
        with _serving(demo) as url:
            pages = _console(url, folder)
        terminal = folder / "terminal.svg"
        terminal.write_text(_animated(_scenes(demo)), encoding="utf-8")
    return [*pages, terminal]


def _run(folder: Path, *words: str, typed: str = "") -> str:
    command = [*RECONCILE, *words]
    return subprocess.run(command, cwd=folder, input=typed, stdout=subprocess.PIPE, text=True, check=True).stdout


# The console


@contextmanager
def _serving(demo: Path) -> Iterator[str]:
    command = [*RECONCILE, "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=demo, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = next(match[1] for line in process.stderr if (match := re.search(r"address=(\S+)", line)))
        try:
            yield f"http://{address}"
        finally:
            process.terminate()
            process.stderr.read()


def _console(url: str, folder: Path) -> list[Path]:
    pictures = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--headless"])
        page = browser.new_context(viewport=DESK, color_scheme="light").new_page()
        _sign_in(page, url)
        for name, path, size in (("today", "/", DESK), ("review", "/review?rule=twin-customer", DESK)):
            page.set_viewport_size(size)
            page.goto(url + path)
            pictures.append(_saved(page, folder / f"{name}.png"))
        page.set_viewport_size(PHONE)
        page.emulate_media(color_scheme="dark")
        page.click(".items .current .key")
        page.wait_for_selector("article.detail")
        pictures.append(_saved(page, folder / "phone.png"))
        browser.close()
    return pictures


def _sign_in(page: Page, url: str) -> None:
    page.goto(f"{url}/sign-in")
    page.fill("#name", "ada")
    page.fill("#password", PASSWORD)
    page.click("button.primary")
    page.wait_for_selector(".frame")


def _saved(page: Page, file: Path) -> Path:
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)
    return file


# The terminal


@dataclass(frozen=True)
class _Scene:
    command: str
    output: Sequence[Text]


def _scenes(demo: Path) -> list[_Scene]:
    listed = json.loads(_run(demo, "findings", "--json", "--all"))
    charge = next(finding["id"] for finding in listed if finding["rule"] == "double-charge")
    twin = next(finding["id"] for finding in listed if finding["rule"] == "twin-customer" and finding["records"] == 2)
    commands = (
        ("findings", "--limit", "6"),
        ("show", charge),
        ("plan", "--finding", twin),
        ("approve", twin),
        ("undo", twin),
    )
    return [_Scene(" ".join(("reconcile", *words)), _drawn(demo, words)) for words in commands]


def _drawn(demo: Path, words: Sequence[str]) -> list[Text]:
    """Return what the command prints on a terminal, without its progress bars."""
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": str(COLUMNS), "LINES": "60", "TERM": "xterm-256color"}
    with subprocess.Popen([*RECONCILE, *words], cwd=demo, env=environment, stdout=follower, stderr=subprocess.DEVNULL):
        os.close(follower)
        printed = b""
        try:
            while piece := os.read(leader, 65_536):
                printed += piece
        except OSError:  # the program ended
            os.close(leader)
    lines = [Text.from_ansi(line) for line in printed.decode().replace("\r\n", "\n").rstrip("\n").split("\n")]
    return [part for line in lines for part in line.divide(range(COLUMNS, len(line), COLUMNS))]


def _animated(scenes: Sequence[_Scene]) -> str:
    """Return an SVG that shows the scenes one after the other, and only the first where nothing should move."""
    total = len(scenes) * (TYPED + READ)
    parts: list[str] = []
    styles: list[str] = []
    for number, scene in enumerate(scenes):
        begin = number * (TYPED + READ)
        lines = [_line(0, f'<tspan fill="{MUTED}">$</tspan> {html.escape(scene.command)}')]
        output = [_line(row, _spans(text)) for row, text in enumerate(scene.output[: ROWS - 2], 1)]
        if len(scene.output) > ROWS - 2:
            output.append(_line(ROWS - 1, f'<tspan fill="{MUTED}">…</tspan>'))
        parts.append(f'<g class="c{number}">{"".join(lines)}</g><g class="o{number}">{"".join(output)}</g>')
        styles += _shown(f"c{number}", begin, begin + TYPED + READ, total)
        styles += _shown(f"o{number}", begin + TYPED, begin + TYPED + READ, total)
    width, height = COLUMNS * WIDTH + 2 * MARGIN, ROWS * HEIGHT + 2 * MARGIN
    still = "@media (prefers-reduced-motion: reduce) { g { animation: none !important; } .c0, .o0 { opacity: 1; } }"
    font = "font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre;"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="Commands of Reconcile in a terminal">\n'
        f"<style>text {{ {font} }} g {{ opacity: 0; }} {' '.join(styles)} {still}</style>\n"
        f'<rect width="100%" height="100%" rx="10" fill="{PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _shown(name: str, begin: float, end: float, total: float) -> Iterator[str]:
    first, last = (f"{100 * at / total:.2f}%" for at in (begin, end))
    frames = "0% { opacity: 0; }" if begin else ""
    yield f"@keyframes {name} {{ {frames} {first} {{ opacity: 1; }} {last}, 100% {{ opacity: 0; }} }}"
    yield f".{name} {{ animation: {name} {total:.1f}s step-end infinite; }}"


def _line(row: int, spans: str) -> str:
    return f'<text x="{MARGIN:.0f}" y="{MARGIN + HEIGHT * (row + 0.8):.1f}" fill="{INK}">{spans}</text>'


def _spans(text: Text) -> str:
    """Return a line with its colours; each piece has its place, so that no font moves a column."""
    pieces = []
    for begin, end, style in _styled(text):
        place = f' x="{MARGIN + WIDTH * begin:.1f}"'
        pieces.append(f"<tspan{place}{_attributes(style)}>{html.escape(text.plain[begin:end])}</tspan>")
    return "".join(pieces)


def _styled(text: Text) -> Iterator[tuple[int, int, Style]]:
    """Yield the words of a line with their style; blanks between columns only move the place."""
    for match in re.finditer(r"\S+(?: \S+)*", text.plain):
        marks = {match.start(), match.end()}
        marks |= {at for span in text.spans for at in (span.start, span.end) if match.start() < at < match.end()}
        ordered = sorted(marks)
        for begin, end in itertools.pairwise(ordered):
            styles = [Style.parse(str(span.style)) for span in text.spans if span.start <= begin < span.end]
            yield begin, end, Style.combine([Style.null(), *styles])


_COLORS: Mapping[int | None, str] = {1: "#ff6b63", 2: "#63c174", 3: "#e5b84b", 6: "#5cc0d6"}
"""The colours of a terminal by their number."""


def _attributes(style: Style) -> str:
    color = ""
    if style.color is not None:
        color = _COLORS.get(style.color.number, INK)
    dim = MUTED if style.dim else ""
    fill = f' fill="{color or dim}"' if color or dim else ""
    return fill + (' font-weight="bold"' if style.bold else "")


if __name__ == "__main__":
    for drawn_file in draw():
        print(f"{drawn_file.relative_to(HERE.parent.parent)}: {drawn_file.stat().st_size:,} bytes")
