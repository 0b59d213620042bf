# Everything a person or a CI runs here is a target; .ci/run calls make test and make test-all.
# Needs: Go. make test-all also runs the published clients and builds the console where Node.js 20 or newer and npm are on the
# path, drives the console where Chromium is, and runs the race detector where a C compiler is, and golangci-lint where its
# modules can be fetched. What cannot run is named in a line that begins with SKIPPED and says why.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X github.com/gavel-ads/gavel/node/cli.version=$(VERSION) -X github.com/gavel-ads/gavel/node/cli.commit=$(COMMIT)

# A build never edits go.mod. LDFLAGS stamps the commit, so Go need not run git, which refuses to work for root in a
# checkout that another user owns.
export GOFLAGS := $(strip $(filter-out -mod=% -buildvcs=%,$(shell go env GOFLAGS)) -mod=readonly -buildvcs=false)

GOLANGCI         := go tool -modfile=.ci/tools.mod golangci-lint
CLIENTS          := node/testdata/clients
TIMEOUT          := 20m
RACE_TIMEOUT     := 20m
PLANTED_TIMEOUT  := 0
FUZZTIME         := 10s
BENCH            := .
COUNT            := 1
KILLS            := 200
POWER_CUTS       := 20
ROWS             := 100000
HOURS            := 5
PLANTED          := all
SCENARIO         := mixed
MINUTES          := 3
SINK_MINUTES     := 0
HEALTHY          := 5m
NODES            := 3
SEED             :=
DIST             := dist
TARGETS          := linux/amd64,linux/arm64,darwin/amd64,darwin/arm64
ARGS             :=

.PHONY: help
help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## Build bin/gavel: static, reproducible, stamped with version and commit.
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/gavel ./node

.PHONY: release
release: ## Build archives, .deb, .rpm, lists of modules and checksums of this commit into DIST=dist. TARGETS=linux/amd64 for one.
	@go run ./internal/release -out '$(DIST)' -targets '$(TARGETS)'

.PHONY: run
run: build ## Build and start the demo: a market, shoppers, and a curl that returns winners. ARGS="--shoppers=5".
	@exec bin/gavel demo $(ARGS)

# The arguments that make cluster starts node N with: $(call node,N).
node = --config configs/three-local.yaml --node-id n$(1) --data-dir gavel-cluster/n$(1) --keys-file gavel-cluster/keys$(1).json \
	--auction-listen 127.0.0.1:808$(1) --manage-listen 127.0.0.1:809$(1) --peer-listen 127.0.0.1:740$(1) --log-format text

# The keys are generated once and preset on all nodes. Node 1 runs the demo: it fills the market and simulates shoppers.
.PHONY: cluster
cluster: build ## Start three nodes on this machine with the demo market; prints a curl for each. Ctrl-C stops all. ARGS="--shoppers=5".
	@mkdir -p gavel-cluster; umask 077; [ -s gavel-cluster/keys.env ] || { \
		echo "export GAVEL_BOOTSTRAP_AUCTION_KEY=$$(bin/gavel keys generate --kind auction)"; \
		echo "export GAVEL_BOOTSTRAP_MANAGEMENT_KEY=$$(bin/gavel keys generate --kind management)"; } > gavel-cluster/keys.env; \
	. gavel-cluster/keys.env; pids=; \
	trap 'trap - INT TERM EXIT; kill $$pids 2>/dev/null || true; wait' INT TERM EXIT; \
	bin/gavel demo $(call node,1) $(ARGS) >gavel-cluster/n1.log 2>&1 & pids="$$pids $$!"; \
	bin/gavel serve $(call node,2) >gavel-cluster/n2.log 2>&1 & pids="$$pids $$!"; \
	bin/gavel serve $(call node,3) >gavel-cluster/n3.log 2>&1 & pids="$$pids $$!"; \
	echo "three nodes are starting, process ids$$pids, logs and data in gavel-cluster"; \
	until grep -q '^  curl' gavel-cluster/n1.log; do for pid in $$pids; do kill -0 $$pid 2>/dev/null || { \
		echo "process $$pid ended; its log ends with:"; grep -H '^gavel: ' gavel-cluster/*.log || tail -n 5 gavel-cluster/*.log; exit 1; }; done; sleep 0.2; done; \
	for n in 1 2 3; do until bin/gavel health http://127.0.0.1:809$$n >/dev/null 2>&1; do sleep 0.1; done; done; \
	for n in 1 2 3; do grep -m1 '^  curl' gavel-cluster/n1.log | sed "s/127.0.0.1:8081/127.0.0.1:808$$n/"; done; \
	echo "watch them:       . gavel-cluster/keys.env; GAVEL_MANAGE_KEY=\$$GAVEL_BOOTSTRAP_MANAGEMENT_KEY bin/gavel cluster status --manage 127.0.0.1:8092"; \
	echo "kill one:         kill -9 $${pids##* }"; \
	echo "start it again:   bin/gavel serve $(call node,3)"; \
	wait

# GOGC=300 saves up to a quarter of the CPU time of a package, for some hundred megabytes (bench/results/2026-11-28-test-times.md).
# Some tests wait for clocks, so on two CPUs four packages at once take a fifth less time than two.
# The package that takes longest begins first, or it would be at work when all others have ended.
PACKAGES := $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n > 4 ? n : 4)))
.PHONY: test
test: format vet ## What a change must pass before it is shown to others: format, vet, and the tests that take seconds. Needs no root.
	@GOGC=300 go test -short -p $(PACKAGES) -timeout $(TIMEOUT) ./raftstore ./... | grep --line-buffered -v 'no test files'

.PHONY: repeat
repeat: ## Run the tests of make test RUNS=30 times beside two busy processors, to find those that fail by chance. PACKAGES=./raftstore TESTS=regexp COUNT=100 for single ones.
	@.ci/repeat

# The parts print how long they took, because they have 25 minutes on two idle cores. What fails for a slip of the pen comes
# first. The nemesis waits for clocks, so the long tests run three packages at once. A package whose tests do the same with
# -short is tested with it, so that go test finds its result where make test was run before.
# The console's tests keep one processor busy, so others run beside them, and what they print comes when those have ended.
.PHONY: test-all
test-all: format vet clients environment ## Run all tests: also the console in a browser, the published clients, simulated hours, minutes of nemesis, race detector, linter, today's planted bugs.
	@SECONDS=0; $(MAKE) lint; echo "linter: $$SECONDS s"
	@PLANTED=all go test -count=1 -run '^TestPatchesApply$$' ./planted
	@SECONDS=0; long=(); same=(); while read -r package dir; do \
		if grep -qs 'testing\.Short()' "$$dir"/*_test.go; then long+=("$$package"); else same+=("$$package"); fi; \
	done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./...); \
	GOGC=300 GAVEL_COMPAT="$$(cat bin/compat)" go test -p 3 -timeout $(TIMEOUT) "$${long[@]}" | grep --line-buffered -v 'no test files'; \
	GOGC=300 go test -short -timeout $(TIMEOUT) "$${same[@]}" | grep --line-buffered -v 'no test files'; echo "tests: $$SECONDS s"
	@$(MAKE) timed-web-check >bin/web-check.log 2>&1 & console=$$!; failed=0; $(MAKE) beside-the-console || failed=1; \
	wait $$console || failed=1; cat bin/web-check.log; exit $$failed
	@SECONDS=0; $(MAKE) race; echo "race detector: $$SECONDS s"

.PHONY: timed-web-check beside-the-console
timed-web-check:
	@SECONDS=0; $(MAKE) web-check; echo "console: $$SECONDS s"
beside-the-console:
	@SECONDS=0; $(MAKE) sinks; echo "sinks: $$SECONDS s"
	@SECONDS=0; $(MAKE) generators; echo "generators: $$SECONDS s"
	@SECONDS=0; $(MAKE) render; echo "chart and Compose files: $$SECONDS s"
	@SECONDS=0; $(MAKE) planted PLANTED=today PLANTED_TIMEOUT=40m; echo "planted bugs: $$SECONDS s"

# go test does not show skipped tests, so this target says when the nemesis and the tests of real disks and of load balancers will be
# skipped.
.PHONY: environment
environment:
	@for balancer in haproxy nginx; do PATH="$$PATH:/usr/sbin" command -v $$balancer >/dev/null || \
		echo "SKIPPED: the configuration of $$balancer that gavel cells renders, in $$balancer. On Debian: apt-get install $$balancer"; done
	@mkdir -p bin; if [ "$$(uname)" != Linux ]; then echo "SKIPPED: nemesis and tests of real disks, which need Linux"; \
	else go build -o bin/nemesis ./loadtest/nemesis; bin/nemesis --check || [ $$? = 4 ]; fi

.PHONY: format
format:
	@wrong="$$(gofmt -l .)"; if [ -n "$$wrong" ]; then echo "not formatted; run make fix:"; echo "$$wrong"; exit 1; fi

.PHONY: vet
vet:
	@go vet ./...

# Finds out whether the published clients can run, and writes 1 or nothing to bin/compat. They are the only part of make
# test that needs more than Go, so where they cannot run, this says so and make test goes on.
.PHONY: clients
clients:
	@mkdir -p bin; : > bin/compat; \
	major="$$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/')" || true; \
	if [ "$${major:-0}" -lt 20 ] || ! command -v npm >/dev/null; then \
		echo "SKIPPED: the published clients. Install Node.js 20 or newer with npm (Debian 12 has 18; see nodejs.org) and run make test again."; \
	elif [ ! -d $(CLIENTS)/node_modules ] && ! npm ci --prefix $(CLIENTS) --silent >bin/npm.log 2>&1; then \
		echo "SKIPPED: the published clients. npm ci failed (is the registry reachable?):"; tail -n 3 bin/npm.log; \
	else echo 1 > bin/compat; fi

.PHONY: compat
compat: ## Run the published clients, unmodified, against a node. Needs Node.js 20 and npm.
	@GAVEL_COMPAT=1 go test -count=1 -timeout $(TIMEOUT) -run '^TestCompat' -v ./node

# The brokers are in a module of their own, so that no build of Gavel depends on them.
.PHONY: sinks
sinks: ## Run the tests of sinks against Kafka (kfake) and NATS JetStream, and three nodes whose leaders are killed. SINK_MINUTES=60 for longer.
	@mkdir -p bin; cd node/sinks/brokers; if go list -deps -test . >../../../bin/sinks.log 2>&1; then go vet . && GAVEL_SINK_MINUTES=$(SINK_MINUTES) go test -count=1 -timeout 0 .; \
	else echo "SKIPPED: sinks with brokers. Their modules are missing (is the module proxy reachable?):"; tail -n 3 ../../../bin/sinks.log; fi

# The generators are in a module of their own, too.
.PHONY: generators
generators: ## Let oapi-codegen and openapi-typescript write clients from the OpenAPI description, and check their types.
	@mkdir -p bin; cd node/manage/generators; if [ ! -d node_modules ] && ! npm ci --silent >../../../bin/npm-generators.log 2>&1; then \
		echo "SKIPPED: openapi-typescript. npm ci failed (is npm installed, and the registry reachable?):"; tail -n 3 ../../../bin/npm-generators.log; fi; \
	if go list -deps -test . tool >../../../bin/generators.log 2>&1; then go vet . && go test -count=1 -timeout $(TIMEOUT) .; \
	else echo "SKIPPED: generators of clients. Their modules are missing (is the module proxy reachable?):"; tail -n 3 ../../../bin/generators.log; fi

.PHONY: conformance
conformance: ## Replay the exchanges of node/hotpath/testdata against any node. BASE_URL=, KEY=, MANAGE_URL=, MANAGE_KEY=; without BASE_URL a fresh one.
	@CONFORMANCE_BASE_URL='$(BASE_URL)' CONFORMANCE_KEY='$(KEY)' CONFORMANCE_MANAGE_URL='$(MANAGE_URL)' CONFORMANCE_MANAGE_KEY='$(MANAGE_KEY)' \
		go test -count=1 -timeout $(TIMEOUT) -run '^TestConformanceKit' -v ./node

# The build is committed, so that a Go developer needs no Node.js. npm runs only where packages are missing or have changed.
.PHONY: web
web: ## Build the console's pages from web/ into node/console/dist. Needs Node.js 20 and npm.
	@[ web/node_modules/.package-lock.json -nt web/package-lock.json ] || npm ci --prefix web --silent
	@npm run --prefix web --silent build

.PHONY: web-check
web-check: ## Compare node/console/dist with a fresh build of web/, and drive the console in Chromium, which root on Debian gets installed. GAVEL_BROWSER=/usr/bin/chromium.
	@mkdir -p bin; major="$$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/')" || true; \
	if [ "$${major:-0}" -lt 20 ] || ! command -v npm >/dev/null; then \
		echo "SKIPPED: the console's build and browser tests. Install Node.js 20 or newer with npm."; exit 0; fi; \
	if [ ! web/node_modules/.package-lock.json -nt web/package-lock.json ] && ! npm ci --prefix web --silent >bin/npm-web.log 2>&1; then \
		echo "SKIPPED: the console's build and browser tests. npm ci failed (is the registry reachable?):"; tail -n 3 bin/npm-web.log; exit 0; fi; \
	npm run --prefix web --silent compare; \
	browser="$${GAVEL_BROWSER:-/usr/bin/chromium}"; \
	if [ ! -x "$$browser" ] && [ "$$browser" = /usr/bin/chromium ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get install -y --no-install-recommends chromium >bin/apt-chromium.log 2>&1 || tail -n 3 bin/apt-chromium.log; fi; \
	if [ ! -x "$$browser" ]; then echo "SKIPPED: the console's browser tests. There is no $$browser; on Debian: apt-get install chromium"; exit 0; fi; \
	$(MAKE) build; GAVEL_BROWSER="$$browser" npm run --prefix web --silent test

.PHONY: kill
kill: ## Kill a node under load again and again and audit its ledgers. KILLS=200.
	@KILLS=$(KILLS) go test -count=1 -timeout 0 -run '^TestKill' -v ./node

.PHONY: powercuts
powercuts: ## Cut the power of a node's disk under load again and again and audit its ledgers. Linux, root. POWER_CUTS=20.
	@POWER_CUTS=$(POWER_CUTS) go test -count=1 -timeout 0 -run '^TestPowerCut$$' -v ./node

.PHONY: sim
sim: ## Simulate clusters under faults with the real state machine. HOURS=5, SEED=1.
	@GAVEL_SIM_MINUTES=$$(( $(HOURS) * 60 )) GAVEL_SIM_SEED=$(or $(SEED),1) go test -count=1 -timeout 0 -run '^TestSimulation$$' -v ./node/simulation

.PHONY: planted
planted: ## Check that each patch of planted/*.patch applies, plant its bug in a copy of the tree; a test must catch it. PLANTED=name for one.
	@PLANTED=$(PLANTED) go test -count=1 -timeout $(PLANTED_TIMEOUT) -run '^Test(PatchesApply|Planted)$$' -v ./planted | grep --line-buffered -v '^=== '

# Its tests read files outside of their module, which the cache of results does not notice: -count=1.
.PHONY: render
render: ## Render the Helm chart with Helm's own engine and check it, and the Compose files, against their schemas and node/config.
	@mkdir -p bin; cd internal/rendertest; if go list -deps -test ./... >../../bin/render.log 2>&1; then go test -count=1 -timeout $(TIMEOUT) ./...; \
	else echo "SKIPPED: the Helm chart and the Compose files against their schemas. Helm's modules cannot be had (is the module proxy reachable?):"; \
		tail -n 3 ../../bin/render.log; fi

# What .ci/race.txt names is left out: a package, or a test by its name.
.PHONY: race
race: ## Run the tests of make test under the race detector, but for what .ci/race.txt names. Needs a C compiler.
	@if ! command -v "$$(go env CC)" >/dev/null; then echo "SKIPPED: race detector. There is no C compiler $$(go env CC); on Debian: apt-get install gcc libc6-dev"; exit 0; fi; \
	left() { sed -nE "s/^$$1 +([^ ]+) .*/\1/p" .ci/race.txt; }; \
	packages="$$(go list ./... | grep -vxF "$$(left package | xargs -r go list)")"; \
	GOGC=300 CGO_ENABLED=1 go test -race -short -timeout $(RACE_TIMEOUT) -skip "^($$(left test | paste -sd '|'))$$" ./raftstore $$packages | grep --line-buffered -v 'no test files'

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME=10s. Inputs that reach new code are hardly minimized, which took most of the time.
	@git grep -lE '^func Fuzz' -- '*_test.go' | sort | while read -r file; do \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$$file"); do \
			echo "== $$(dirname "$$file") $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$(dirname "$$file")" </dev/null; \
		done; \
	done

.PHONY: bench
bench: ## Run the benchmarks of every package. BENCH=regexp COUNT=6; compare two runs with: go tool -modfile=.ci/tools.mod benchstat.
	@go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

.PHONY: bench-replication
bench-replication: ## Measure charges a second through raftstore and other raft logs, by records per entry, entries in flight, 1 and 3 nodes.
	@cd bench/replication && go test -run '^$$' -bench Charges -benchtime 1s -timeout 30m .

.PHONY: ceiling
ceiling: ## Compare the auction path with a bare HTTP handler, by CPU per request. JSON=1 prints JSON only.
	@go run ./bench/ceiling

.PHONY: cells
cells: ## Simulate 1,000 marketplaces on 20 cells, of which one dies while a marketplace moves. ARGS="-remember 0".
	@go run ./bench/cells $(ARGS)

.PHONY: peers
peers: build ## Measure single and batched clicks beside Redis, PostgreSQL and etcd, where they are installed; 8 minutes. ARGS="-json FILE -peers gavel,redis".
	@go run ./bench/peers $(ARGS)

# The node gets its own directory and ports, so that it does not disturb a running node.
.PHONY: loadtest
loadtest: build ## Load a fresh node over HTTP and compare its reports with what it acknowledged. SCENARIO=mixed, ARGS="--rate=2000 --duration=30s".
	@dir="$$(mktemp -d)"; bin/gavel serve --data-dir "$$dir/data" --keys-file "$$dir/keys.json" \
		--auction-listen 127.0.0.1:18080 --manage-listen 127.0.0.1:18081 --peer-listen 127.0.0.1:17400 \
		--ratelimit-management 0 --ratelimit-catalog 0 >"$$dir/log" 2>&1 & node=$$!; \
	trap 'kill $$node 2>/dev/null || true; wait $$node || true; rm -rf "$$dir"' EXIT; \
	until bin/gavel health http://127.0.0.1:18081 >/dev/null 2>&1; do kill -0 $$node || { cat "$$dir/log"; exit 1; }; sleep 0.1; done; \
	go run ./loadtest --auction http://127.0.0.1:18080 --manage http://127.0.0.1:18081 --keys-file "$$dir/keys.json" --pid $$node $(ARGS) $(SCENARIO)

.PHONY: writes
writes: build ## Measure bid and product upserts a second through the management API of one node. ARGS="--workers=32 --duration=10s".
	@go run ./loadtest/operator $(ARGS) writes

.PHONY: visibility
visibility: build ## Measure how soon all of three nodes act on a changed bid, a pause, a revoked key, an ended session. ARGS="--changes=200 --revocations=100".
	@go run ./loadtest/operator $(ARGS) visibility

.PHONY: consoles
consoles: build ## Measure what 20 open consoles cost a node under load. ARGS="--rate=5000 --shape=5x100 --pairs=12 --duration=10s".
	@go run ./loadtest/operator $(ARGS) consoles

.PHONY: spending
spending: build ## Watch three nodes spend 50 even budgets over a shop's day of traffic, pressed into 20 minutes; draws bin/spending.svg. ARGS="--rate=day:300 --campaigns=50".
	@go run ./loadtest/operator --duration=20m --rate=day:300 --plot=bin/spending.svg $(ARGS) spending

.PHONY: web-shots
web-shots: build ## Take a picture of every view of the console, light, dark and narrow, into bin/console-screenshots.
	@GAVEL_SCREENSHOTS="$${GAVEL_SCREENSHOTS:-$(CURDIR)/bin/console-screenshots}" npm run --prefix web --silent shots

.PHONY: import
import: build ## Import ROWS products with a bid each, kill -9 the importer 20 times, read all back, then backup and restore. ROWS=100000, ARGS="--seed=7".
	@go run ./loadtest/operator --rows $(ROWS) $(ARGS) import

.PHONY: nemesis
nemesis: ## Inject faults into a cluster of real processes and check what its clients saw. Linux, root. MINUTES=60 NODES=3 SEED=7.
	@go run ./loadtest/nemesis --minutes $(MINUTES) --nodes $(NODES) --seed $(or $(SEED),0) $(ARGS)

.PHONY: alerts
alerts: build ## Let a real Prometheus watch three nodes: healthy for HEALTHY=5m, then eight faults, each with its alerts. Linux, root.
	@go run ./loadtest/alerts --healthy $(HEALTHY) $(ARGS)

.PHONY: hostile
hostile: build ## Attack a node with 1,024 files and 1 GiB from loopback while a storefront uses it, and check its promises. Linux. MINUTES=60 SEED=7.
	@go run ./loadtest/hostile --binary bin/gavel --minutes $(MINUTES) --seed $(or $(SEED),0) $(ARGS)

# The linter is built from the modules that .ci/tools.mod pins; building it once takes minutes.
.PHONY: lint
lint: ## Run golangci-lint in the version of .ci/tools.mod.
	@mkdir -p bin; if $(GOLANGCI) version >bin/lint.log 2>&1; then $(GOLANGCI) run --allow-parallel-runners --timeout 15m; \
	else echo "SKIPPED: golangci-lint cannot be built (is the module proxy reachable?):"; tail -n 3 bin/lint.log; fi

.PHONY: check
check: format vet ## Run what a reviewer runs: tidy, go fix, vet, known vulnerabilities, make test, make test-all.
	@go mod tidy -diff
	@go fix -diff ./...
	@if command -v govulncheck >/dev/null; then govulncheck ./...; else echo "SKIPPED: govulncheck is not installed."; fi
	@$(MAKE) test test-all

.PHONY: fix
fix: ## Format, modernize, tidy.
	@gofmt -w .
	@go fix ./...
	@go mod tidy

.PHONY: clean
clean: ## Remove what the targets above made.
	@rm -rf bin gavel-demo gavel-cluster $(CLIENTS)/node_modules web/node_modules
