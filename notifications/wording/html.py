"""A document as HTML: for e-mail, and for previews of messages.

Mail programs drop style sheets, so every element has its own style. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from notifications.wording.document import Document, Line, Section, TextSpan

_FONT = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
_CODE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px"
_HEADLINE = "font-size:17px;line-height:1.35;margin:0 0 4px"
_ABOUT = "font-size:13px;color:#6b7280;margin:0 0 12px"
_SECTION = "padding:6px 0 6px 10px;margin:0 0 12px"
_BAR = {"failure": "#d97706", "rule": "#9ca3af", "note": "#9ca3af"}


def fragment(document: Document, *, has_title: bool = True) -> str:
    """Return the message as HTML without a page around it; every text is escaped.

    Without a title the facts about the message come last: a mail has its headline in the subject, and a phone shows how
    the text begins.
    """
    about = f'<p style="{_ABOUT}">{_text(document.about)}</p>'
    before = f'<h1 style="{_HEADLINE}">{_text(document.headline)}</h1>{about}' if has_title else ""
    after = "" if has_title else about
    return f'<div style="{_FONT};font-size:15px;line-height:1.5">{before}{"".join(_sections(document))}{after}</div>'


def plain(text: str) -> str:
    """Return a text of lines as HTML that keeps them."""
    return f'<pre style="{_CODE};white-space:pre-wrap;overflow-wrap:anywhere;padding:8px">{_text(text)}</pre>'


def caption(text: str) -> str:
    """Return a line above a fragment."""
    return f'<p style="{_FONT};{_ABOUT};margin:24px 0 4px">{_text(text)}</p>'


def page(title: str, fragments: Iterable[str]) -> str:
    """Return a whole page with these fragments, readable on a phone, in light and dark."""
    style = "max-width:680px;margin:0 auto;padding:16px"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">'
        f'<title>{_text(title)}</title></head><body style="{style}">{"".join(fragments)}</body></html>\n'
    )


def _sections(document: Document) -> Iterator[str]:
    yield from map(_section, document.sections)
    if document.details:
        yield f'<p style="{_ABOUT};margin:10px 0 0">More groups</p>'
        yield from map(_section, document.details)


def _section(section: Section) -> str:
    items = "".join(f"<li>{_lines(group)}</li>" for group in section.groups)
    groups = f'<ul style="margin:6px 0;padding-left:20px">{items}</ul>' if items else ""
    style = f"{_SECTION};border-left:3px solid {_BAR[section.kind]}"
    return f'<div style="{style}">{_lines(section.lines)}{groups}{_lines(section.after)}</div>'


def _lines(lines: Sequence[Line]) -> str:
    return "".join(f'<div style="overflow-wrap:anywhere">{"".join(map(_span, line))}</div>' for line in lines)


def _span(span: TextSpan) -> str:
    shown = _text(span.text)
    if span.style == "bold":
        shown = f"<strong>{shown}</strong>"
    elif span.style == "code":
        shown = f'<code style="{_CODE}">{shown}</code>'
    if span.link is not None:
        shown = f'<a href="{_text(span.link)}" rel="noopener noreferrer">{shown}</a>'
    return shown


def _text(text: str) -> str:
    """Escape a text; a lone surrogate, which UTF-8 cannot hold, is written out."""
    return html.escape(text.encode("utf-8", "backslashreplace").decode("utf-8"))
