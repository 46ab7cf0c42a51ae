# Thin front of CMake: `make demo` and `make test` are all that a first visit needs.
PRESET ?= release
BUILD = build/$(PRESET)
PREFIX ?= /usr/local

.PHONY: all demo test bench chaos crash fuzz soak install clean

all:
	scripts/deps
	cmake --preset $(PRESET) -DDG_TESTS=OFF
	cmake --build --preset $(PRESET)

# Cuts the dependency graph of Debian's packages, serves it, kills a server, loses nothing.
demo: all
	scripts/demo $(BUILD)

# Everything that CI checks, with a table of what took how long.
test:
	scripts/deps --test
	scripts/test

# Every benchmark, then one table.
bench: all
	scripts/bench $(BUILD)

# RUNS=n kills, and power cuts, failing calls, full disks and failing allocations in proportion.
crash:
	scripts/deps --test
	scripts/crash $(RUNS)

# MINUTES=n of clients, servers that are killed and a bad network between them.
chaos:
	scripts/deps --test
	scripts/chaos $(MINUTES)

# MINUTES=n of libFuzzer for each decoder, from and into its corpus.
fuzz:
	scripts/deps --test
	scripts/fuzz $(MINUTES)

# MINUTES=n of random pushes and checkpoints: space, write amplification, stalls.
soak: all
	$(BUILD)/bench/amplify $(MINUTES)

install: all
	cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build
