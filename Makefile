# The two commands a newcomer needs are `make demo` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
GO    ?= go
# Programs are built without C, and what the tests are made of is compiled with the race detector: the standard library twice and no more.
PLAIN := CGO_ENABLED=0 $(GO)
TOOL  := $(PLAIN) tool -modfile=tools/go.mod
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# The race detector needs a C compiler.
RACE  := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)
# A program with the race detector sleeps a second before it exits, unless told not to; tests start many.
export GORACE ?= atexit_sleep_ms=0
FUZZTIME ?= 30s
ROUNDS   ?= 20

.PHONY: help demo test check fmt vet lint cross build generate generated bench fuzz soak tools cover parity setup

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## install what the sandbox needs and is missing (Debian and Ubuntu, as root); else say what
	@.ci/setup

demo: setup ## work in machines of each fleet as an agent does, then run a real module's test suite in them
	@mkdir -p bin && $(PLAIN) build -o bin/ ./cmd/... ./examples/walkthrough
	@bin/smol-mcp demo
	@bin/smolsim run --cloud -- bin/smol-mcp demo --targets cloud
	@echo "the local fleet:" && bin/smolsim run -- bin/walkthrough -fleet local $(DEMOFLAGS)
	@echo "the cloud fleet:" && bin/smolsim run --cloud -- bin/walkthrough -fleet cloud $(DEMOFLAGS)

# Tests wait more than they compute, and the longest begin first.
test: setup ## run every test, with the race detector where there is a C compiler
	$(GO) test $(RACE) -p 4 -timeout 15m ./smol ./smol/smoltest ./internal/guest ./...

check: fmt vet lint generated cross test ## everything that must hold before a change lands

fmt:
	@out=$$($(TOOL) gofumpt -l -extra $$(git ls-files '*.go' | grep -v '/zz_')); [ -z "$$out" ] || { echo "not gofumpt-formatted:"; echo "$$out"; exit 1; }

vet:
	$(GO) vet $(RACE) ./...
	$(GO) vet $(RACE) -tags bench ./bench/...

lint:
	@$(TOOL) -n staticcheck >/dev/null
	GOFLAGS=$(RACE) $$($(TOOL) -n staticcheck) -checks all,-ST1000,-ST1003,-ST1016,-ST1020,-ST1021,-ST1022,-ST1023 ./...

# What the compiler refuses for a system, the type checker refuses too; it needs no standard library that is compiled for that system first, which
# takes a new machine five minutes. The programs themselves are built for every system by make build.
cross: ## type-check and vet everything for every other system; vet and test do it for this one
	@$(PLAIN) build -C tools -o ../bin/crossvet ./crossvet
	@for p in $(filter-out $(shell $(GO) env GOHOSTOS)/$(shell $(GO) env GOHOSTARCH),$(PLATFORMS)); do echo "vet $$p"; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} bin/crossvet ./...; done

build: ## build the programs for every system, into bin/
	@for p in $(PLATFORMS); do echo "build $$p"; mkdir -p bin/$$p; GOOS=$${p%/*} GOARCH=$${p#*/} $(PLAIN) build -trimpath -o bin/$$p/ ./cmd/...; done

generate: ## write the generated files anew
	$(PLAIN) generate ./...

generated: ## check that the generated files are those that generate writes
	@before=$$(git ls-files -s -m -o --exclude-standard | sort | sha256sum; git diff | sha256sum); $(PLAIN) generate ./...; \
	 after=$$(git ls-files -s -m -o --exclude-standard | sort | sha256sum; git diff | sha256sum); \
	 [ "$$before" = "$$after" ] || { echo "generated files are not up to date; run make generate"; git status --short; exit 1; }

bench: setup ## measure, and hold the bounds on time and memory
	$(GO) test -tags bench -count=1 -timeout 30m -v ./bench/...

fuzz: ## run every fuzz target for FUZZTIME (30s)
	@for pkg in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz' || true); do \
	  echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; done; done

soak: setup ## run repeated tests ROUNDS (20) times their usual count
	$(GO) test $(RACE) -count=1 -timeout 2h $$($(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{if eq . "github.com/smol-machines/smol-go/internal/rounds"}}{{$$p}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "github.com/smol-machines/smol-go/internal/rounds"}}{{$$p}}{{end}}{{end}}' ./...) -smol.rounds=$(ROUNDS)

parity: ## compare api/ with a published OpenAPI document in JSON: make parity FLEET=local DOC=openapi.json
	@$(GO) run ./api/parity $(or $(FLEET),cloud) $(or $(DOC),$(error name the published document: DOC=openapi.json))

tools: ## build the pinned tools into the build cache
	@for t in gofumpt staticcheck oapi-codegen; do $(TOOL) -n $$t >/dev/null; done

cover: setup ## coverage by all tests; fails if the library or its scripts have fewer than 90% of their statements covered
	$(GO) test -timeout 30m -coverprofile=coverage.out -coverpkg=./smol/...,./internal/... ./...
	$(GO) tool cover -func=coverage.out | tail -1
	@.ci/cover coverage.out 90 smol smol/local smol/cloud internal/guest
