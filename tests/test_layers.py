"""The shape of the code base: who may import whom, and who may touch the world.

    errors <- core <- format <- ledger <- store <- client <- coverage <- { guard, review, sdk, cli, mcp, board }

Every rule is a function from one module to its findings. It is run twice: over each module of loopx_git,
where it must find nothing, and over the offending texts in OFFENDERS, where it must find something.
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "loopx_git"

# A layer is the first part of a module's path. "" is the package's own __init__, which hands out lazily
# what the layers below the faces define.
BELOW_FACES = ("version", "errors", "core", "format", "ledger", "store", "client", "coverage")
FACES = ("guard", "review", "cli", "mcp", "board", "sdk")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    **{layer: BELOW_FACES[:rank] for rank, layer in enumerate(BELOW_FACES)},
    **dict.fromkeys(FACES, BELOW_FACES),
    "cli": (*BELOW_FACES, "guard", "review", "mcp", "board", "sdk"),
    "__main__": ("errors", "cli"),
    "": (*BELOW_FACES, "sdk"),  # the package loads its Python face lazily
}

# What each layer may import beside the standard library.
THIRD_PARTY: dict[str, set[str]] = {
    "core": {"pathspec"},
    "format": {"pathspec", "yaml", "frontmatter"},
    "ledger": {"pathspec"},
    "store": {"pathspec", "yaml", "frontmatter", "pygit2"},
    "client": {"pathspec", "yaml", "frontmatter"},
    "coverage": set(),
    "review": set(),
    "cli": {"click", "wcwidth"},
    "mcp": {"mcp"},
}

PURE = ("core", "format", "ledger")
IMPURE_MODULES = {
    "os", "sys", "io", "pathlib", "subprocess", "socket", "time", "random", "secrets", "uuid", "threading",
    "tempfile", "shutil", "asyncio", "ctypes", "fcntl", "glob", "importlib", "logging", "multiprocessing",
    "select", "signal",
}  # fmt: skip
IMPURE_BUILTINS = {"open", "input", "print", "__import__", "exec", "eval"}
CLOCKS = {"now", "utcnow", "today"}

SPAWNER = "store/process.py"
# Processes that are not git: commands of the user's, the demo's agents.
SPAWNERS = {SPAWNER, "store/user_command.py", "cli/demo/stage.py"}
SPAWNING_MODULES = {"subprocess", "multiprocessing", "pty"}
SPAWNING_CALLS = (
    "os.system", "os.popen", "os.fork", "os.exec", "os.spawn", "os.posix_spawn", "asyncio.create_subprocess",
)  # fmt: skip

# Names by which a program reads its environment, talks to a person, or ends.
OUTSIDE = {
    "os.environ", "os.environb", "os.getenv", "os.getenvb", "os.path.expanduser", "os.path.expandvars",
    "pathlib.Path.home", "getpass.getuser", "sys.argv", "sys.orig_argv", "sys.stdin", "sys.stdout",
    "sys.stderr", "sys.__stdin__", "sys.__stdout__", "sys.__stderr__", "sys.exit", "os._exit", "os.abort",
    "click.echo", "click.secho", "print", "input", "exit", "quit", "SystemExit",
}  # fmt: skip

MOST_LINES = 400
MEDIAN_LINES = 160
EMPTY_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "misc", "common"}
HEAVY = {"pygit2", "yaml", "frontmatter", "pathspec", "git", "hypothesis", "rich", "wcwidth"}


@dataclass(frozen=True)
class Module:
    """One source file; `path` is relative to the package and uses slashes."""

    path: str
    text: str

    @property
    def dotted(self) -> tuple[str, ...]:
        parts = (PACKAGE, *self.path.removesuffix(".py").split("/"))
        return parts[:-1] if parts[-1] == "__init__" else parts

    @property
    def layer(self) -> str:
        return self.dotted[1] if len(self.dotted) > 1 else ""

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    def absolute(self, level: int, name: str) -> str:
        """The full name of a relative import with `level` dots."""
        if level == 0:
            return name
        package = self.dotted if self.path.endswith("__init__.py") else self.dotted[:-1]
        return ".".join((*package[: len(package) - level + 1], *filter(None, [name])))


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """(line, full name) of all that is imported: anywhere in the file, for type checkers, by string."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = module.absolute(node.level, node.module or "")
            yield from ((node.lineno, f"{source}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.args[0].value
            if isinstance(name, str) and ast.unparse(node.func).endswith(("import_module", "__import__")):
                bare = name.lstrip(".")
                yield node.lineno, module.absolute(len(name) - len(bare), bare)


def local_names(module: Module) -> dict[str, str]:
    """What each imported name stands for: `import os as o` gives {"o": "os"}."""
    names: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                names[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            source = module.absolute(node.level, node.module or "")
            for alias in node.names:
                names[alias.asname or alias.name] = f"{source}.{alias.name}"
    return names


def mentions(module: Module) -> Iterator[tuple[int, str]]:
    """(line, full name) of every import, every dotted name, and every name the module itself did not bind."""
    names = local_names(module)
    bound: set[str] = set()
    for node in ast.walk(module.tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)

    def full(node: ast.AST) -> str | None:
        if isinstance(node, ast.Name):
            return names.get(node.id, None if node.id in bound else node.id)
        if isinstance(node, ast.Attribute) and (base := full(node.value)):
            return f"{base}.{node.attr}"
        return None

    yield from imports(module)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute | ast.Name) and (mention := full(node)):
            yield node.lineno, mention


def found(module: Module, line: int, what: str) -> str:
    return f"{PACKAGE}/{module.path}:{line}: {what}"


# --- the rules ---


def layers_point_down(module: Module) -> list[str]:
    if module.layer not in MAY_IMPORT:
        return [found(module, 1, f"{module.layer!r} is not a layer; they are {', '.join(MAY_IMPORT)}")]
    allowed = {module.layer, *MAY_IMPORT[module.layer]}
    findings = []
    for line, name in mentions(module):
        first, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if first != PACKAGE or not target or target in allowed:
            continue
        if target in MAY_IMPORT:
            findings.append(found(module, line, f"{module.layer or '__init__'} imports {target}"))
        elif module.layer in BELOW_FACES:
            # What the package hands out lazily may load the client; the version is a module of its own.
            findings.append(found(module, line, f"{module.layer} imports the package itself ({name})"))
    return findings


def third_parties_stay_in_their_layer(module: Module) -> list[str]:
    allowed = {PACKAGE, *sys.stdlib_module_names, *THIRD_PARTY.get(module.layer, ())}
    return [
        found(module, line, f"{module.layer or '__init__'} imports {name}")
        for line, name in imports(module)
        if name.split(".")[0] not in allowed
    ]


def pure_layers_do_no_io(module: Module) -> list[str]:
    if module.layer not in PURE:
        return []
    return [
        found(module, line, f"{module.layer} uses {name}")
        for line, name in mentions(module)
        if name in IMPURE_BUILTINS or name.split(".")[0] in IMPURE_MODULES
    ]


def pure_layers_know_no_clock(module: Module) -> list[str]:
    """A clock that is called, or handed on uncalled as a default factory."""
    if module.layer not in PURE:
        return []
    calls = [node.func for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    clocks = [(call.lineno, call.attr) for call in calls if isinstance(call, ast.Attribute)]
    clocks += [(line, name) for line, name in mentions(module) if name.startswith("datetime.")]
    return [
        found(module, line, f"{module.layer} asks the clock: {name}")
        for line, name in clocks
        if name.split(".")[-1] in CLOCKS
    ]


def only_faces_meet_the_outside(module: Module) -> list[str]:
    if module.layer in (*FACES, "__main__"):
        return []
    return [
        found(module, line, f"{name}: only faces read the environment, print or exit")
        for line, name in mentions(module)
        if name in OUTSIDE
    ]


def one_spawner(module: Module) -> list[str]:
    if module.path in SPAWNERS:
        return []
    return [
        found(module, line, f"{name}: processes are started by {SPAWNER} alone")
        for line, name in mentions(module)
        if name.split(".")[0] in SPAWNING_MODULES or name.startswith(SPAWNING_CALLS)
    ]


def only_the_store_reaches_into_the_ledger(module: Module) -> list[str]:
    """What the ledger works with is the store's own; everybody else asks the ledger."""
    if module.layer == "store":
        return []
    return [
        found(module, node.lineno, f"{ast.unparse(node)}: ask the ledger for it")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "context" and ast.unparse(node.value).endswith("ledger")
    ]


def names_say_something(module: Module) -> list[str]:
    empty = EMPTY_NAMES.intersection(module.dotted)
    return [found(module, 1, f"a module called {name!r} can hold anything") for name in sorted(empty)]


def modules_are_small(module: Module) -> list[str]:
    lines = len(module.text.splitlines())
    return [found(module, lines, f"{lines} lines, at most {MOST_LINES}")] if lines > MOST_LINES else []


Rule = Callable[[Module], list[str]]

# Each rule with (path, text) pairs that break it.
OFFENDERS: dict[Rule, list[tuple[str, str]]] = {
    layers_point_down: [
        ("errors.py", "from loopx_git.core import ids"),
        ("core/a.py", "import loopx_git.format.document"),
        ("core/a.py", "def f():\n    from ..store import base"),
        ("core/a.py", "from .. import client"),
        ("core/sub/a.py", "from ...format import version"),
        ("format/a.py", "from loopx_git.ledger import tree"),
        ("ledger/a.py", "from loopx_git.store import base"),
        ("core/a.py", "from loopx_git import LoopXClient"),
        ("store/a.py", "from loopx_git import __version__"),
        (
            "core/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from loopx_git.store import x",
        ),
        ("format/a.py", "import loopx_git\nloopx_git.store.open()"),
        ("store/a.py", "from loopx_git.client import LoopXClient"),
        ("store/a.py", "import importlib\nimportlib.import_module('loopx_git.cli.main')"),
        ("store/a.py", "from importlib import import_module\nimport_module('..cli', __package__)"),
        ("client/a.py", "from ..coverage import verdict"),
        ("coverage/a.py", "from ..guard import check"),
        ("guard/a.py", "from ..cli import output"),
        ("__init__.py", "from .cli import main"),
        ("__main__.py", "from .store import process"),
        ("elsewhere/a.py", ""),
    ],
    third_parties_stay_in_their_layer: [
        ("core/a.py", "import yaml"),
        ("format/a.py", "def f():\n    import pygit2"),
        ("client/a.py", "from pygit2 import Repository"),
        ("guard/a.py", "import click"),
        ("cli/a.py", "from git import Repo"),
        ("review/a.py", "import git"),
    ],
    pure_layers_do_no_io: [
        *(("core/a.py", f"import {name}") for name in sorted(IMPURE_MODULES)),
        ("core/a.py", "def f():\n    from pathlib import Path"),
        ("core/a.py", "open('x')"),
        ("format/a.py", "from time import time"),
    ],
    pure_layers_know_no_clock: [
        ("core/a.py", "import datetime\ndatetime.datetime.now()"),
        ("core/a.py", "import datetime as dt\nclock = dt.datetime.utcnow"),
        ("core/a.py", "from datetime import date\ndate.today()"),
        ("core/a.py", "from datetime import datetime as D\nf(default_factory=D.now)"),
        ("format/a.py", "from datetime import UTC, datetime\ndef f():\n    return datetime.now(UTC)"),
        ("core/a.py", "def f(clock):\n    return clock.now()"),
    ],
    only_faces_meet_the_outside: [
        ("client/a.py", "from os import environ as e"),
        ("client/a.py", "import os as o\no.getenv('HOME')"),
        ("store/a.py", "import os.path\nos.path.expanduser('~')"),
        ("store/a.py", "from pathlib import Path\nPath.home()"),
        ("store/process.py", "import os\nenvironment = dict(os.environ)"),
        ("client/a.py", "def f(say=print): ..."),
        ("client/a.py", "import sys\nsys.stderr.write('x')"),
        ("client/a.py", "import click\nclick.echo('x')"),
        ("client/a.py", "from sys import exit\nexit(1)"),
        ("client/a.py", "raise SystemExit(1)"),
        ("store/a.py", "import os\nos._exit(1)"),
        ("__init__.py", "import os\nos.environ"),
    ],
    one_spawner: [
        ("store/transport.py", "import subprocess"),
        ("cli/main.py", "def f():\n    from subprocess import run"),
        ("guard/a.py", "import os\nos.system('git status')"),
        ("cli/a.py", "from os import execvp"),
        ("client/a.py", "import asyncio\nasyncio.create_subprocess_exec('git')"),
    ],
    only_the_store_reaches_into_the_ledger: [
        ("client/a.py", "def f(ledger): return ledger.context.objects"),
        ("review/a.py", "def f(client):\n    context = client.connection.ledger.context"),
    ],
    names_say_something: [
        (path, "") for path in ("core/utils.py", "helpers.py", "cli/misc.py", "client/common/__init__.py")
    ],
    modules_are_small: [("core/a.py", "x = 1\n" * (MOST_LINES + 1))],
}

# What must pass: a rule that finds something everywhere proves as little as one that never does.
INNOCENT = [
    ("core/a.py", "from __future__ import annotations\nimport re\nimport pathspec"),
    ("core/a.py", "from ..errors import UsageError\nimport loopx_git.errors\nloopx_git.errors.UsageError"),
    ("core/a.py", "from datetime import datetime\ndef f(now: datetime): return now.isoformat()"),
    ("core/sub/a.py", "from ..ids import x\nfrom . import b\ndef select(): ...\nselect()"),
    ("format/a.py", "import yaml\nimport frontmatter\nfrom loopx_git.core import ids\nStatus.open"),
    ("store/a.py", "import fcntl\nimport os\nimport pygit2\nimport time\nos.open('x', 0)"),
    ("store/a.py", "from loopx_git.version import __version__\nsubprocess_timeout = 3\nf(subprocess_timeout)"),
    ("store/a.py", "def f(ledger): return ledger.context.objects"),
    ("client/a.py", "context = 1\ndef f(ledger): return ledger.objects"),
    ("store/process.py", "import subprocess\ndef f(env, input): subprocess.run([], env=env, input=input)"),
    ("client/a.py", "from ..store import base\nfrom ..core.plan import plan\nself.print('x')"),
    ("review/a.py", "import re\nfrom ..client import LoopXClient"),
    ("cli/a.py", "import os\nimport click\ndef f():\n    from ..guard import g\n    click.echo(os.environ)"),
    ("__main__.py", "import sys\nfrom .cli.main import run\nsys.exit(run())"),
    ("__init__.py", "from .errors import E\ndef __getattr__(name):\n    from .client import LoopXClient"),
    ("core/a.py", "x = 1\n" * MOST_LINES),
]

MODULES = [
    Module(path.relative_to(ROOT / PACKAGE).as_posix(), path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / PACKAGE).rglob("*.py"))
]


@pytest.mark.parametrize("rule", OFFENDERS, ids=lambda rule: rule.__name__)
def test_the_code_base_keeps_the_rule(rule: Rule) -> None:
    assert MODULES, "no module found: the walk looks in the wrong place"
    findings = [finding for module in MODULES for finding in rule(module)]
    assert not findings, "\n" + "\n".join(findings)


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        pytest.param(rule, *offender, id=f"{rule.__name__}-{number}")
        for rule, offenders in OFFENDERS.items()
        for number, offender in enumerate(offenders)
    ],
)
def test_the_rule_fires(rule: Rule, path: str, text: str) -> None:
    assert rule(Module(path, text))


@pytest.mark.parametrize(("path", "text"), INNOCENT)
def test_no_rule_fires_without_a_reason(path: str, text: str) -> None:
    assert [finding for rule in OFFENDERS for finding in rule(Module(path, text))] == []


def circles(modules: list[Module]) -> list[list[str]]:
    """Groups of modules that import each other, directly or by way of others; lazily or for type checkers counts."""
    paths = {".".join(module.dotted): module.path for module in modules}
    needs: dict[str, set[str]] = {}
    for module in modules:
        named = {name for _, name in imports(module)}
        found_here = {name if name in paths else name.rpartition(".")[0] for name in named}
        needs[".".join(module.dotted)] = (found_here & set(paths)) - {".".join(module.dotted)}
    reached: dict[str, set[str]] = {}
    for start in needs:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for name in needs[waiting.pop()] - seen:
                seen.add(name)
                waiting.append(name)
        reached[start] = seen
    groups = {
        tuple(sorted(paths[other] for other in reached[name] if name in reached[other]))
        for name in needs
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


def test_no_modules_import_each_other() -> None:
    assert circles(MODULES) == []


def test_the_circle_rule_fires() -> None:
    modules = [
        Module("core/a.py", "def f():\n    from loopx_git.core import b"),
        Module("core/b.py", "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from ..core.c import C"),
        Module("core/c.py", "from loopx_git.core.a import f\nfrom loopx_git.core.d import g"),
        Module("core/d.py", "import os"),
    ]
    assert circles(modules) == [["core/a.py", "core/b.py", "core/c.py"]]
    assert circles(modules[:2] + modules[3:]) == []


def repeated_classes(modules: list[Module]) -> dict[str, list[str]]:
    """Names of top-level classes that stand for more than one thing, with the modules that define them."""
    defined: dict[str, list[str]] = {}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(module.path)
    return {name: paths for name, paths in defined.items() if len(paths) > 1}


def test_a_class_name_has_one_meaning() -> None:
    assert repeated_classes(MODULES) == {}


def test_the_class_rule_fires() -> None:
    modules = [Module("core/a.py", "class A: ..."), Module("store/a.py", "class A: ...\nclass B: ...")]
    assert repeated_classes(modules) == {"A": ["core/a.py", "store/a.py"]}


def median_is_too_large(modules: list[Module]) -> bool:
    """Whether half of the modules are too long; empty ones (`__init__`) would only flatter."""
    sizes = [len(module.text.splitlines()) for module in modules if module.text.strip()]
    return statistics.median(sizes) > MEDIAN_LINES


def test_the_median_module_is_small() -> None:
    assert not median_is_too_large(MODULES)


def test_the_median_rule_fires() -> None:
    long, short, empty = (Module("core/a.py", "x = 1\n" * lines) for lines in (MEDIAN_LINES + 1, 5, 0))
    assert median_is_too_large([long, long, short, empty, empty])
    assert not median_is_too_large([long, short, short])


def heavy_imports(statement: str) -> set[str]:
    """Which heavy packages a fresh interpreter imports to run `statement`."""
    command = [sys.executable, "-X", "importtime", "-c", statement]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    loaded = (line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line)
    return {name.split(".")[0] for name in loaded} & HEAVY


def test_the_command_line_starts_without_heavy_imports() -> None:
    if not (ROOT / PACKAGE / "cli" / "main.py").exists():
        pytest.skip("there is no command line yet")
    assert heavy_imports(f"import {PACKAGE}.cli.main") == set()


def test_the_import_rule_fires() -> None:
    assert heavy_imports("import yaml, pathspec.util") == {"yaml", "pathspec"}
