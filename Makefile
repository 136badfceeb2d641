# Everything runs in .venv, made by uv where it is there, else by Python itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test check style types tests browser clients hunt packages constraints bench docs pictures clean

run: $(VENV)/.installed
	$(BIN)/anamnesis daemon

test: check tests

# mypy needs one processor for most of a minute; the others go on beside it.
check: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory --jobs=2 --output-sync style types

style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types:
	$(BIN)/mypy

tests: $(VENV)/.installed-dev browser
	$(BIN)/pytest -n auto

# The tests of the dashboard need Chromium; where packages may be installed, it is.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } \
	|| { echo "Install Chromium for the tests of the dashboard."; exit 1; }

# The real clients, from the package registries (over a gigabyte), against a stand-in model on loopback.
# HOSTS="claude codex" plays only these; LATEST=1 plays the newest versions; RECORD=1 writes tests/clients/last-run.json.
clients: $(VENV)/.installed-dev
	$(BIN)/python -m tests.clients.play $(HOSTS) $(if $(LATEST),--latest) $(if $(RECORD),--record)

# Random examples, again and again, until one fails. `make test` has the same tests, with fixed examples, and shorter:
# eight processes write 100 notes each instead of 500 (tests/store/test_processes.py), and the machines of the random run
# do 200 things instead of 2,000, always the same ones (tests/hub_client/test_random_runs.py).
hunt: $(VENV)/.installed-dev
	while $(BIN)/pytest -n auto --hypothesis-profile=hunt; do :; done

docs: $(VENV)/.installed-dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/recording.py
	$(BIN)/python docs/picture.py

# The pictures of the dashboard in the README. Each run takes others: they show how old notes are.
pictures: $(VENV)/.installed-dev browser
	$(BIN)/python docs/screenshots.py

# The packages, installed and tried with every Python that is there.
packages: $(VENV)/.installed-dev
	$(BIN)/python -m tools.packages

# The exact versions, with hashes, that the hub's image installs; again after a change of pyproject.toml.
constraints: $(VENV)/.installed-dev
	$(BIN)/python -m tools.constraints

bench: $(VENV)/.installed
	$(BIN)/python -m bench
	$(BIN)/python -m bench.starts --record
	$(BIN)/python -m bench.dashboard --record

clean:
	rm -rf $(VENV) .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Anamnesis needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	@if command -v uv >/dev/null; then uv venv --quiet --allow-existing --python $(PYTHON) $(VENV); else $(PYTHON) -m venv $(VENV); fi
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@if command -v uv >/dev/null; then uv pip install --quiet --python $(BIN)/python -e .; else $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .; fi
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml
	@if command -v uv >/dev/null; then uv pip install --quiet --python $(BIN)/python -e '.[dev]'; else $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; fi
	@touch $@ $(VENV)/.installed
