# Everything a person or CI runs. `make demo` and `make test` need nothing but Go (and, for e2e, a C compiler).
SHELL       := /bin/bash
BIN         := bin/fullsend
CHECKS      ?= 1000
FUZZTIME    ?= 20s
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: build test race demo e2e e2e-full lint bench bench-route bench-poll bench-plots fuzz schema workflows jql-check clean

build: ## the binary, at bin/fullsend
	CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $(BIN) ./cmd/fullsend

test: ## all tests with full property counts
	RAPID_CHECKS=$(CHECKS) go test -timeout 20m ./...

race: ## the same tests, short, under the race detector
	RAPID_CHECKS=150 go test -race -short -timeout 20m ./...

demo: build ## the whole path on a simulated forge, in under a minute
	$(BIN) demo

e2e: build ## the whole path against a real Gitea server
	cd e2e && go test -short -timeout 15m -count=1 -v ./...

e2e-full: build ## the same with every group of the conformance suite on the real server; takes half an hour
	cd e2e && go test -timeout 60m -count=1 -v ./...

lint: ## formatting, vet and module hygiene
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these files'; exit 1; }
	go vet ./...
	go mod tidy -diff

bench: ## the benchmarks behind docs/performance.md
	go test -run '^$$' -bench . -benchmem ./...

REPS        ?= 3
bench-route: ## the router beside closures, OPA and CEL on one workload, in under a minute; the last line is JSON
	@cd bench && mkdir -p results && go run -mod=mod ./route -reps $(REPS) -json results/route.json

bench-poll: build ## whole processes over large and many scopes; takes some minutes
	@cd bench && mkdir -p results && go run -mod=mod ./poll -bin ../$(BIN) -json results/poll.json

bench-plots: ## docs/plots from what bench-route and bench-poll have written
	@cd bench && go run -mod=mod ./plots

fuzz: ## every fuzz target for FUZZTIME, and millions of cases of the rule on which completeness rests
	RAPID_CHECKS=20000 go test -count=1 -timeout 60m -run Admissible ./query/... ./adapters/...
	@set -e; for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "== $$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; \
	  done; done

# GitHub's published GraphQL schema, as its own package carries it. It is not ours to commit.
GITHUB_SCHEMA ?= 15.26.1

schema: .schema/github-$(GITHUB_SCHEMA).graphql ## the schema that GitHub's queries are checked against

.schema/github-%.graphql:
	@mkdir -p .schema
	cd .schema && npm pack --silent @octokit/graphql-schema@$* && \
	  tar -xzOf octokit-graphql-schema-$*.tgz package/schema.graphql > $(notdir $@).part && \
	  mv $(notdir $@).part $(notdir $@) && rm octokit-graphql-schema-$*.tgz

jql-check: ## every JQL text that tests make, parsed by Atlassian's own parser (needs node and npm)
	RAPID_CHECKS=200 go test -count=1 -timeout 10m ./adapters/jira -jql=jqlcheck/jql.txt
	cd adapters/jira/jqlcheck && npm ci --silent --ignore-scripts --legacy-peer-deps && node check.js jql.txt

SEEDS       ?= 2000
chaos: ## random stories against the whole poller; a seed that fails prints its command and is shortened
	@go run ./internal/chaos/cmd -seeds $(SEEDS)

workflows: ## the example workflows of GitHub Actions
	cd tools && go tool actionlint ../examples/github-actions/*.yml

clean:
	rm -rf bin
