"""Templates of the users' own."""

import resource
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from notifications import base
from notifications.base import Notice
from notifications.errors import TemplateRefused
from notifications.slack import blockkit
from notifications.wording import document, render
from notifications.wording.template import START, Template
from tests.support.notifications import double_charges, night, trouble

NOTICE = night(double_charges(30, hostile=True), double_charges(2))


def rendered(folder: Path, text: str) -> str:
    path = folder / "mine.j2"
    path.write_text(text)
    return Template(path, str).render(render.document(NOTICE, render.SLACK), base.to_json(NOTICE))


@pytest.mark.parametrize("notice", [NOTICE, trouble()], ids=["run", "trouble"])
def test_the_template_to_start_from_writes_our_own_words(notice: Notice) -> None:
    shown = render.document(notice, render.SLACK)

    assert Template(START, str).render(shown, {}) == document.text(shown)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{{ headline", "mine.j2:1"),
        ("\n{% for x in y %}", "mine.j2:"),
        ("\n{{ headlin }}", "mine.j2:2: 'headlin' is undefined"),
        ("{{ headline.__class__.__mro__ }}", "mine.j2:1: "),
        ("{{ headline.upper() }}", "only the template's own macros can be called"),
        ("{{ 'a' * 1000000000 }}", "works only on numbers"),
        ("{{ '%1000000000d' % 1 }}", "works only on numbers"),
        ("{{ 9 ** 99999999 }}", "works only on numbers"),
        ("{{ range(10) }}", "undefined"),
        ("{% include '/etc/passwd' %}", "mine.j2:1"),
        ("{% import 'os' as os %}", "mine.j2:1"),
        ("{{ sections | attr('x') }}", "No filter named 'attr'"),
        ("{{ sections | center(1000000000) }}", "No filter named 'center'"),
        ("{{ 1 // 0 }}", "mine.j2:1: fails with ZeroDivisionError"),
        ("{% macro m(n) %}{{ m(n) }}{% endmacro %}{{ m(1) }}", "RecursionError"),
    ],
)
@pytest.mark.slow
def test_what_a_template_may_not_do_is_told_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(TemplateRefused) as told:
        rendered(tmp_path, text)

    assert sentence in str(told.value)
    assert "A-17" not in str(told.value)


def test_a_template_sees_plain_values(tmp_path: Path) -> None:
    shown = rendered(
        tmp_path,
        "{% for rule in notice.rules %}{{ rule.rule }}: {{ rule.money.EUR }} {{ rule.severity | upper }}\n{% endfor %}"
        "{{ 2 * 3 }}",
    )

    assert shown == "double-charge: 600 CRITICAL\ndouble-charge: 40 CRITICAL\n6"


def test_a_template_that_writes_without_end_is_cut(tmp_path: Path) -> None:
    loops = "".join(f"{{% for a{n} in notice.rules[0].largest %}}" for n in range(5))

    shown = rendered(tmp_path, loops + "wall of text\n" + "{% endfor %}" * 5)

    assert len(shown) <= 60_000
    assert shown.endswith("…")


DEEP = "".join("{% for a in notice.rules[0].largest %}" for _ in range(18)) + "{% endfor %}" * 18
HOSTILE = {
    "loops over loops that write nothing": DEEP,
    "loops over loops inside a macro": f"{{% macro m() %}}{DEEP}{{% endmacro %}}{{{{ m() }}}}",
    "loops over loops over what was set": "{% set l = 'a' * 1 if false else '"
    + "ab" * 999
    + "' | list %}"
    + "{% for a in l %}{% for b in l %}{% for c in l %}{% endfor %}{% endfor %}{% endfor %}",
    "a loop that calls itself": "{% for a in notice.rules recursive %}"
    "{{ loop(notice.rules) }}{{ loop(notice.rules) }}{% endfor %}",
    "texts that are doubled": "{% set s = headline %}" + "{% set s = s ~ s %}" * 60 + "{{ s }}",
    "texts that are added to themselves": "{% set s = headline %}" + "{% set s = s + s %}" * 60,
    "lists that are added to themselves": "{% set s = sections %}" + "{% set s = s + s %}" * 60,
    "numbers that are squared": "{% set n = 10 + headline | length %}" + "{% set n = n * n %}" * 60 + "{{ n > 0 }}",
    "numbers that are squared, written": "{% set n = 10 %}" + "{% set n = n * n %}" * 30 + "{{ n }}",
    "texts joined by texts": "{{ headline" + f" | list | join('{'x' * 900}')" * 12 + " }}",
    "constants joined when it is compiled": "{{ 'abc'" + f" | list | join('{'x' * 900}')" * 12 + " }}",
    "lists that are summed": "{% set l = sections %}" + "{% set l = [l, l] | sum(start=[]) %}" * 60,
    "wrapped words": "{% set s = headline %}" + "{% set s = s | wordwrap(1, wrapstring=s) %}" * 60 + "{{ s }}",
    "a caller that calls": "{% macro m(n) %}{{ caller() }}{{ caller() }}{% endmacro %}"
    + "{% call m(1) %}" * 40
    + "x"
    + "{% endcall %}" * 40,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_ends_in_time_and_within_its_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The first has the two seconds that templates have, the others one."""
    if name != next(iter(HOSTILE)):
        monkeypatch.setattr("notifications.wording.template._SECONDS", 1)
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()

    try:
        shown = rendered(tmp_path, HOSTILE[name])
    except TemplateRefused as refused:
        shown = str(refused)
    assert len(shown) <= 60_000
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - used.ru_utime < 8
    assert time.monotonic() - began < 90


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "{{ " + "(" * 20_000,
        "{% if a %}" * 3_000 + "{% endif %}" * 3_000,
        "{% for a in b %}" * 200 + "{% endfor %}" * 200,
    ],
)
def test_a_template_that_cannot_be_compiled_is_refused_when_it_is_opened(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.j2").write_text(text)

    with pytest.raises(TemplateRefused):
        Template(tmp_path / "mine.j2", str)


def test_whoever_renders_a_template_has_no_secret_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {}
    real = subprocess.run

    def watched(command: Any, **how: Any) -> Any:
        told.update(how["env"])
        return real(command, **how)

    monkeypatch.setenv("SLACK_BOT_TOKEN", "canary")
    monkeypatch.setattr(subprocess, "run", watched)

    assert rendered(tmp_path, "{{ 1 + 1 }}") == "2"
    assert set(told) <= {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"x" * 70_000])
def test_a_file_that_is_no_template_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "mine.j2").write_bytes(raw)

    with pytest.raises(TemplateRefused):
        Template(tmp_path / "mine.j2", str)


def test_a_template_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateRefused, match="cannot be read: no such file"):
        Template(tmp_path / "mine.j2", str)


@pytest.mark.parametrize("text", ["<!channel>", "*b*", "`c`", ":tada:", "@here", "a & b"])
def test_values_lose_their_meaning_in_markup(text: str) -> None:
    inert = blockkit.inert(text)

    assert inert != text
    assert "<" not in inert
    assert inert.replace("\u2060", "") == blockkit.escape(text)


def test_a_time_of_day_is_no_emoji() -> None:
    assert blockkit.inert("06:15:30") == "06:15:30"
