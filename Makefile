# make run is the tour; make test what a change must pass; .ci/run what a merge must pass.
GO ?= go
SEEDS ?= 10000
OPERATIONS ?= 10000
SEED ?= 1

KAFKA_VERSION ?= 4.4.0

.PHONY: run build test test-short bench lint soak conformance fuzz record hazards clean

run: build ## 1,000 seeded disasters, then the same job on an embedded Kafka
	bin/simrun campaign payments --seeds 1000 --for 40s
	@d=$$(mktemp -d) && bin/realrun run payments --demo --state $$d; s=$$?; rm -rf $$d; exit $$s

build:
	@mkdir -p bin
	$(GO) build -o bin/ ./cmd/...

# Tests run many short-lived worlds: memory that is there is traded for time, as simrun does.
test test-short: export GOGC ?= 400

test:
	$(GO) test ./...

test-short:
	$(GO) test -short ./...

bench: ## all Go benchmarks; .ci/bench measures the payments job on a real Kafka
	@echo "$$(nproc) cores, load $$(cut -d' ' -f1 /proc/loadavg)"
	$(GO) test -run '^$$' -bench . -benchtime 2s -timeout 10m $$(grep -rl --include=*_test.go '^func Benchmark' . | xargs -n 1 dirname | sort -u)

hazards: ## each hazard on real brokers; KAFKA_TXN_VERSION=1 and HAZARDS="H3 H28" narrow it down
	@KAFKA_VERSION=$(KAFKA_VERSION) .ci/kafka fetch >/dev/null
	ONEFOLD_HAZARDS=$(KAFKA_VERSION) $(GO) test -count=1 -timeout 60m -v -run TestHazardsKafka ./scenarios/hazard

lint:
	.ci/lint

conformance: ## the suite of the Kafka port on a real one: KAFKA_VERSION=4.1.2 KAFKA_TXN_VERSION=1 KAFKA_NODES=3
	.ci/conformance

soak: build ## hours, not minutes: what closes a release
	bin/simrun campaign payments fraud ledger --seeds $(SEEDS)
	bin/simrun controls
	bin/simrun determinism --seeds 500

fuzz: ## random operations on a real Kafka and on the simulated broker: make fuzz KAFKA_VERSION=4.4.0 OPERATIONS=100000
	.ci/fuzz compare --operations $(OPERATIONS) --seed $(SEED)

record: ## renews the recorded traces of one release: make record KAFKA_VERSION=4.1.2 [KAFKA_TXN_VERSION=1]
	.ci/fuzz record

clean:
	rm -rf bin reports/out .ci/out
