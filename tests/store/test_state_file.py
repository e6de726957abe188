"""Small JSON files of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopx_git.errors import InvalidState
from loopx_git.store.state_file import SIZE_MAX, load, parsed, read_plain, save


def test_a_value_is_written_for_a_program_or_for_people(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    save(str(path), {"b": "é", "a": 1})
    assert path.read_bytes() == b'{"b": "\\u00e9", "a": 1}'
    save(str(path), {"b": "é", "a": 1}, indent=1, sort_keys=True)
    assert path.read_bytes() == b'{\n "a": 1,\n "b": "\\u00e9"\n}\n'
    assert load(str(path)) == {"a": 1, "b": "é"}
    assert os.listdir(path.parent) == ["state.json"]


def test_a_planted_link_is_replaced_and_never_followed(tmp_path: Path) -> None:
    theirs, path = tmp_path / "theirs", tmp_path / "state.json"
    theirs.write_text('{"a": 1}')
    path.symlink_to(theirs)
    assert load(str(path)) is None
    save(str(path), {"a": 2})
    assert (theirs.read_text(), load(str(path))) == ('{"a": 1}', {"a": 2})


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"null", b"\xff", b'{"a": 1}{'])
def test_what_is_no_json_object_is_as_if_absent(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "state.json").write_bytes(data)
    assert load(str(tmp_path / "state.json")) is None


def test_only_a_small_plain_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(SIZE_MAX + 1)
    (tmp_path / "folder").mkdir()
    names = ("absent", "folder", "large")
    assert [read_plain(str(tmp_path / name)) for name in names] == [None] * 3
    # A pipe that nobody writes to is read at once, and says nothing.
    assert load(str(tmp_path / "pipe")) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 5000, b"\xff", b"[]", b"{}", b'{"a": 1, "b": 2}'])
def test_a_file_whose_content_counts_is_an_error_that_names_it(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "state.json"
    assert parsed(str(path), 100, lambda raw: dict(raw)["a"]) is None
    path.write_bytes(b'{"a": 1}')
    assert parsed(str(path), 100, lambda raw: raw["a"]) == 1
    path.write_bytes(data)
    with pytest.raises(InvalidState, match=f"the pin {path} cannot be read") as raised:
        parsed(str(path), 10_000, one_key, "the pin ")
    assert (raised.value.file, path.read_bytes()) == (str(path), data)
    assert raised.value.hint == f"look at it, then move it away: {path}"


def one_key(raw: dict[str, int]) -> int:
    if list(raw) != ["a"]:
        raise ValueError("it must have a alone")
    return raw["a"]


@pytest.mark.parametrize("planted", ["link", "folder", "large"])
def test_a_planted_file_is_not_parsed(tmp_path: Path, planted: str) -> None:
    path = tmp_path / "state.json"
    if planted == "link":
        (tmp_path / "theirs").write_text("{}")
        path.symlink_to(tmp_path / "theirs")
    elif planted == "folder":
        path.mkdir()
    else:
        path.write_text('"' + 200 * "x" + '"')
    with pytest.raises(InvalidState, match=str(path)):
        parsed(str(path), 100, str)


def test_reading_costs_an_agents_hook_no_import() -> None:
    """Neither the error tree nor the lock is loaded to read a file leniently."""
    statement = (
        "import sys; from loopx_git.store.state_file import load; load('/nowhere/state.json'); "
        "print([name for name in ('typing', 'dataclasses', 'loopx_git.errors', 'loopx_git.store.lock') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", statement], capture_output=True, text=True, timeout=60,
                          env={"PYTHONPATH": os.getcwd()})  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr
