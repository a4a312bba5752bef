# SPDX-License-Identifier: Apache-2.0
# A thin front for CMake: `make`, `make demo`, `make test`, ...; `make help` lists them all.

BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_ARGS ?=
MAKEFLAGS += --no-print-directory

.PHONY: all
all: $(BUILD)/Makefile
	@cmake --build $(BUILD) -j $(JOBS)

$(BUILD)/Makefile:
	@cmake -S . -B $(BUILD) -G "Unix Makefiles" $(CMAKE_ARGS)
