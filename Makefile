# Two commands are all it takes: `make run` and `make test`. The rest is what they are made of.

TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
NPM_READY := tests/node_modules/.package-lock.json
PRETTIER_FILES := extension mcp-client/runner tests fixtures
NODE_TEST := node --test --test-timeout=240000

.PHONY: run build test bench check-rust check-extension test-rust test-node chromium clean

## Builds Tabwire, and starts the relay and a browser with the extension.
run: build
	@command -v npm >/dev/null && $(TARGET)/release/tabwire mcp --install || echo "== without npm, agents cannot run code yet: see README, For agents"
	$(TARGET)/release/tabwire up

build:
	@echo "== building (the first time takes a minute or two)"
	cargo build --release --package tabwire

## Installs what the tests need, and runs all of them.
test: chromium
	@$(MAKE) --no-print-directory --jobs=2 check-extension check-rust # the one waits for the network first
	@$(MAKE) --no-print-directory test-rust test-node
	@echo "== all tests passed"

check-rust:
	@echo "== format and lints"
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

check-extension: $(NPM_READY)
	@echo "== types of the extension and the runner"
	cd tests && ./node_modules/.bin/tsc --project . && ./node_modules/.bin/tsc --project tsconfig.runner.json
	tests/node_modules/.bin/prettier --log-level warn --check $(PRETTIER_FILES)

test-rust:
	@echo "== core, relay, and the relay as a process"
	cargo test --workspace --quiet

test-node: chromium $(NPM_READY)
	@echo "== extension, and the whole chain with a real Chromium"
	cargo build --package tabwire --quiet
	cd tests && $(NODE_TEST) --test-concurrency=1 extension/*.test.mjs protocol/*.test.mjs chain/*.test.mjs
	@echo "== the popup, every operation beside Chromium's own port, and the MCP server with a real agent's client"
	cd tests && $(NODE_TEST) --test-concurrency=2 parity/*.test.mjs mcp/*.test.mjs popup/*.test.mjs

## Measures, and compares with a bare pipe and with Chromium's own port.
bench: chromium $(NPM_READY) build
	cargo run --release --quiet --package tabwire-tests --bin bench-relay
	TABWIRE_BIN=$(TARGET)/release/tabwire node tests/bench/chain.mjs
	TABWIRE_BIN=$(TARGET)/release/tabwire node tests/bench/dormant.mjs
	TABWIRE_BIN=$(TARGET)/release/tabwire node tests/bench/mcp.mjs

$(NPM_READY): tests/package.json tests/package-lock.json
	@echo "== npm packages of the tests"
	cd tests && npm ci --no-fund --no-audit
	@touch $@

# Debian's Chromium is what the tests are written against. Nothing is installed where it is there already.
chromium:
	@if [ -n "$$CHROMIUM" ] || command -v chromium >/dev/null || [ -x /Applications/Chromium.app/Contents/MacOS/Chromium ]; then exit 0; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "== installing Chromium"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-liberation; \
	else echo "The tests need Chromium: install it with 'sudo apt-get install chromium' or 'brew install --cask chromium', or set CHROMIUM to its path."; exit 1; fi

clean:
	cargo clean
	rm -rf tests/node_modules
