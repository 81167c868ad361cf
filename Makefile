# SPDX-License-Identifier: Apache-2.0
# The targets that people use have a ## comment; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The C resolver takes 2130706433 for 127.0.0.1, which the guard must not.
export CGO_ENABLED = 0

VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
TESTFLAGS ?=
BIN := $(CURDIR)/.bin

# Pinned, so that a lint run says the same tomorrow.
GOLANGCI_VERSION := 2.15.0
WORKFLOWCHECK_VERSION := 0.6.0
TOFU_VERSION := $(shell sed -nE 's|.*github.com/opentofu/opentofu v([0-9.]+).*|\1|p' terraform/opentofu/go.mod)
GOLANGCI := $(BIN)/golangci-lint
WORKFLOWCHECK := $(BIN)/workflowcheck
COMPOSE_VERSION := $(shell sed -nE 's|.*github.com/docker/compose/v2 v([0-9.]+).*|\1|p' docker/compose/go.mod)
COMPOSE := $(BIN)/docker-compose-$(COMPOSE_VERSION)
TEMPORAL_VERSION := $(shell sed -nE 's|.*go.temporal.io/server v([0-9.]+).*|\1|p' temporal-config/server/go.mod)
TEMPORAL_SERVER := $(BIN)/temporal-server-$(TEMPORAL_VERSION)
TEMPORAL_SQL_TOOL := $(BIN)/temporal-sql-tool-$(TEMPORAL_VERSION)
PREVIOUS_VERSION := $(shell sed -nE 's|.*go.temporal.io/server v([0-9.]+).*|\1|p' temporal-config/previous/go.mod)
PREVIOUS_SERVER := $(BIN)/temporal-previous-server-$(PREVIOUS_VERSION)
PREVIOUS_SQL_TOOL := $(BIN)/temporal-previous-sql-tool-$(PREVIOUS_VERSION)
TOFU := $(BIN)/tofu-$(TOFU_VERSION)

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Build and start the whole platform: vigil up
	./bin/vigil up

.PHONY: demo
demo: build ## Build and start the platform with a shop that fails and recovers: vigil up --demo
	./bin/vigil up --demo

.PHONY: build
build: postgres ## Build bin/vigil
	@.ci/progress "Building bin/vigil, the first time takes some minutes" \
		go build -v -ldflags "-X main.version=$(VERSION) -X main.commit=$(COMMIT)" -o bin/vigil ./cmd/vigil

.PHONY: release
release: ## Build the archives of a release in dist, see docs/release.md
	@.ci/release

.PHONY: publish
publish: ## Make a draft of a release on GitHub from dist (VERSION is its tag)
	@.ci/publish

.PHONY: docs
docs: ## Write the guide, which the platform serves at /docs/guide, as a site for any web server in bin/docs
	@go run ./.ci/docs

.PHONY: setup
setup: postgres tools ## Install what the other targets need
	go mod download

.PHONY: postgres
postgres: # find Postgres binaries, or install the Debian package
	@.ci/postgres

.PHONY: test
test: ready compose cluster-tools ## Run all tests; a line for each package, then the slowest tests (TESTFLAGS are handed to go test)
	@.ci/test $(TESTFLAGS)

.PHONY: ready
ready: postgres chromium docker roots languages proxies # what the tests need, so that a start of them is not a build
	@.ci/progress "Building, the first time takes some minutes" go build -v ./...

.PHONY: flaky
flaky: ready compose cluster-tools ## Run what CI tests five times (ROUNDS) beside two busy loops; prints each test that was ever red
	@.ci/flaky $(TESTFLAGS)

.PHONY: test-fast
test-fast: postgres ## Run what takes minutes, between two edits: no end-to-end tests, no long drills
	GOGC=400 go test -short -vet=off -ldflags '-s -w' -parallel 4 -timeout 10m $(TESTFLAGS) $$(go list ./... | grep -v '^github.com/vigil-monitor/vigil/e2e')

.PHONY: chromium
chromium: # find a Chromium, or install the Debian package
	@.ci/chromium

.PHONY: docker
docker: # find a container engine, or install the Debian package
	@.ci/docker

.PHONY: roots
roots: # find debootstrap, a static BusyBox and rpm, or install the Debian packages
	@.ci/roots

.PHONY: languages
languages: # find PHP and Ruby, or install the Debian packages
	@.ci/languages

.PHONY: proxies
proxies: # find nginx and nft, or install the Debian packages
	@.ci/proxies

.PHONY: temporal-server
temporal-server: $(TEMPORAL_SERVER) $(TEMPORAL_SQL_TOOL) ## Build upstream's Temporal server and its tool for the schema, for hosts of a cluster

.PHONY: cluster-tools
cluster-tools: temporal-server postgres # and find etcd, Patroni and haproxy, or install the Debian packages
	@.ci/cluster-tools

.PHONY: cluster
cluster: build cluster-tools ## Start the platform as many machines would, until Ctrl-C, see docs/production.md (CLUSTERFLAGS, such as -small)
	@go build -o $(BIN)/vigil-cluster ./.ci/cluster
	@$(BIN)/vigil-cluster up $(CLUSTERFLAGS)

.PHONY: clock-programs
clock-programs: postgres # build vigil and Temporal's server with a clock that drills can set, in bin/clock, which are never shipped
	@.ci/clock-overlay bin/clock
	@.ci/progress "Building bin/clock/vigil, the first time takes some minutes" \
		go build -v -overlay bin/clock/overlay.json -o bin/clock/vigil ./cmd/vigil
	@cd temporal-config/server && ../../.ci/progress "Building bin/clock/temporal-server" \
		go build -v -overlay ../../bin/clock/overlay.json -ldflags "-s -w" -o ../../bin/clock/temporal-server go.temporal.io/server/cmd/server

.PHONY: cluster-drills
cluster-drills: build cluster-tools proxies clock-programs ## Start a cluster, kill, freeze, cut off and split its hosts, fill their disks and put their clocks off; goes on where it was stopped
	@go build -o $(BIN)/vigil-cluster ./.ci/cluster
	@$(BIN)/vigil-cluster drills -network $(if $(filter 0,$(shell id -u)),namespaces,loopback) $(CLUSTERFLAGS)

.PHONY: cluster-costs
cluster-costs: build cluster-tools proxies ## Start a cluster and print what its parts take, then the same checks on one machine (CLUSTERFLAGS, such as -checks 1000,5000)
	@go build -o $(BIN)/vigil-cluster ./.ci/cluster
	@$(BIN)/vigil-cluster costs -network $(if $(filter 0,$(shell id -u)),namespaces,loopback) $(CLUSTERFLAGS)

.PHONY: cluster-upgrade
cluster-upgrade: build cluster-tools proxies $(PREVIOUS_SERVER) $(PREVIOUS_SQL_TOOL) ## Start a cluster with the previous minor version of Temporal, and upgrade it under load
	@go build -o $(BIN)/vigil-cluster ./.ci/cluster
	@$(BIN)/vigil-cluster drills -network $(if $(filter 0,$(shell id -u)),namespaces,loopback) -only '^temporal[|]upgraded' \
		-previous-server $(PREVIOUS_SERVER) -previous-sql-tool $(PREVIOUS_SQL_TOOL) $(CLUSTERFLAGS)

.PHONY: compose
compose: $(COMPOSE) # build Docker Compose, with which the tests start docker/compose.yaml

.PHONY: test-browser
test-browser: postgres chromium ## Run the browser tests only (a part of make test); SCREENSHOTS=1 renews docs/images
	go test -count=1 -v -timeout 10m -run '^TestBrowser' $(TESTFLAGS) ./e2e $(if $(SCREENSHOTS),-screenshots $(CURDIR)/docs/images)

.PHONY: test-install
test-install: ready compose ## Take each way to start Vigil that the documents have, to the last line of the demo
	@for way in .ci/install-*; do echo "$$way"; "$$way"; done

.PHONY: test-terraform
test-terraform: postgres ## Run the acceptance tests of the Terraform provider, with OpenTofu (TF_ACC_TERRAFORM_PATH is another program)
	@.ci/test-provider $(TESTFLAGS)

.PHONY: terraform-docs
terraform-docs: $(TOFU) # write terraform/docs and the provider's copy of the OpenAPI document again
	cd terraform && go test ./provider -run TestDefinitions -update
	cd terraform && TF_ACC=1 TF_ACC_TERRAFORM_PATH=$(TOFU) CHECKPOINT_DISABLE=1 go test ./provider -run TestDocs -update

.PHONY: clients
clients: ## Write what the clients of TypeScript and Python have from api/openapi.yaml again
	@go run ./.ci/clients

.PHONY: clients-check
clients-check: # compare it
	@go run ./.ci/clients --check

.PHONY: test-race
test-race: postgres ## Run all tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -timeout 40m $(TESTFLAGS) ./...

.PHONY:
e2e: build ## Run the end-to-end tests only, with all their output
	go test -count=1 -v -timeout 50m $(TESTFLAGS) ./e2e/...

.PHONY: bench
bench: build ## Measure turns, CPU, lateness and memory on this machine
	./bin/vigil bench loops --up --loops 300 --interval 60s --for 2m
	./bin/vigil bench loops --loops 100 --interval 60s --for 2m
	./bin/vigil bench loops --loops 1000 --interval 60s --settle 20m --for 3m
	./bin/vigil bench loops --loops 1000 --interval 10s --for 30s
	./bin/vigil bench loops --loops 1000 --interval 1s --for 30s
	./bin/vigil bench loops --loops 3000 --interval 1s --for 30s
	./bin/vigil bench loops --loops 10000 --interval 60s --settle 40m --for 5m --restart
	./bin/vigil bench loops --loops 50000 --interval 60s --settle 12m --for 4m --restart
	./bin/vigil bench simulate
	./bin/vigil bench turns
	./bin/vigil bench requests
	./bin/vigil bench requests --interval 10s
	./bin/vigil bench requests --loops 300 --interval 60s
	./bin/vigil bench idle
	./bin/vigil bench heartbeats
	./bin/vigil bench agents
	./bin/vigil bench alerts --checks 100 --subscribers 1000
	./bin/vigil bench reads
	./bin/vigil bench create --checks 10000 --clients 8
	./bin/vigil bench incidents --checks 1000
	./bin/vigil bench dashboard
	VIGIL_DRILL=full go test -v -count=1 -run 'TestBrowserAtRest$$' ./e2e/
	go test ./api -run '^$$' -bench Throughput -benchtime 1x
	go test ./api -run '^$$' -bench '^BenchmarkApply$$' -benchtime 3x
	go test ./internal/probe -run '^$$' -bench Types
	go test ./storage -run '^$$' -bench OpenIncident -benchtime 10x

.PHONY: chaos
chaos: build ## Kill, freeze, cut and overload every part, with the counts of a release, and print a table (VIGIL_DRILL_ROUNDS bounds the rounds)
	VIGIL_DRILL=full go test -count=1 -v -run 'TestTimetables' .
	VIGIL_DRILL=full go test -count=1 -v -run 'TestUptimeOfRandomSpans' ./storage/
	VIGIL_DRILL=full go test -count=1 -v -run 'TestOwnership$$' ./workers/
	VIGIL_DRILL=full go test -count=1 -v -timeout 150m -run 'Killed|RollingRestart|MassOutage|Drill|Agent|WideTurns|TestLoop$$|TestDemo$$' ./e2e/
	VIGIL_DRILL=full .ci/test-provider -v -run Killed

.PHONY: check
check: format platforms lint terraform charts words names sleeps arrows openapi clients-check tidy size license-check vendored vulnerabilities ## Everything that CI runs besides the tests

.PHONY: format
format: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## Show what gofumpt and goimports would change
	@changes=$$($(GOLANGCI) fmt --diff || true); if [ -n "$$changes" ]; then \
		echo "$$changes"; echo "format: run .bin/golangci-lint fmt"; exit 1; fi

.PHONY: platforms
platforms: ## Check the types of all packages for the other platforms of a release
	go run ./.ci/platforms

.PHONY: lint
lint: tools ## Run golangci-lint, which has all of go vet, and workflowcheck
	$(GOLANGCI) run ./...
	$(WORKFLOWCHECK) ./workflows/...

.PHONY: terraform
terraform: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## Lint and test the module of the Terraform provider, without terraform
	cd terraform && $(GOLANGCI) run ./... && go test $(TESTFLAGS) ./...

.PHONY: charts
charts: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## Render the chart in charts with many values, and decode it by the types of Kubernetes
	cd charts && $(GOLANGCI) run --config ../terraform/.golangci.yml ./... && go test $(TESTFLAGS) ./...

.PHONY: arrows
arrows: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## Show that a wrong import fails the lint
	@.ci/arrows

.PHONY: words
words: ## Find private words in names, comments and texts
	@go run ./.ci/words

.PHONY: names
names: ## Find exported names of the root package that no other package uses, and hold their number
	@go run ./.ci/names

.PHONY: sleeps
sleeps: ## Find fixed waits in tests, which wait for conditions instead
	@go run ./.ci/sleeps

.PHONY: openapi
openapi: ## Compare api/openapi.yaml with what the code says
	@go run -tags slim ./cmd/vigil openapi | diff -u api/openapi.yaml - || { \
		echo "openapi: renew it and the clients with: go test ./api -run TestOpenAPI -update"; exit 1; }

.PHONY: tidy
tidy:
	@for module in . charts docker/compose temporal-config/server temporal-config/previous terraform terraform/tools terraform/opentofu packaging/nfpm; do \
		(cd $$module && go mod tidy -diff) || { echo "tidy: run go mod tidy in $$module"; exit 1; }; done
	@.ci/shared-versions temporal-config/server

.PHONY: size
size:
	@.ci/size

.PHONY: license
license: ## Write the line of the license into new files
	@.ci/license --write

.PHONY: license-check
license-check: # find files without it
	@.ci/license

# PATH on the command line of make is also where the shell looks for programs.
SEARCH := $(shell echo "$$PATH"):/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin
.PHONY: module
module: ## Give the module another path, to publish it there: make module PATH=github.com/you/vigil
	@export PATH='$(SEARCH)'; go run ./.ci/module '$(if $(filter command line,$(origin PATH)),$(PATH))'

.PHONY: vendored
vendored: # compare the files of other projects with their checksums
	@.ci/vendor-web check

.PHONY: vendor-web
vendor-web: ## Write the files of other projects again (needs npm and its registry)
	@.ci/vendor-web

.PHONY: vulnerabilities
vulnerabilities:
	@.ci/vulnerabilities

.PHONY: clean
clean: ## Remove what was built (never a data directory)
	rm -rf bin dist

.PHONY: tools
tools: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) $(BIN)/workflowcheck-$(WORKFLOWCHECK_VERSION)

.PHONY: tofu
tofu: $(TOFU) # build OpenTofu, which the tests of the Terraform provider use as terraform

.PHONY: tofu-path
tofu-path: # print where it is
	@echo $(TOFU)

# The files with a version in their name stand for "this version is installed".
$(BIN)/golangci-lint-$(GOLANGCI_VERSION):
	@mkdir -p $(BIN)
	@$(GOLANGCI) --version 2>/dev/null | grep -q 'version $(GOLANGCI_VERSION) ' || { \
		echo "Building golangci-lint $(GOLANGCI_VERSION), which takes some minutes once"; \
		GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION); }
	@touch $@

$(BIN)/workflowcheck-$(WORKFLOWCHECK_VERSION):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) go install go.temporal.io/sdk/contrib/tools/workflowcheck@v$(WORKFLOWCHECK_VERSION)
	@touch $@

$(TOFU): terraform/opentofu/go.mod
	@mkdir -p $(BIN)
	@echo "Building OpenTofu $(TOFU_VERSION), which takes some minutes once"
	@.ci/opentofu $@.new
	@mv $@.new $@
	@touch $@

# What Debian has of it refuses files of today.
$(COMPOSE): docker/compose/go.mod
	@mkdir -p $(BIN)
	@cd docker/compose && ../../.ci/progress "Building Docker Compose $(COMPOSE_VERSION), which takes some minutes once" \
		go build -v -ldflags "-s -w -X github.com/docker/compose/v2/internal.Version=v$(COMPOSE_VERSION)" -o $@.new github.com/docker/compose/v2/cmd
	@mv $@.new $@
	@touch $@

# Upstream's own program, as a cluster runs it; what vigil embeds is in the main module. With the versions
# of the main module most of it is compiled already.
$(TEMPORAL_SERVER): temporal-config/server/go.mod
	@mkdir -p $(BIN)
	@cd temporal-config/server && ../../.ci/progress "Building Temporal's server $(TEMPORAL_VERSION), which takes some minutes once" \
		go build -v -ldflags "-s -w" -o $@.new go.temporal.io/server/cmd/server
	@mv $@.new $@
	@touch $@

$(TEMPORAL_SQL_TOOL): temporal-config/server/go.mod
	@mkdir -p $(BIN)
	@cd temporal-config/server && ../../.ci/progress "Building Temporal's tool for the schema" \
		go build -v -ldflags "-s -w" -o $@.new go.temporal.io/server/cmd/tools/sql
	@mv $@.new $@
	@touch $@

# Upstream's programs of the minor version before, of which a cluster is upgraded in a drill.
$(PREVIOUS_SERVER): temporal-config/previous/go.mod
	@mkdir -p $(BIN)
	@cd temporal-config/previous && ../../.ci/progress "Building Temporal's server $(PREVIOUS_VERSION), which takes some minutes once" \
		go build -v -ldflags "-s -w" -o $@.new go.temporal.io/server/cmd/server
	@mv $@.new $@
	@touch $@

$(PREVIOUS_SQL_TOOL): temporal-config/previous/go.mod
	@mkdir -p $(BIN)
	@cd temporal-config/previous && ../../.ci/progress "Building its tool for the schema" \
		go build -v -ldflags "-s -w" -o $@.new go.temporal.io/server/cmd/tools/sql
	@mv $@.new $@
	@touch $@
