"""Configuration: flag > LOOPX_* > git config loopx.* > .loopx/config.toml > default, resolved once."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loopx_git.core import ids
from loopx_git.core.times import parse_duration
from loopx_git.errors import InvalidState, UsageError
from loopx_git.store.lock import read_file
from loopx_git.store.repository import Repository

DEFAULT_REF = "refs/heads/loopx/coord"
#: The remote `.` is this repository itself, as in git's own branch.<name>.remote.
HERE = "."
FILE = ".loopx/config.toml"
#: Which keys belong to which agents.
SIGNERS = ".loopx/allowed_signers"
_SIZE_MAX = 65536
#: Keys of .loopx/config.toml: table -> key -> type.
KEYS: Mapping[str, Mapping[str, type]] = {
    "coordination": {"remote": str, "ref": str, "ledger": str, "home": str},
    "sync": {"depth": int, "max_age": str},
    "guard": {
        "mode": str, "paths": list, "exempt": list, "require": str, "unidentified": str, "stale_after": str,
        "offline_push": str, "renew_on_commit": bool, "branches": list, "since": str,
        "signed": bool, "pusher": str, "pushers": list, "operators": list, "rule_changes": str,
    },
    "run": {"on_exit": str},
    "validate": {"allow": list},
}  # a list of words  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force, and where each value came from (`origins`).

    remote   the name of the remote, or HERE
    ref      the full name of the coordination ref
    ledger   the root commit that config.toml pins, or None
    home     host/owner/repo that is expected of a network URL, or None; `home_settled` when the user's own
             git configuration says it (that settles a move)
    timeout  the time budget of one command, in seconds
    max_age  seconds after which a read fetches first
    on_exit  how `run` ends the claim by exit code, as the user writes it ("": by the default alone)
    """

    remote: str
    ref: str
    ledger: str | None
    home: str | None
    home_settled: bool
    agent: str | None
    session: str | None
    timeout: float
    max_age: float
    on_exit: str
    depth: int | None
    sign: bool
    allow: tuple[tuple[str, ...], ...]
    origins: Mapping[str, str] = field(default_factory=dict)


def load_file(path: str) -> dict[str, dict[str, Any]]:
    """The tables of a config.toml ({} when absent). Raises InvalidState, naming the file and the key."""
    folder = os.path.dirname(path)
    if os.path.islink(folder):
        raise InvalidState(f"{folder} is a symbolic link; loopx does not follow it", hint=f"ls -ld {folder}")
    data = read_file(path, _SIZE_MAX)
    return {} if data is None else parse_tables(data, path)


def parse_tables(data: bytes, path: str) -> dict[str, dict[str, Any]]:
    """The tables of a config.toml's bytes. Raises InvalidState, naming the file (`path`) and the key."""
    try:
        # Editors of some systems put a byte order mark in front.
        tables = tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(path, f"is not TOML: {error}") from None
    for table, keys in tables.items():
        if table not in KEYS or not isinstance(keys, dict):
            raise _bad(path, f"has the unknown table or key {table!r}; known: {', '.join(KEYS)}")
        for key, value in keys.items():
            if key not in KEYS[table]:
                raise _bad(path, f"has the unknown key {table}.{key}; known: {', '.join(KEYS[table])}")
            if type(value) is not KEYS[table][key]:
                raise _bad(path, f"{table}.{key} must be of type {KEYS[table][key].__name__}")
    return tables


def _bad(path: str, why: str) -> InvalidState:
    return InvalidState(f"{path}: {why}", hint=f"mend {FILE}", about={"file": path})


def resolve(repository: Repository, flags: Mapping[str, Any], env: Mapping[str, str]) -> Settings:
    """The settings of one command.

    `flags` has remote, ref, agent, session, timeout where given. `tables` has those of a reviewed commit's
    config.toml, which replaces the work tree's.
    """
    path = os.path.join(repository.top or repository.git_dir, FILE)
    given: Mapping[str, Mapping[str, Any]] | None = flags.get("tables")
    tables = given if given is not None else load_file(path) if repository.top is not None else {}
    where = tables.get("coordination", {})
    origins: dict[str, str] = {}

    def choose(name: str, default: Any = None, *, stored: str | None = None) -> Any:
        candidates = (
            (flags.get(name), f"--{name}"),
            (env.get(f"LOOPX_{name.upper()}") or None, f"LOOPX_{name.upper()}"),
            # git allows no underscore in a key.
            (repository.value(f"loopx.{name.replace('_', '')}"), f"git config loopx.{name.replace('_', '')}"),
            (where.get(name) if stored is None else tables.get(stored, {}).get(name), FILE),
            (default, "default"),
        )
        value, origin = next((item for item in candidates if item[0] is not None), (None, "unset"))
        origins[name] = origin
        return value

    remotes = repository.remotes()
    only = "origin" if "origin" in remotes else (remotes[0] if len(remotes) == 1 else HERE)
    remote, ref = choose("remote", only), check_ref(choose("ref", DEFAULT_REF))
    if origins["remote"] == "default" and len(remotes) > 1 and "origin" not in remotes:
        raise UsageError(
            f"this repository has several remotes ({', '.join(remotes)}) and none is called origin",
            hint=f"git config loopx.remote {remotes[0]}",
        )
    home_settled = repository.value("loopx.home")
    ledger = where.get("ledger")
    if ledger is not None and not ids.OID.fullmatch(ledger):
        raise _bad(path, "coordination.ledger must be the 40 hex digits of a commit")
    return Settings(
        remote=remote,
        ref=ref,
        ledger=ledger,
        home=home_settled or where.get("home"),
        home_settled=home_settled is not None,
        agent=_named("agent", choose("agent"), origins),
        session=_named("session", choose("session"), origins),
        timeout=_seconds("timeout", choose("timeout", "30s"), origins, 0.1),
        max_age=_seconds("max_age", choose("max_age", "30s", stored="sync"), origins, 0.0),
        on_exit=str(choose("on_exit", "", stored="run")),
        depth=_depth(tables.get("sync", {}).get("depth"), path),
        sign=(repository.value("loopx.sign") or "false").lower() in ("true", "yes", "on", "1"),
        allow=allow_of(tables, path),
        origins=origins,
    )


def _named(kind: str, value: str | None, origins: Mapping[str, str]) -> str | None:
    if value is None:
        return None
    if not ids.is_valid(kind, value):
        raise UsageError(
            f"{value[:80]!r} ({origins[kind]}) is not a valid {kind}", hint=f"a {kind} is {ids.GRAMMAR[kind][1]}"
        )
    return value


def _seconds(name: str, value: Any, origins: Mapping[str, str], least: float) -> float:
    text = str(value)
    try:
        seconds = float(text) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text) else parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{name} ({origins[name]}): {error}", hint=f"--{name} 30s") from None
    if seconds is None or not least <= seconds <= 86400:
        raise UsageError(f"{name} ({origins[name]}): {text} is out of bounds", hint=f"--{name} 30s; a day at most")
    return float(seconds)


def seconds_of(text: str | None, default: float) -> float:
    """A time budget that was given on the command line, in seconds."""
    return default if text is None else _seconds("timeout", text, {"timeout": "--timeout"}, 0.1)


def _depth(value: int | None, path: str) -> int | None:
    if value is not None and not 1 <= value <= 1_000_000:
        raise _bad(path, "sync.depth must be a whole number from 1")
    return value


def allow_of(tables: Mapping[str, Mapping[str, Any]], path: str) -> tuple[tuple[str, ...], ...]:
    """The commands of [validate] allow, each a list of words."""
    value = tables.get("validate", {}).get("allow", [])
    for argv in value:
        if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
            raise _bad(path, 'validate.allow is a list of commands, each a list of words: [["make", "test"]]')
    return tuple(tuple(argv) for argv in value)


def check_ref(ref: str) -> str:
    """`ref` when it is a full ref name that git accepts. Raises UsageError otherwise."""
    parts = ref.split("/")
    good = (
        len(ref) <= 250
        and len(parts) >= 3
        and parts[0] == "refs"
        and not re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{", ref)
        and all(part and not part.startswith(".") and not part.endswith((".lock", ".")) for part in parts)
        and ref.isascii()
    )
    if not good:
        raise UsageError(
            f"{ref[:80]!r} is not a full name of a ref",
            hint=f"such as {DEFAULT_REF}: git config loopx.ref {DEFAULT_REF}",
        )
    return ref


def dump_file(remote: str, ref: str, ledger: str, home: str | None) -> str:
    """The text of a new .loopx/config.toml. It is equal in every clone, so that two of them merge cleanly."""
    lines = [
        "# loopx-git: where this repository coordinates its work. Commit it; it is reviewed with the code.",
        "[coordination]",
        # A ledger in one repository alone names no remote: a clone of that repository finds it at its origin.
        *([] if remote == HERE else [f'remote = "{remote}"']),
        f'ref = "{ref}"',
        f'ledger = "{ledger}"',
    ]
    if home is not None:
        lines.append(f'home = "{home}"')
    return "\n".join(lines) + "\n"
