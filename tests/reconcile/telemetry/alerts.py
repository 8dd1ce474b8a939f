"""Prometheus as it reads a metrics page: scraped with the configuration that our rules recommend, asked by promtool."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.docs import ROOT

RULES = ROOT / "examples" / "prometheus" / "alerts.yaml"
TARGET = {"job": "reconcile", "instance": "127.0.0.1:8321"}
"""The labels of every sample that Prometheus gives by the recommended `scrape_configs`."""

Series = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scrape:
    """A page that Prometheus reads every minute, for so many minutes."""

    page: bytes
    minutes: int


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the promtool that `make` unpacked, or the one of this machine."""
    beside = Path(sys.executable).with_name("promtool")
    program = str(beside) if beside.exists() else shutil.which("promtool")
    if program is None:
        message = "promtool is missing; `make .make/promtool` unpacks it"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def firing(scrapes: Sequence[Scrape], folder: Path) -> dict[str, set[str]]:
    """The alerts that fire after these scrapes, each with the jobs, sources or channels that it fires for."""
    minutes = sum(scrape.minutes for scrape in scrapes)
    series = [{"series": _text(name), "values": " ".join(values)} for name, values in _series(scrapes).items()]
    question = {"expr": 'ALERTS{alertstate="firing"}', "eval_time": f"{minutes - 1}m", "exp_samples": []}
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [question]}
    (folder / "asked.json").write_text(
        json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "5m", "tests": [test]}), encoding="utf-8"
    )
    asked = promtool("test", "rules", folder / "asked.json")
    answer = (asked.stdout + asked.stderr).partition("got:")[2]
    assert answer or "SUCCESS" in asked.stdout, asked.stdout + asked.stderr
    alerts: dict[str, set[str]] = {}
    for labels in re.findall(r"\{([^}]*)\}", answer):
        named = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        subject = next((named[label] for label in ("reconcile_job", "source", "channel") if label in named), "")
        alerts.setdefault(named["alertname"], set()).add(subject)
    return alerts


def _series(scrapes: Sequence[Scrape]) -> dict[Series, list[str]]:
    """Every series with its values a minute, in promtool's notation; a gap where a page does not have it."""
    pages = [dict(_samples(scrape.page)) for scrape in scrapes]
    every = dict.fromkeys(name for page in pages for name in page)
    return {
        name: [_for(scrape.minutes, page.get(name)) for scrape, page in zip(scrapes, pages, strict=True)]
        for name in every
    }


def _for(minutes: int, value: float | None) -> str:
    return f"_x{minutes}" if value is None else f"{value!r}+0x{minutes - 1}"


def _samples(page: bytes) -> Iterator[tuple[Series, float]]:
    """Each sample under the labels that Prometheus stores: those of the target win, others become `exported_…`."""
    yield tuple(sorted({"__name__": "up", **TARGET}.items())), 1.0
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            if not math.isinf(sample.value):
                own = {f"exported_{name}" if name in TARGET else name: value for name, value in sample.labels.items()}
                yield tuple(sorted({"__name__": sample.name, **own, **TARGET}.items())), sample.value


def _text(series: Series) -> str:
    name = dict(series)["__name__"]
    labels = ",".join(f"{label}={json.dumps(value)}" for label, value in series if label != "__name__")
    return f"{name}{{{labels}}}"
