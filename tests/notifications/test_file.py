"""A file channel: each message once and whole, whatever was cut off before."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from notifications import conformance
from notifications.errors import CannotBeAsked, FileNotWritable
from notifications.file import FileChannel, FileSettings
from tests.support.folders import ROOT
from tests.support.notifications import double_charges, night

ONE = night(double_charges(2, hostile=True), name="one")
TWO = night(double_charges(8, hostile=True), name="two")


def opened(folder: Path, **more: Any) -> FileChannel:
    return FileChannel("log", FileSettings.model_validate({"type": "file", "path": "told.log", **more}), folder)


@pytest.fixture(params=["text", "jsonl"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def whole(folder: Path, form: str, *notices: Any) -> bytes:
    for notice in notices:
        opened(folder, format=form).send(notice)
    return (folder / "told.log").read_bytes()


def test_a_repeated_send_writes_nothing_twice(tmp_path: Path, form: str) -> None:
    once = whole(tmp_path, form, ONE, TWO)

    opened(tmp_path, format=form).send(ONE)

    assert (tmp_path / "told.log").read_bytes() == once


@pytest.mark.slow
def test_a_message_cut_at_any_byte_is_completed_by_sending_again(tmp_path: Path, form: str) -> None:
    first = len(whole(tmp_path, form, ONE))
    full = whole(tmp_path, form, TWO)
    for cut in [*range(first, first + 24, 3), *range(first + 24, len(full), 499), *range(len(full) - 24, len(full))]:
        (tmp_path / "told.log").write_bytes(full[:cut])

        opened(tmp_path, format=form).send(TWO)

        assert (tmp_path / "told.log").read_bytes() == full, cut


def test_a_message_cut_off_is_completed_by_looking_for_it(tmp_path: Path, form: str) -> None:
    first = len(whole(tmp_path, form, ONE))
    full = whole(tmp_path, form, TWO)
    (tmp_path / "told.log").write_bytes(full[: first + (len(full) - first) // 2])

    result = opened(tmp_path, format=form).find(TWO)

    assert result is not None
    assert (tmp_path / "told.log").read_bytes() == full


def test_another_message_cut_off_does_not_swallow_the_next(tmp_path: Path, form: str) -> None:
    full = whole(tmp_path, form, ONE)
    (tmp_path / "told.log").write_bytes(full[: len(full) // 2])
    channel = opened(tmp_path, format=form)

    channel.send(TWO)
    channel.send(ONE)

    assert channel.find(ONE) is not None
    assert channel.find(TWO) is not None
    if form == "jsonl":
        lines = (tmp_path / "told.log").read_text().splitlines()
        assert [json.loads(line)["id"] for line in lines[1:]] == ["two", "one"]


@pytest.mark.slow
def test_a_killed_writer_leaves_one_message_after_the_next_try(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path[:0] = [sys.argv[2]]\n"
        "from pathlib import Path\n"
        "from tests.notifications.test_file import opened, TWO\n"
        "import os\n"
        "write = os.write\n"
        "os.write = lambda f, d: (write(f, bytes(d)[:300]), os.kill(os.getpid(), 9))\n"
        "opened(Path(sys.argv[1])).send(TWO)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path), str(ROOT)], check=False, timeout=60)

    opened(tmp_path).send(TWO)

    text = (tmp_path / "told.log").read_text()
    assert killed.returncode == -9
    assert text.count("── notice two ──") == text.count("── end of two ──") == 1


@pytest.mark.slow
def test_two_processes_that_send_the_same_notice_write_it_once(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path[:0] = [sys.argv[2]]\n"
        "from pathlib import Path\n"
        "from tests.notifications.test_file import opened, ONE, TWO\n"
        "for _ in range(5):\n"
        "    opened(Path(sys.argv[1])).send(ONE); opened(Path(sys.argv[1])).send(TWO)\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(ROOT)]) for _ in range(2)]

    assert [item.wait(60) for item in both] == [0, 0]
    text = (tmp_path / "told.log").read_text()
    assert [text.count(f"── end of {name} ──") for name in ("one", "two")] == [1, 1]


def test_the_file_is_for_its_owner_only_and_ids_are_told_apart(tmp_path: Path) -> None:
    whole(tmp_path, "text", ONE)

    assert (tmp_path / "told.log").stat().st_mode & 0o777 == 0o600
    assert opened(tmp_path).find(night(name="on")) is None
    assert opened(tmp_path).find(night(name="one1")) is None


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")

    for path in ("pipe", "link", ".", "no/such/folder.log"):
        with pytest.raises(FileNotWritable, match="cannot write to"):
            opened(tmp_path, path=path).send(ONE)


def test_a_dash_is_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    channel = opened(tmp_path, path="-")

    receipt = channel.send(ONE)

    assert receipt.where == "terminal"
    assert capsys.readouterr().out == channel.preview(ONE)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CannotBeAsked):
        channel.find(ONE)


@pytest.mark.slow
def test_a_file_keeps_every_promise_of_a_channel(tmp_path: Path, form: str) -> None:
    settings = {"type": "file", "path": "told.log", "format": form}

    def arrived() -> int:
        content = (tmp_path / "told.log").read_bytes() if (tmp_path / "told.log").exists() else b""
        return content.count(b"\n") if form == "jsonl" else content.count("── end of".encode())

    conformance.run(
        conformance.Suite(
            lambda: opened(tmp_path, format=form), settings, arrived, lambda: opened(tmp_path, path="no/file")
        )
    )


def test_the_suite_catches_a_channel_that_sends_twice(tmp_path: Path) -> None:
    class Twice(FileChannel):
        def send(self, notice: Any) -> Any:
            super().send(night(name="extra"))
            return super().send(notice)

    broken = Twice("log", FileSettings(type="file", path="told.log"), tmp_path)
    path = tmp_path / "told.log"
    suite = conformance.Suite(
        lambda: broken,
        {"type": "file", "path": "told.log"},
        lambda: path.read_text().count("── end of") if path.exists() else 0,
    )

    with pytest.raises(conformance.ChannelConformanceFailure, match="one send is one message; 2 arrived"):
        conformance.run(suite)
