# make run: a server on port 7000. make test: all tests. make check: what every change must pass.
CHECKED = --explicit-target-dependency-import-check error
LIBRARIES = libsqlite3-dev libxml2 libzstd-dev pkg-config

.PHONY: setup build build-release test simulate chaos bench bench-check lint format check deb test-deb run clean

build: setup
	swift build $(CHECKED)

build-release: setup
	swift build -c release $(CHECKED)

test: setup
	swift build --build-tests $(CHECKED) && swift test $(CHECKED) --no-parallel

# One seeded run of the whole core with slow, dropping and returning clients: make simulate SEED=7 STEPS=2000
simulate: setup
	NEST_SEED=$(or $(SEED),1) NEST_STEPS=$(or $(STEPS),1000) swift test $(CHECKED) --filter SimulationTests

# A real server under kill -9 and bad networks, every promise checked: make chaos SEED=7 SECONDS=60
chaos: setup
	NEST_CHAOS_SEED=$(SEED) NEST_CHAOS_SECONDS=$(or $(SECONDS),60) swift test $(CHECKED) --no-parallel \
	    --filter everyPromiseIsKept

bench: build-release
	.build/release/nestbench all

# Instructions of a commit, which a busy machine does not change, against those counted last.
bench-check: setup
	bench/Count/check

lint:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests bench Examples

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests bench Examples

check: lint test

# A Debian package below .build/deb, and its trial in a clean Debian (root, debootstrap and a mirror are needed).
deb: setup
	deploy/package

test-deb: setup
	deploy/test-package "$$(deploy/package)"

run: build-release
	mkdir -p data && exec .build/release/nestd --port 7000 --store data/nest.sqlite

clean:
	rm -rf .build

# The system's libraries: installed when root, otherwise the one command to run is printed.
setup:
	@missing=$$(for name in $(LIBRARIES); do dpkg -s $$name >/dev/null 2>&1 || echo $$name; done | xargs); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then apt-get update && apt-get install -y --no-install-recommends $$missing; \
	else echo "libraries are missing; run: sudo apt-get install -y $$missing" >&2; exit 1; fi
