# make run: a server on port 7000, and for browsers on port 7080. make test: all tests. make test-unit: the tests that take seconds.
# make test-one NAME=...: one test or suite. make check: the checks that every change must pass.
# Without colours a build for a file or a pipe is the same as one for a terminal: nothing is built twice.
# Without debug information, which costs a seventh of the time; names of functions stay in the programs. For a debugger:
# make build DEBUG_INFO=dwarf, which builds everything again, as a plain `swift build` does. The index, in which SwiftPM
# looks for tests of XCTest, leaves out what the toolchain brings: another seventh.
DEBUG_INFO = none
CHECKED = -debug-info-format $(DEBUG_INFO) --explicit-target-dependency-import-check error --no-color-diagnostics
DEBUG = $(CHECKED) -Xswiftc -index-ignore-system-modules
LIBRARIES = libjemalloc-dev libpq-dev libre2-dev libsqlite3-dev libssl-dev libxml2-dev libzstd-dev pkg-config
# For tests only: strace makes the disk of a running server fail, tmux runs full-screen programs, PostgreSQL has the
# log of a cluster. Without them those tests are skipped and report that.
TOOLS = strace tmux

.PHONY: beside bench-adopt consumer setup tools web-tools build build-release test test-web test-js test-page test-python test-python-wire test-unit test-one test-commands test-apart build-tests simulate chaos soak cluster cluster-kills fuzz meaning asan tsan bench bench-check bench-peers report test-report lint format check deb test-deb run install picture page-pictures page-frames page-heap page-latency page-writes documentation clean

build: setup
	swift build $(DEBUG) $(if $(TARGET),--target $(TARGET))

RELEASE = swift build -c release $(CHECKED)

# The two programs and what they need, not the tests, benches and examples.
build-release: setup
	$(RELEASE) --product nestd
	$(RELEASE) --product nestc

build-tests: setup
	swift build --build-tests $(DEBUG)

RUN = swift test $(DEBUG) --skip-build --disable-xctest
# Suites with sockets or processes, whose tests run one after the other: those of commands beside all others, since both
# wait for processes most of the time.
APART = SocketTests|ProcessTests
COMMANDS = ProcessTests/[A-Za-z]*Commands?/|ProcessTests/(Browser|BrowserSections|Completions|EntityOutlines|ExamplePages|Hints|Pages|PrintLimits|ShownTexts)/
# Pure suites that take many seconds or much memory: long random histories, great depths, every fault at every step.
# Two of them run at a time, and all others in parallel.
LONG = SimulationTests|ResultsSimulationTests|UndoSimulationTests|LossHistoryTests|ModelHistoryTests|ScopeHistoryTests \
    |UndoLawTests|CascadeRunsTests|OrderTests|MeaningTests|HostileBytesTests|ApplyTests|FetchedResultsEventTests \
    |OutlineRoundTripTests|MarkedOutlineTests|OutlineFormatTests|DepthTests|UndoDepthTests|BulkMemoryTests|BackgroundReadTests|WorkBudgetTests \
    |OutlineHistoryTests|OverlayTests|OutlineScaleTests|TurnedBitTests|CrashStateTests|OpeningFaultTests|FaultLoopTests|EngineFaultTests|ClusterSimulationTests
empty =
space = $(empty) $(empty)
suites = \.($(subst $(space),,$(1)))/

test: build-tests tools test-report
	$(RUN) --skip '$(call suites,$(APART)|$(LONG))'
	$(RUN) --experimental-maximum-parallelization-width 2 --filter '$(call suites,$(LONG))'
	$(MAKE) --no-print-directory --jobs 4 test-commands test-apart $(BESIDE)

# The two halves of APART. `swift test` can run only once at a time in one folder, so the tests' program is started.
HALF = .build/debug/nestPackageTests.xctest --testing-library swift-testing --no-parallel
test-commands: build-tests
	$(HALF) --filter '$(COMMANDS)'

test-apart: build-tests
	$(HALF) --filter '$(call suites,$(APART))' --skip '$(COMMANDS)'

# All tests except those of APART and LONG, in parallel.
test-unit: build-tests
	$(RUN) --skip '$(call suites,$(APART)|$(LONG))'

# The JavaScript client: its checks in Node; then with nestd, through a proxy that breaks connections and kill -9; then
# in Chromium. Then the page, in Node and in Chromium. Prints what is skipped. A random run prints its seed:
# make test-web NEST_SEED=7 NEST_STEPS=2000; more rows: NEST_ROWS=1000000
test-web: test-js test-page
NODE_TESTS = @if command -v node >/dev/null; then echo node --test $(1); \
    node --test --test-reporter=spec $(foreach each,$(1),$(each)/*.test.js); fi

test-js: build-tests web-tools
	Clients/js/check
	$(call NODE_TESTS,Clients/js/test/live Clients/js/test/browser)

# The Python client: types, and its tests with nestd and nestc. Prints what is skipped. A random run prints its seed:
# make test-python NEST_SEED=7 NEST_STEPS=2000
test-python: build-tests python-tools
	Clients/python/check

# Its tests that start no server: types, the wire with all vectors, and the machine. `make check` also runs some of those
# that do: the programs of documents, generated types, other models, and the random run with kills and cuts.
PYTHON_BESIDE = readme clients_page types models random
PYTHON_ALONE = calls connections damage feeds package subscriptions vectors
test-python-wire: python-tools
	Clients/python/check $(addprefix tests.test_,$(PYTHON_ALONE))

# Types, packages and compressed frames are tested with these.
python-tools:
	@missing=$$(for name in mypy python3-hatchling python3-venv python3-zstandard; do \
	    dpkg-query -W -f '$${db:Status-Status}' $$name 2>/dev/null | grep -qx installed || echo $$name; done | xargs); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then apt-get update && apt-get install -y --no-install-recommends $$missing || true; \
	else echo "some tests are skipped without: sudo apt-get install -y $$missing" >&2; fi

test-page: build-tests web-tools
	$(call NODE_TESTS,Page/test Page/test/browser)

# One test or suite, or all whose names contain this: make test-one NAME=undoAndRedoOfAllIsTheIdentity
test-one: build-tests
	@if [ -z "$(NAME)" ]; then echo "which test? make test-one NAME=undoAndRedoOfAllIsTheIdentity" >&2; exit 2; fi
	@swift test list $(DEBUG) --skip-build | grep -E '$(NAME)' \
	    || { echo "no test is named $(NAME)" >&2; exit 1; }
	$(RUN) --no-parallel --filter '$(NAME)'

# One seeded run of the whole core with slow, disconnecting and returning clients: make simulate SEED=7 STEPS=2000
simulate: setup
	NEST_SEED=$(or $(SEED),1) NEST_STEPS=$(or $(STEPS),1000) swift test $(DEBUG) --filter 'SimulationTests|OverlayTests'

# Checks every promise of a real server under kill -9 and bad networks: make chaos SEED=7 SECONDS=60. Of a cluster, which
# needs PostgreSQL: make chaos NODES=3 MINUTES=10
chaos: setup
	NEST_CHAOS_SEED=$(SEED) NEST_CHAOS_NODES=$(or $(NODES),1) \
	    NEST_CHAOS_SECONDS=$(if $(MINUTES),$$(( $(MINUTES) * 60 )),$(or $(SECONDS),60)) \
	    swift test $(DEBUG) --no-parallel --filter everyPromiseIsKept

# A long chaos run, and then a run of the same length that watches memory and descriptors: make soak MINUTES=60.
# The history is checked in pieces of half a minute, which takes about as long again.
soak: setup
	NEST_CHAOS_SEED=$(SEED) NEST_CHAOS_NODES=1 NEST_CHAOS_SECONDS=$$(( $(or $(MINUTES),10) * 60 )) NEST_SOAK=1 swift test $(DEBUG) --no-parallel \
	    --filter 'everyPromiseIsKept|memoryAndDescriptorsDoNotGrow'

# Kills nodes of a cluster under load, again and again; needs PostgreSQL: make cluster-kills KILLS=100
cluster-kills: setup
	NEST_CLUSTER_KILLS=$(or $(KILLS),20) swift test $(DEBUG) --no-parallel --filter 'ClusterKills|ClusterOptimisticTests'

# libFuzzer with AddressSanitizer; findings go to .build/fuzz/findings: make fuzz TARGET=bodies SECONDS=300
# Without TARGET, fuzzes all targets in turn. Merge inputs that are worth keeping into Tests/Fixtures/Corpus.
# swiftc uses only the last -sanitize=, so that one names both sanitizers.
FUZZ = NEST_FUZZ=1 swift build --scratch-path .build/fuzz --product nestfuzz --sanitize=address -Xswiftc -sanitize=fuzzer,address
TARGETS = frames conversation websocket bodies value fetch predicate chunk transaction meaning opml md org taskpaper workflowy dynalist text json jsonl csv model
fuzz: setup
	$(FUZZ)
	@mkdir -p .build/fuzz/findings; for target in $(or $(TARGET),$(TARGETS)); do \
	    corpus=Tests/Fixtures/Corpus/$$target; grown=.build/fuzz/corpus/$$target; mkdir -p $$grown; \
	    echo "== $$target"; export NEST_FUZZ_TARGET=$$target SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0; \
	    .build/fuzz/debug/nestfuzz -max_total_time=$(or $(SECONDS),60) -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
	        -artifact_prefix=.build/fuzz/findings/$$target- -print_final_stats=1 $$grown $$corpus 2>.build/fuzz/$$target.log; \
	    status=$$?; grep -E 'ERROR|Fatal|stat::number_of_executed' .build/fuzz/$$target.log; [ $$status = 0 ] || exit $$status; \
	done

# Random requests on random models, in a release build: make meaning SEEDS=20000 FIRST=0 REQUESTS=500
meaning: setup
	NEST_FUZZ=1 $(RELEASE) --product nestmeaning
	.build/release/nestmeaning --first $(or $(FIRST),0) --seeds $(or $(SEEDS),1000) --requests $(or $(REQUESTS),500)

# With findings, a sanitizer ends the run with its own status even if all tests passed. The findings are in .build/asan
# and .build/tsan, as report.PID. Skips tests of very deep outlines: they would take most of the time and find nothing.
SANITIZED = SWIFT_BACKTRACE=enable=no swift test --no-parallel --skip 'deepOutlinesNeedNoDeepStack|chainsOfParentsNeedNoDeepStack'

# AddressSanitizer over all code that reads bytes from outside, and over a seeded run of the whole core.
asan: setup
	rm -f .build/asan/report.*
	ASAN_OPTIONS=detect_leaks=0:log_path=.build/asan/report $(SANITIZED) --scratch-path .build/asan --sanitize=address \
	    --filter 'FuzzTests|NestMeaningTests|NestProtocolTests|NestDocumentsTests|NestServerTests|NestClientTests|^NestEngineTests.SimulationTests'
	! cat .build/asan/report.* 2>/dev/null

# ThreadSanitizer over the code that runs on several threads: server and client in one process, sockets, background
# reads, proxies, the formats' threads, logs and metrics.
tsan: setup
	rm -f .build/tsan/report.*
	TSAN_OPTIONS=suppressions=.tsan-suppressions:log_path=.build/tsan/report $(SANITIZED) --scratch-path .build/tsan \
	    --sanitize=thread --filter 'NestServerTests|NestClientTests|NestCacheTests|NestDocumentsTests|NestOperationsTests|^ChaosTests\.'
	! cat .build/tsan/report.* 2>/dev/null

# Builds packages outside this one against the product NestClient, as a user's package would be, and runs the Swift
# programs of docs/clients.md.
consumer: build-tests
	Tests/Consumer/check $(DEBUG)

bench: build-release
	$(RELEASE) --product nestbench
	.build/release/nestbench all

# Compares the instructions of a commit, which do not depend on the machine's load, with the last count.
bench-check: setup
	bench/Count/check

# Adopts a store of Core Data with a million objects: make bench-adopt OBJECTS=4000000
bench-adopt: setup
	$(RELEASE) --product nestd
	bench/Adopt/run $(OBJECTS)

# Compares nest with Redis, NATS, etcd, PostgreSQL and gRPC-swift in a quarter of an hour. A short run:
# make bench-peers PEERS='notify --subscribers 100 --rounds 1 --seconds 0.5'
bench-peers: setup
	bench/Peers/install
	$(RELEASE) --product nestd
	$(RELEASE) --product nestpeers
	swift build -c release --package-path bench/Peers/gRPC --scratch-path .build/grpc
	$(if $(PEERS),.build/release/nestpeers $(PEERS),bench/report/measure peers)

# Makes the page and the plots of the last measurements. To measure again: bench/report/measure
report:
	@command -v gnuplot >/dev/null || if [ "$$(id -u)" = 0 ]; then apt-get install -y --no-install-recommends gnuplot-nox; \
	else echo "gnuplot is missing; run: sudo apt-get install -y gnuplot-nox" >&2; exit 1; fi
	@command -v python3 >/dev/null || { echo "python3 is missing" >&2; exit 1; }
	bench/report/report.py

test-report:
	@if command -v python3 >/dev/null; then python3 -B -m unittest discover -s bench/report; \
	else echo "the report is not tested: python3 is missing" >&2; fi

# The format of the code, and the words and the width of comments and documents.
lint:
	swift format lint --strict --recursive --parallel Package.swift Plugins Sources Tests bench Examples Fuzz
	.ci/words

format:
	swift format --in-place --recursive --parallel Package.swift Plugins Sources Tests bench Examples Fuzz

# Tests with processes and browsers wait much of the time. Meanwhile the rest is checked.
check: lint
	$(MAKE) --no-print-directory test BESIDE='test-page beside'

beside:
	$(MAKE) --no-print-directory documentation
	$(MAKE) --no-print-directory test-js
	$(MAKE) --no-print-directory python-tools
	timeout 600 Clients/python/check $(addprefix tests.test_,$(PYTHON_ALONE) $(PYTHON_BESIDE))
	$(MAKE) --no-print-directory consumer

# The client library's reference, by DocC: .build/documentation/NestClient.doccarchive. A warning is an error.
# Symbols are read from the modules that are built: `swift package dump-symbol-graph` would compile them again. Those of
# the tools of plugins (`-tool`) are the same modules, built for this machine.
GRAPHS = .build/documentation/graphs
MODULES = -target $$(swiftc -print-target-info | sed -n 's/.*"triple": "\(.*\)",/\1/p' | head -n 1) -I .build/debug/Modules \
    $$(printf ' -Xcc -fmodule-map-file=%s' $$(ls .build/debug/*.build/module.modulemap | grep -v -e -tool.build) \
    .build/checkouts/*/Sources/*/include/module.modulemap Sources/*/module.modulemap)
documentation: build-tests
	rm -rf .build/documentation && mkdir -p $(GRAPHS)
	for module in NestClient NestModel; do swift-symbolgraph-extract -module-name $$module $(MODULES) \
	    -minimum-access-level public -skip-synthesized-members -output-dir $(GRAPHS) || exit; done
	rm $(GRAPHS)/*@*
	docc convert Sources/NestClient/NestClient.docc --additional-symbol-graph-dir $(GRAPHS) \
	    --output-path .build/documentation/NestClient.doccarchive --warnings-as-errors

# Builds a Debian package in .build/deb. test-deb tests it in a clean Debian (needs root, debootstrap and a mirror).
deb: setup
	deploy/package

test-deb: setup
	deploy/test-package "$$(deploy/package)"

run: build-release
	mkdir -p data && exec .build/release/nestd --port 7000 --store data/nest.sqlite --web 127.0.0.1:7080

# A cluster on this machine: PostgreSQL, installed if root runs this, and a nestd for each port. docs/cluster.md describes
# it: make cluster PORTS='7100 7101 7102' MODEL=model.json
cluster: build-release
	exec deploy/cluster .build/release/nestd $(or $(PORTS),7000 7001 7002)

# Installs both programs and their completions: make install PREFIX=$$HOME/.local. They need this machine's Swift; a
# package from `make deb` does not. Builds nothing: root may have no Swift.
PREFIX = /usr/local
INSTALLED = $(DESTDIR)$(PREFIX)
install:
	@test -x .build/release/nestc || { echo "nothing is built: run make build-release first" >&2; exit 1; }
	install -d $(INSTALLED)/bin $(INSTALLED)/share/bash-completion/completions \
	    $(INSTALLED)/share/zsh/site-functions $(INSTALLED)/share/fish/vendor_completions.d
	for program in nestd nestc; do \
	    install -m 0755 .build/release/$$program $(INSTALLED)/bin/ && complete=".build/release/$$program --generate-completion-script" && \
	    case $$program in nestc) complete=".build/release/nestc completion" ;; esac && \
	    $$complete bash >$(INSTALLED)/share/bash-completion/completions/$$program && \
	    $$complete zsh >$(INSTALLED)/share/zsh/site-functions/_$$program && \
	    $$complete fish >$(INSTALLED)/share/fish/vendor_completions.d/$$program.fish || exit 1; \
	done

# The picture of the README, recorded anew.
picture: build-release tools
	docs/picture/record.py

# The pictures of the page, taken anew with the programs in .build/debug.
page-pictures: build-tests web-tools
	Page/pictures/take.js

# How long frames take while one scrolls through an outline, 4 times slowed down: make page-frames ROWS=100000
page-frames: build-release web-tools
	NEST_BUILD=.build/release Page/bench/scroll.js $(or $(ROWS),1000000)

# What the page keeps in memory while one scrolls and types and others write: make page-heap MINUTES=2
page-heap: build-release web-tools
	NEST_BUILD=.build/release Page/bench/heap.js $(or $(ROWS),100000) $(or $(MINUTES),10)

# Two people who are 300 ms away, in a table and in an outline, by seed: make page-latency NEST_SEED=7
page-latency: build-tests web-tools
	node --test Page/test/browser/latency.test.js

# How long a write takes until the explorer's table, or the outline, shows it: make page-writes ROWS=200
page-writes: build-release web-tools
	NEST_BUILD=.build/release Page/bench/optimistic.js $(or $(ROWS),200)

clean:
	rm -rf .build

# Installs the system's libraries when run by root; otherwise prints the command to run.
setup:
	@missing=$$(for name in $(LIBRARIES); do dpkg-query -W -f '$${db:Status-Status}' $$name 2>/dev/null | grep -qx installed || echo $$name; done | xargs); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then apt-get update && apt-get install -y --no-install-recommends $$missing; \
	else echo "libraries are missing; run: sudo apt-get install -y $$missing" >&2; exit 1; fi

tools:
	@missing=$$(for name in $(TOOLS); do command -v $$name >/dev/null || echo $$name; done | xargs); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then apt-get install -y --no-install-recommends $$missing || true; \
	else echo "some tests are skipped without: sudo apt-get install -y $$missing" >&2; fi
	@deploy/install-postgresql || echo "without it the tests of clusters are skipped" >&2

# What make test-web needs, by program and Debian package, and axe-core. Node may come from elsewhere; 18 is enough.
web-tools:
	@missing=$$(for pair in node:nodejs chromium:chromium tsc:node-typescript firefox-esr:firefox-esr; do \
	    command -v $${pair%:*} >/dev/null || echo $${pair#*:}; done | xargs); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then apt-get update && apt-get install -y --no-install-recommends $$missing || true; \
	else echo "some tests are skipped without: sudo apt-get install -y $$missing" >&2; fi
	@Page/test/get-axe
