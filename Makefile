# make run: a server on port 7000. make test: all tests. make test-unit: those that take seconds. make test-one NAME=...: one test
# or suite. make check: what every change must pass.
CHECKED = --explicit-target-dependency-import-check error
LIBRARIES = libsqlite3-dev libssl-dev libxml2-dev libzstd-dev pkg-config
# For tests alone: lets the disk of a running server fail. Without it those tests are skipped, and say so.
TOOLS = strace

.PHONY: consumer setup tools build build-release test test-unit test-one build-tests simulate chaos soak fuzz meaning asan tsan bench bench-check bench-peers report test-report lint format check deb test-deb run clean

build: setup
	swift build $(CHECKED)

# Without debug information, which costs a seventh of the time; names of functions stay in the programs.
RELEASE = swift build -c release -debug-info-format none $(CHECKED)

# The two programs and what they need, not the tests, benches and examples.
build-release: setup
	$(RELEASE) --product nestd
	$(RELEASE) --product nestc

build-tests: setup
	swift build --build-tests $(CHECKED)

RUN = swift test $(CHECKED) --skip-build --disable-xctest
# Suites with sockets or processes, whose tests run one after the other.
APART = SocketTests|ProcessTests
# Pure suites that take many seconds or much memory: long random histories, great depths, every fault at every step.
# All others run in parallel.
LONG = SimulationTests|ResultsSimulationTests|UndoSimulationTests|LossHistoryTests|ModelHistoryTests|ScopeHistoryTests \
    |UndoLawTests|CascadeRunsTests|OrderTests|MeaningTests|HostileBytesTests|ApplyTests|FetchedResultsEventTests \
    |OutlineRoundTripTests|OutlineFormatTests|DepthTests|UndoDepthTests|BulkMemoryTests|BackgroundReadTests|WorkBudgetTests \
    |TurnedBitTests|CrashStateTests|OpeningFaultTests|FaultLoopTests|EngineFaultTests
empty =
space = $(empty) $(empty)
suites = \.($(subst $(space),,$(1)))/

test: build-tests tools test-report
	$(RUN) --skip '$(call suites,$(APART)|$(LONG))'
	$(RUN) --no-parallel --filter '$(call suites,$(APART)|$(LONG))'

# All tests that are neither apart nor long, in parallel.
test-unit: build-tests
	$(RUN) --skip '$(call suites,$(APART)|$(LONG))'

# One test or suite, or all whose names contain this: make test-one NAME=undoAndRedoOfAllIsTheIdentity
test-one: build-tests
	@if [ -z "$(NAME)" ]; then echo "which test? make test-one NAME=undoAndRedoOfAllIsTheIdentity" >&2; exit 2; fi
	@swift test list $(CHECKED) --skip-build | grep -E '$(NAME)' \
	    || { echo "no test is named $(NAME)" >&2; exit 1; }
	$(RUN) --no-parallel --filter '$(NAME)'

# One seeded run of the whole core with slow, dropping and returning clients: make simulate SEED=7 STEPS=2000
simulate: setup
	NEST_SEED=$(or $(SEED),1) NEST_STEPS=$(or $(STEPS),1000) swift test $(CHECKED) --filter SimulationTests

# A real server under kill -9 and bad networks, every promise checked: make chaos SEED=7 SECONDS=60
chaos: setup
	NEST_CHAOS_SEED=$(SEED) NEST_CHAOS_SECONDS=$(or $(SECONDS),60) swift test $(CHECKED) --no-parallel \
	    --filter everyPromiseIsKept

# The same for long, and then memory and descriptors watched for as long: make soak MINUTES=60. The history is checked in pieces of half
# a minute, which takes about as long again.
soak: setup
	NEST_CHAOS_SEED=$(SEED) NEST_CHAOS_SECONDS=$$(( $(or $(MINUTES),10) * 60 )) NEST_SOAK=1 swift test $(CHECKED) --no-parallel \
	    --filter 'everyPromiseIsKept|memoryAndDescriptorsDoNotGrow'

# libFuzzer with AddressSanitizer; findings go to .build/fuzz/findings: make fuzz TARGET=bodies SECONDS=300
# Without TARGET each has its turn. What is found worth keeping is merged into Tests/Fixtures/Corpus.
# Of several -sanitize= swiftc heeds the last, so it names both.
FUZZ = NEST_FUZZ=1 swift build --scratch-path .build/fuzz --product nestfuzz --sanitize=address -Xswiftc -sanitize=fuzzer,address
TARGETS = frames conversation bodies value fetch predicate chunk transaction meaning opml md text json jsonl csv model
fuzz: setup
	$(FUZZ)
	@mkdir -p .build/fuzz/findings; for target in $(or $(TARGET),$(TARGETS)); do \
	    corpus=Tests/Fixtures/Corpus/$$target; grown=.build/fuzz/corpus/$$target; mkdir -p $$grown; \
	    echo "== $$target"; export NEST_FUZZ_TARGET=$$target SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0; \
	    .build/fuzz/debug/nestfuzz -max_total_time=$(or $(SECONDS),60) -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
	        -artifact_prefix=.build/fuzz/findings/$$target- -print_final_stats=1 $$grown $$corpus 2>.build/fuzz/$$target.log; \
	    status=$$?; grep -E 'ERROR|Fatal|stat::number_of_executed' .build/fuzz/$$target.log; [ $$status = 0 ] || exit $$status; \
	done

# Random requests of random models, optimised, for as long as one likes: make meaning SEEDS=20000 FIRST=0 REQUESTS=500
meaning: setup
	NEST_FUZZ=1 $(RELEASE) --product nestmeaning
	.build/release/nestmeaning --first $(or $(FIRST),0) --seeds $(or $(SEEDS),1000) --requests $(or $(REQUESTS),500)

# The sanitizers end a run that was clean so far with a status of their own: findings in .build/asan and .build/tsan, as report.PID.
# Tests of very deep outlines, which say nothing here, would take most of the time.
SANITIZED = SWIFT_BACKTRACE=enable=no swift test --no-parallel --skip 'depthTakesNoStack|parentsTakeNoStack'

# AddressSanitizer over everything that takes bytes from others, and the whole core by seed.
asan: setup
	rm -f .build/asan/report.*
	ASAN_OPTIONS=detect_leaks=0:log_path=.build/asan/report $(SANITIZED) --scratch-path .build/asan --sanitize=address \
	    --filter 'FuzzTests|NestMeaningTests|NestProtocolTests|NestDocumentsTests|NestServerTests|NestClientTests|^NestEngineTests.SimulationTests'
	! cat .build/asan/report.* 2>/dev/null

# ThreadSanitizer over what runs on several threads: server and client in one process, sockets, side reads, proxies, the formats'
# threads, logs and metrics.
tsan: setup
	rm -f .build/tsan/report.*
	TSAN_OPTIONS=suppressions=.tsan-suppressions:log_path=.build/tsan/report $(SANITIZED) --scratch-path .build/tsan \
	    --sanitize=thread --filter 'NestServerTests|NestClientTests|NestDocumentsTests|NestOperationsTests|^ChaosTests\.'
	! cat .build/tsan/report.* 2>/dev/null

# A package outside this one builds against the product NestClient, as a user's would.
consumer: setup
	swift build --package-path Tests/Consumer --scratch-path .build/consumer

bench: build-release
	$(RELEASE) --product nestbench
	.build/release/nestbench all

# Instructions of a commit, which a busy machine does not change, against those counted last.
bench-check: setup
	bench/Count/check

# nest against Redis, NATS, etcd, PostgreSQL and gRPC-swift: a quarter of an hour. A short trial:
# make bench-peers PEERS='notify --subscribers 100 --rounds 1 --seconds 0.5'
bench-peers: setup
	bench/Peers/install
	$(RELEASE) --product nestd
	$(RELEASE) --product nestpeers
	swift build -c release --package-path bench/Peers/gRPC --scratch-path .build/grpc
	$(if $(PEERS),.build/release/nestpeers $(PEERS),bench/report/measure peers)

# The page and the plots of the figures measured last. To measure them again: bench/report/measure
report:
	@command -v gnuplot >/dev/null || if [ "$$(id -u)" = 0 ]; then apt-get install -y --no-install-recommends gnuplot-nox; \
	else echo "gnuplot is missing; run: sudo apt-get install -y gnuplot-nox" >&2; exit 1; fi
	@command -v python3 >/dev/null || { echo "python3 is missing" >&2; exit 1; }
	bench/report/report.py

test-report:
	@if command -v python3 >/dev/null; then python3 -B -m unittest discover -s bench/report; \
	else echo "the report is not tested: python3 is missing" >&2; fi

lint:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests bench Examples Fuzz

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests bench Examples Fuzz

check: lint test consumer

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
	@missing=$$(for name in $(LIBRARIES); do dpkg-query -W -f '$${db:Status-Status}' $$name 2>/dev/null | grep -qx installed || echo $$name; done | xargs); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then apt-get update && apt-get install -y --no-install-recommends $$missing; \
	else echo "libraries are missing; run: sudo apt-get install -y $$missing" >&2; exit 1; fi

tools:
	@missing=$$(for name in $(TOOLS); do command -v $$name >/dev/null || echo $$name; done | xargs); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then apt-get install -y --no-install-recommends $$missing || true; \
	else echo "some tests are skipped without: sudo apt-get install -y $$missing" >&2; fi
