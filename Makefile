# Everything a developer runs. `make help` lists the commands; CONTRIBUTING.md explains when to use them.

TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
BIN := tests/node_modules/.bin
NPM_READY := tests/node_modules/.package-lock.json
PYTHON_READY := $(TARGET)/python/ready
PRETTIER_FILES := extension mcp-client/runner tests fixtures examples
SUBMAKE := $(MAKE) --no-print-directory
PROOFS := relay/src/link/authenticate.rs
FUZZ_TARGETS := core_client core_extension handshake http_guard websocket_read websocket_write

.DEFAULT_GOAL := help
.PHONY: help run build fmt check test bench bench-agents chaos test-clients coverage fuzz fuzz-seeds cargo-fuzz mutants deny clean check-rust check-js test-core test-rust test-node chromium chromedriver python

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Build Tabwire, then start the relay and a browser with the extension
	@if command -v npm >/dev/null; then $(TARGET)/release/tabwire mcp --install; \
	else echo "==> npm is not installed, so agents cannot run code yet. See docs/clients.md."; fi
	$(TARGET)/release/tabwire up

build: ## Build the release binary
	@echo "==> Building Tabwire (a minute or two the first time)"
	cargo build --release --package tabwire

fmt: $(NPM_READY) ## Format all Rust and JavaScript
	cargo fmt --all
	$(BIN)/prettier --log-level warn --write $(PRETTIER_FILES)

check: ## Check formatting, lints and types, and test the core (under a minute when warm)
	@$(SUBMAKE) --jobs=2 check-js check-rust
	@$(SUBMAKE) test-core
	@echo "==> Checks passed. Run \`make test\` before you push."

# JavaScript and Python are downloaded while Rust compiles. Most tests wait for other processes most of the
# time, so both test suites run at once, and the tests of the crates compile meanwhile.
test: chromium ## Install what the tests need and run all of them (about 12 minutes on 2 cores)
	@$(SUBMAKE) --jobs=2 check-js check-rust python
	cargo build --package tabwire --quiet
	@$(SUBMAKE) --jobs=2 test-node test-rust
	@echo "==> All tests passed"

bench: chromium $(NPM_READY) build ## Measure speed and memory, compared with Chromium's own debugging port
	@echo "==> Benchmarking (a few minutes; close other programs)"
	cargo run --release --quiet --package tabwire-tests --bin bench-relay
	TABWIRE_BIN=$(TARGET)/release/tabwire node tests/bench/chain.mjs
	TABWIRE_BIN=$(TARGET)/release/tabwire node tests/bench/dormant.mjs
	TABWIRE_BIN=$(TARGET)/release/tabwire node tests/bench/mcp.mjs
	@# These two exit with 1 if a figure misses its target. Both run in any case.
	export TABWIRE_BIN=$(TARGET)/release/tabwire; node tests/bench/launch.mjs; missed=$$?; \
	node tests/bench/emulated.mjs && exit $$missed

bench-agents: chromium $(NPM_READY) build ## Compare the MCP server with two others, and write the tables of docs/agents.md
	TABWIRE_BIN=$(TARGET)/release/tabwire node tests/clients/agents/main.mjs --write

chaos: chromium cargo-fuzz $(NPM_READY) ## Cause faults over and over, and write the table of docs/reliability.md
	@echo "==> Causing faults: about 2 hours, one of them at random (TABWIRE_CHAOS_SECONDS=600 shortens that one)"
	cargo build --release --package tabwire --quiet
	@rm -f $(TARGET)/chaos.jsonl && touch $(TARGET)/chaos.jsonl
	@# The table is printed in any case, and written only if all tests have passed.
	cd tests && export TABWIRE_BIN=$(TARGET)/release/tabwire TABWIRE_CHAOS=full TABWIRE_CHAOS_REPORT=$(TARGET)/chaos.jsonl; \
	  node --test --test-concurrency=1 --test-timeout=5400000 chaos/*.test.mjs extension/malformed.test.mjs && write=--write; failed=$$?; \
	  node chaos/table.mjs $(TARGET)/chaos.jsonl $$write && exit $$failed

test-clients: chromium chromedriver python $(NPM_READY) ## Run every supported client, or those in CLIENTS, and write the table of docs/clients.md
	cargo build --package tabwire --quiet
	cd tests && node clients/battery/main.mjs $(CLIENTS)

coverage: ## Write the tables of docs/coverage.md: what the relay does with each method of CDP
	TABWIRE_WRITE_COVERAGE=1 cargo test --package tabwire-core --quiet coverage

fuzz: cargo-fuzz ## Fuzz the core and what parses bytes from sockets, one minute per target
	cd fuzz && for target in $(FUZZ_TARGETS); do mkdir -p corpus/$$target && \
	  RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none $$target corpus/$$target seeds/$$target -- -max_total_time=60 || exit 1; done

fuzz-seeds: cargo-fuzz ## Add to fuzz/seeds what fuzzing has found, as few inputs as reach the same code
	cd fuzz && for target in $(FUZZ_TARGETS); do \
	  RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none $$target seeds/$$target corpus/$$target -- -merge=1 || exit 1; done

mutants: ## Check that the tests notice each change to the code that admits clients and browsers (an hour)
	@cargo mutants --version >/dev/null 2>&1 || { echo "cargo-mutants is not installed. Run \`cargo install --locked cargo-mutants\`, then try again."; exit 1; }
	cargo mutants --package tabwire --package tabwire-home --exclude $(PROOFS) --cargo-test-arg=--lib --cargo-test-arg=--bins
	@# Only the relay as a process has a socket with an extension at its other end.
	cargo mutants --no-config --package tabwire --file $(PROOFS) --test-package tabwire-tests --minimum-test-timeout 120 -- --test relay -- proofs:: slots:: pairing::browsers_are

deny: ## Check licenses, sources and known vulnerabilities of the Rust dependencies
	@if cargo deny --version >/dev/null 2>&1; then cargo deny check; \
	else echo "cargo-deny is not installed. Run \`cargo install --locked cargo-deny\`, then try again."; exit 1; fi

clean: ## Remove everything that was built or installed
	cargo clean
	rm -rf tests/node_modules tests/clients/battery/packages/*/node_modules

# ---- the parts of check and test ----

check-rust:
	@echo "==> Checking Rust formatting and lints"
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

check-js: $(NPM_READY)
	@echo "==> Checking JavaScript formatting and types"
	$(BIN)/prettier --log-level warn --check $(PRETTIER_FILES)
	@for config in tests/tsconfig*.json; do echo "tsc --project $$config"; $(BIN)/tsc --project $$config || exit 1; done

test-core:
	@echo "==> Testing the core"
	cargo test --package tabwire-core --quiet
	cargo test --package tabwire-tests --test house --quiet

test-rust:
	@echo "==> Testing the crates, and the relay as a process"
	nice cargo test --workspace --quiet --no-run
	RUST_TEST_THREADS=6 cargo test --workspace --quiet

test-node: chromium python $(NPM_READY)
	@echo "==> Testing the extension, and the whole chain with a real Chromium"
	cargo build --package tabwire --quiet
	cd tests && node --test --test-timeout=240000 --test-concurrency=3 */*.test.mjs

# ---- what they need ----

$(NPM_READY): tests/package.json tests/package-lock.json
	@echo "==> Installing npm packages for the tests"
	cd tests && npm ci --no-fund --no-audit --loglevel=error
	@touch $@

# The tests are written against Debian's Chromium. An installed one is used as it is.
chromium:
	@if [ -n "$$CHROMIUM" ] || command -v chromium >/dev/null || [ -x /Applications/Chromium.app/Contents/MacOS/Chromium ]; then exit 0; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "==> Installing Chromium"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-liberation; \
	else echo "The tests need Chromium. Run \`sudo apt-get install chromium\` or \`brew install --cask chromium\`, or set CHROMIUM to its path."; exit 1; fi

cargo-fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || { echo "cargo-fuzz is not installed. Run \`cargo install --locked cargo-fuzz\`, then try again."; exit 1; }

# Only Selenium needs this.
chromedriver:
	@if command -v chromedriver >/dev/null; then exit 0; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "==> Installing chromedriver"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium-driver; \
	else echo "Selenium needs chromedriver. Run \`sudo apt-get install chromium-driver\` or \`brew install chromedriver\`."; exit 1; fi

# Only the Python example needs this. Without Python its test is skipped.
python:
	@$(SUBMAKE) --silent $(PYTHON_READY) || echo "==> Python with venv is not available, so the test of the Python example is skipped."

$(PYTHON_READY): examples/requirements.txt
	@echo "==> Installing Playwright for Python"
	@python3 -c 'import ensurepip' 2>/dev/null || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv; }
	@rm -rf $(@D) && python3 -m venv $(@D) && $(@D)/bin/pip install --quiet --no-compile --disable-pip-version-check --requirement $<
	@touch $@
