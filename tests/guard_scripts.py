"""How each operation of `guard_operations` is done by a script: prepared without hooks, then done with them."""

from __future__ import annotations

#: operation -> (what is prepared without hooks: `g` is git with none; what is done).
SCRIPTS: dict[str, tuple[str, str]] = {
    "commit": ("echo x >> src/a.py; git add src", "git commit -q -m work"),
    "commit -a": ("echo x >> src/a.py", "git commit -q -a -m work"),
    "commit path": ("echo x >> src/a.py; echo x >> docs/d.md; git add docs", "git commit -q -m work src/a.py"),
    "amend": (
        "echo x >> src/b.py; git add src; g commit -q -m before; echo x >> src/a.py; git add src",
        "git commit -q --amend --no-edit",
    ),
    "partial staging": (
        "sed -i.bak 's/^1$/one/' src/a.py; rm src/a.py.bak; git add src; echo later >> src/a.py",
        "git commit -q -m work",
    ),
    "merge": (
        "git checkout -q -b side; echo x >> src/b.py; g commit -q -a -m side; git checkout -q work;"
        " echo x >> src/a.py; g commit -q -a -m ours",
        "git merge -q --no-edit side",
    ),
    "merge conflict": (
        "git checkout -q -b side; echo theirs >> src/a.py; g commit -q -a -m side; git checkout -q work;"
        " echo ours >> src/a.py; g commit -q -a -m ours; g merge -q side || true; echo both > src/a.py; git add src",
        "git commit -q --no-edit",
    ),
    "squash merge": (
        "git checkout -q -b side; echo x >> src/b.py; g commit -q -a -m side; git checkout -q work;"
        " g merge -q --squash side",
        "git commit -q -m squashed",
    ),
    "pull": (
        "git checkout -q -b side; echo x >> src/b.py; g commit -q -a -m side; git checkout -q work;"
        " echo x >> src/a.py; g commit -q -a -m ours",
        "git pull -q --no-rebase --no-edit . side",
    ),
    "cherry-pick": (
        "git checkout -q -b side; echo x >> src/b.py; g commit -q -a -m side; git checkout -q work",
        "git cherry-pick side",
    ),
    "revert": ("echo x >> src/b.py; g commit -q -a -m wrong", "git revert --no-edit HEAD"),
    "rebase": (
        "git checkout -q -b side; echo x >> src/a.py; g commit -q -a -m side; git checkout -q work;"
        " echo x >> src/b.py; g commit -q -a -m ours",
        "git rebase -q side",
    ),
    "rebase conflict": (
        "git checkout -q -b side; echo theirs >> src/a.py; g commit -q -a -m side; git checkout -q work;"
        " echo ours >> src/a.py; g commit -q -a -m ours; g rebase -q side || true; echo both > src/a.py; git add src",
        "git rebase --continue",
    ),
    "commit -n": ("echo x >> src/a.py; git add src", "git commit -q -n -m work"),
    "am": (
        "echo x >> src/a.py; g commit -q -a -m mailed; git format-patch -q -1 --stdout > ../mail;"
        " g reset -q --hard HEAD~1",
        "git am -q ../mail",
    ),
    "stash": ("echo x >> src/a.py", "git stash -q"),
}  # fmt: skip
