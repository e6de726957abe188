# Every target works alone from a fresh clone: it needs Python 3.11+, git, make and a package index.
# All that is installed lives in .venv. Stamp files in there say what is set up, so that the set-up runs
# again only when pyproject.toml changes, when the clone was moved or copied, or when its Python is gone.
#
# Paths are relative and tools run as `python -m`: both survive a clone whose path contains spaces or is
# too long for a script's first line. Recipes are POSIX sh; the syntax stays within GNU make 3.81.

PYTHON ?=
ARGS ?=
export PYTHON

PY = .venv/bin/python
PIP = $(PY) -m pip --quiet --disable-pip-version-check --no-input

# Two targets of one `make -j` must not install into one .venv at the same time.
.NOTPARALLEL:
.PHONY: help venv demo pages test soak browser wheel lint bench clean FORCE

help: ## show this list (PYTHON=... picks an interpreter, ARGS="..." is handed to pytest)
	@sed -n 's/^\([a-z]*\):.*## \(.*\)$$/  make \1	\2/p' Makefile

venv: .venv/stamp-package .venv/stamp-test .venv/stamp-lint ## set up everything for working on the code

demo: .venv/stamp-package ## let several agents race for todos in throw-away repositories
	@$(PY) -m loopx_git demo

# Many tests wait for processes and for time to pass: a third worker keeps two cores busy.
test: .venv/stamp-test ## run the tests, without soak and browser
	$(PY) -m pytest -n 3 -m "not soak and not browser" $(ARGS)

soak: .venv/stamp-test ## run the large races and the long runs
	$(PY) -m pytest -m soak $(ARGS)

# pytest ends with 5 when it selected no test at all: that is no failure here.
browser: .venv/stamp-test ## run the tests that need Chromium
	@$(PY) -m pytest -m browser $(ARGS) || { \
		status=$$?; \
		test "$$status" -eq 5 || exit "$$status"; \
		echo "No browser tests."; \
	}

wheel: .venv/stamp-package ## build the wheel, install it into a scratch environment, and use it
	@$(PY) tools/try_wheel.py

pages: .venv/stamp-package ## make the pages of docs/ that are made from the program
	$(PY) tools/commands_page.py > docs/cli.md
	$(PY) tools/python_page.py > docs/python.md
	$(PY) tools/rules_page.py > docs/rules.md
	$(PY) tools/guard_page.py docs/guard.md

lint: .venv/stamp-lint ## check style, format and types
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

bench: .venv/stamp-package ## measure, and print ratios
	@$(PY) benchmarks/run.py

clean: ## remove .venv and everything else that the targets made
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
	find loopx_git tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# --- set-up ---

.venv/stamp-package: pyproject.toml .venv/made-in
	@echo "==> installing loopx-git into .venv"
	@$(PIP) install -e .
	@touch $@

# --group needs pip 25.1, and the one that comes with the interpreter may be older.
.venv/stamp-test: .venv/stamp-package
	@echo "==> installing what the tests need"
	@$(PIP) install "pip>=25.1"
	@$(PIP) install --group test
	@touch $@

.venv/stamp-lint: .venv/stamp-package
	@echo "==> installing what the checks need"
	@$(PIP) install "pip>=25.1"
	@$(PIP) install --group lint
	@touch $@

# Looked at in every run, touched only when there is something to do. An editable install names its folder,
# so a moved or copied .venv would run another clone's code: it is made anew, as is one whose Python is
# gone or too old. A sound .venv that somebody else made here is taken over.
.venv/made-in: FORCE
	@here=$$(pwd -P); \
	if $(PY) -c "import pip, sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null; then \
		test -f $@ || printf '%s\n' "$$here" > $@; \
		test "$$(cat $@)" != "$$here" || exit 0; \
	fi; \
	set -- python3.13 python3.12 python3.11 python3 python; \
	if test -n "$$PYTHON"; then set -- "$$PYTHON"; fi; \
	found=; \
	for candidate do \
		if "$$candidate" -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))" 2>/dev/null; \
		then found=$$candidate; break; fi; \
	done; \
	if test -z "$$found"; then \
		echo "make: no Python 3.11 or newer with its venv module found; tried: $$*" >&2; \
		echo "make: install one (Debian and Ubuntu: python3 and python3-venv)," >&2; \
		echo "make: or name it: make PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	echo "==> making .venv with $$found ($$("$$found" -c "import platform; print(platform.python_version())"))"; \
	"$$found" -m venv --clear .venv && printf '%s\n' "$$here" > $@

FORCE:
