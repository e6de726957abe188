"""Where a hook manager's own configuration calls the guard: it is read, and nothing of it is run."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from loopx_git.errors import LoopXError
from loopx_git.format.yaml_block import plain_yaml
from loopx_git.guard import script
from loopx_git.store.lock import read_file

_SIZE_MAX = 4_000_000
_ENDINGS = ("yml", "yaml", "json", "jsonc", "toml")
_PLACES = ("", ".", ".config/")
#: What has a manager of packages run lefthook: whether it will cannot be seen from here.
_PACKAGES = (
    "go.mod", "Gemfile", "package.json", "pyproject.toml", "composer.json", "mise.toml", ".mise.toml", "devbox.json",
    "Package.swift", "Mintfile",
)  # fmt: skip
#: What `.pre-commit-hooks.yaml` of this project offers: id -> the hooks of git that it serves.
_OFFERED: Mapping[str, tuple[str, ...]] = {
    "loopx-guard": ("pre-commit", "pre-merge-commit"),
    "loopx-guard-message": ("prepare-commit-msg",),
    "loopx-guard-push": ("pre-push",),
}

#: (the file that calls the guard, why it does not come to that, the word that calls us)
Found = tuple[str, str, str]


def finds_lefthook(top: str, env: Mapping[str, str], hook: bytes) -> bool:
    """Whether lefthook's script finds a lefthook, as far as can be seen: without one it passes everything."""
    named = [env.get("LEFTHOOK_BIN") or "", *re.findall(r"/[^\s\"']*/lefthook\b", hook.decode("utf-8", "replace"))]
    if any(path and shutil.which(path) for path in named) or shutil.which("lefthook", path=env.get("PATH")):
        return True
    if glob.glob(os.path.join(glob.escape(top), "node_modules", "*lefthook*")):
        return True
    return any(os.path.exists(os.path.join(top, name)) for name in _PACKAGES)


def in_lefthook(top: str, name: str, env: Mapping[str, str]) -> Found:
    """The guard's call among lefthook's commands, jobs and scripts of a hook."""
    whole: dict[str, Any] = {}
    files = []
    for local in ("", "-local"):
        for path in (os.path.join(top, f"{dot}lefthook{local}.{end}") for dot in _PLACES for end in _ENDINGS):
            if os.path.isfile(path):
                files.append(path)
                _merge(whole, _extended(path, top))
                break
    where = " and ".join(os.path.basename(path) for path in files) or "lefthook's configuration"
    excluded = (env.get("LEFTHOOK_EXCLUDE") or "").split(",")
    skipped = False
    for called, run, skips in _commands(whole.get(name), name, top):
        program = next((found for one in script.parse(run) if (found := script.called(one.words, name))), "")
        if program and not skips and called not in excluded:
            return where, "", program
        skipped = skipped or bool(program)
    wrong = f"{where} skips the guard's command" if skipped else f"{where} has no command of {name} that calls us"
    return where, wrong, ""


def _commands(hook: object, name: str, top: str) -> Iterator[tuple[str, str, bool]]:
    """(name, what is run, whether it is always skipped) of all that lefthook runs for a hook."""
    if not isinstance(hook, dict):
        return
    everything = _skips(hook)
    for called, command in _table(hook.get("commands")).items():
        if isinstance(command, dict):
            yield str(called), str(command.get("run") or ""), everything or _skips(command)
    for called, command in _table(hook.get("scripts")).items():
        if isinstance(command, dict):
            yield str(called), _script(top, name, called), everything or _skips(command)
    jobs = hook.get("jobs")
    for job in jobs if isinstance(jobs, list) else ():
        if isinstance(job, dict):
            skips = everything or _skips(job)
            run = str(job["run"]) if "run" in job else _script(top, name, job.get("script"))
            yield str(job.get("name") or ""), run, skips
            for called, run, inner in _commands(job.get("group"), name, top):
                yield called, run, skips or inner


def _script(top: str, name: str, called: object) -> str:
    """The text of a script that lefthook runs, from the folder of the code or that of the clone."""
    for folder in (".lefthook-local", ".lefthook"):
        path = os.path.join(top, folder, name, str(called))
        if isinstance(called, str) and os.path.isfile(path):
            return (read_file(os.path.realpath(path), _SIZE_MAX) or b"").decode("utf-8", "replace")
    return ""


def _skips(entry: Mapping[str, Any]) -> bool:
    return entry.get("skip") is True or entry.get("only") is False


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _extended(path: str, top: str) -> dict[str, Any]:
    """A file of lefthook's, with the files that it extends."""
    own = _read(path)
    whole: dict[str, Any] = {}
    others = own.get("extends")
    for other in [others] if isinstance(others, str) else others if isinstance(others, list) else ():
        for found in sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(path)), str(other)))):
            _merge(whole, _read(found))
    return _merge(whole, own)


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    for key, value in more.items():
        there = into.get(key)
        if isinstance(there, dict) and isinstance(value, dict):
            _merge(there, value)
        else:
            into[key] = [*there, *value] if isinstance(there, list) and isinstance(value, list) else value
    return into


def in_framework(top: str, name: str, hook: bytes, env: Mapping[str, str]) -> Found:
    """The guard's hook in the configuration of the pre-commit framework, or of prek."""
    given = re.search(rb"--config[= ][\"']?([^\s\"')]+)", hook)
    names = [given[1].decode("utf-8", "replace")] if given else [".pre-commit-config.yaml", "prek.toml"]
    path = next((path for path in (os.path.join(top, one) for one in names) if os.path.isfile(path)), "")
    if not path:
        return "", f"neither a legacy hook of it nor {names[0]} calls the guard", ""
    settings, where = _read(path), os.path.basename(path)
    skipped = (env.get("SKIP") or "").split(",")
    for hooked in _hooks(settings):
        ident, entry = str(hooked.get("id")), str(hooked.get("entry") or "")
        calls = [found for one in script.parse(entry) if (found := script.called(one.words, name))]
        if ident in skipped or not (ident in _OFFERED or calls):
            continue
        if name in _stages(hooked, ident, settings):
            return where, "", calls[0] if calls else ""
    return where, f"neither a legacy hook nor {where} calls the guard for {name}", ""


def _hooks(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    repos = settings.get("repos")
    for repo in repos if isinstance(repos, list) else ():
        for hooked in _table(repo).get("hooks") or ():
            if isinstance(hooked, dict):
                yield hooked


def _stages(hooked: Mapping[str, Any], ident: str, settings: Mapping[str, Any]) -> list[str]:
    """The hooks of git that one hook of the framework serves; the old names of stages included."""
    own = hooked.get("stages") or _OFFERED.get(ident) or settings.get("default_stages")
    every = {"commit": "pre-commit", "merge-commit": "pre-merge-commit", "push": "pre-push"}
    if not own:
        return ["pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push"]
    return [every.get(str(one), str(one)) for one in own]


def _read(path: str) -> dict[str, Any]:
    """A configuration as plain values; empty when it cannot be read: then the manager itself refuses it."""
    try:
        text = (read_file(os.path.realpath(path), _SIZE_MAX) or b"").decode("utf-8")
        if path.endswith(".toml"):
            return tomllib.loads(text)
        if path.endswith((".json", ".jsonc")):
            # Comments, and a comma behind the last item: strings are passed over.
            text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda hit: hit[1] or "", text, flags=re.DOTALL)
            text = re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda hit: hit[1] or "", text)
            return _table(json.loads(text))
        return _table(plain_yaml(text))
    except (ValueError, LoopXError, RecursionError):
        return {}
