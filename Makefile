# The front door. Every command installs what it needs and builds what it runs.

PRESET ?= dev
FUZZ_SECONDS ?= 60
CHAOS_SECONDS ?= 75
JOBS ?= $(shell nproc)
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run build test bench bench-http bench-peers bench-devkit fuzz chaos format check clean

help:
	@echo 'make run      build everstep and run a plan worth watching; interrupted, it goes on when run again'
	@echo 'make test     build everything, run all tests (release, ASan+UBSan, TSan, fuzz, end to end)'
	@echo 'make build    build PRESET (dev, release, asan, tsan); default: dev'
	@echo 'make bench    measure; a table here, build/bench.json for machines'
	@echo 'make bench-devkit Workflow DevKit on Everstep beside its other worlds; needs npm'
	@echo 'make bench-http   our HTTP server and clients beside Boost.Beast and libcurl'
	@echo 'make bench-peers  the same work on Restate and DBOS beside ours; needs npm'
	@echo 'make fuzz     run every fuzz target for FUZZ_SECONDS (default: 60)'
	@echo 'make chaos    kill applications and their server at random, each for CHAOS_SECONDS (default: 75)'
	@echo 'make check    formatting, clang-tidy, layers, bans'
	@echo 'make format   format all sources'
	@echo 'make clean    remove build/'

run:
	@tools/setup build
	@tools/build release everstep
	@everstep=./build/release/everstep; export EVERSTEP_DATA=build/tour; \
	$$everstep run examples/tour.yaml || exit $$?; \
	run=$$($$everstep ls --plan tour --limit 1 --output json | sed -n 's/.*"runId": "\(.*\)".*/\1/p'); \
	echo; echo "$$ everstep timeline $$run"; $$everstep timeline $$run && \
	echo && echo "$$ everstep why $$run" && $$everstep why $$run

build:
	@tools/setup build test
	@tools/build $(PRESET) all

test:
	@tools/test

bench:
	@tools/setup build test
	@tools/bench $(BENCH_ARGS)

bench-devkit:
	@tools/setup build
	@tools/bench-devkit $(BENCH_ARGS)

bench-http:
	@tools/setup build bench
	@tools/bench-http

bench-peers:
	@tools/setup build
	@tools/bench-peers $(BENCH_ARGS)

fuzz:
	@tools/fuzz $(FUZZ_SECONDS)

chaos:
	@tools/setup build test
	@tools/build release everstep
	@EVERSTEP_CHAOS_SECONDS=$(CHAOS_SECONDS) EVERSTEP_CHAOS_RUNTIMES='stable suite next' EVERSTEP_CHAOS_LONG='20 2500 24' tests/e2e/devkit_chaos.sh build/release/everstep

format:
	@tools/setup check
	@tools/sources | xargs clang-format-14 -i

check:
	@tools/check

clean:
	@rm -rf build
