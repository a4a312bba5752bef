# SPDX-License-Identifier: Apache-2.0
# A thin front for CMake. `make help` lists the targets.

BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
CMAKE_ARGS ?=
MAKEFLAGS += --no-print-directory

# Ninja where there is one: it looks at every file once, make in each of 250 targets. A folder keeps
# what it was configured with first.
there = $(wildcard $(subst $() ,\ ,$(1)))
configured = $(call there,$(1)/build.ninja)$(call there,$(1)/Makefile)
generator = $(if $(call there,$(1)/Makefile),Unix Makefiles,$(if $(NINJA),Ninja,Unix Makefiles))
configure = cmake -S . -B "$(1)" -G "$(call generator,$(1))" $(CMAKE_ARGS)
NINJA := $(shell command -v ninja)
CTEST = ctest --output-on-failure

.PHONY: all
all: ## build the library and the command, build/weft
	@$(if $(call configured,$(BUILD)),,$(call configure,$(BUILD)) -DWEFT_TESTS=OFF)
	@cmake --build "$(BUILD)" -j $(JOBS)

.PHONY: setup
setup: ## install what a build and the tests need, or say what is missing
	@scripts/setup.sh test

.PHONY: setup-mpi
setup-mpi: ## install Open MPI, for places over ranks; configure again afterwards
	@scripts/setup.sh mpi

.PHONY: setup-acc
setup-acc: ## install GCC's back end of OpenACC for NVIDIA GPUs; configure again in a new folder
	@scripts/setup.sh acc

# Kernels take longest to build: where there is no GPU to run them, a demo goes without. A folder of
# its own has code for this processor alone, and fast code for what the demo shows; what is timed runs
# nine times, and for a tenth of a second.
GPU = $(wildcard /dev/nvidiactl /dev/dxg)
DEMO_BUILD = $(if $(GPU)$(call there,$(BUILD)/weft),$(BUILD),build-demo)

.PHONY: demo
demo: ## set up, build, and show every operation on the best place of this machine
	@scripts/setup.sh build
	@$(call configure,$(DEMO_BUILD)) \
	    $(if $(filter build-demo,$(DEMO_BUILD)),\
	        -DWEFT_CUDA=OFF -DWEFT_TESTS=OFF -DWEFT_BLAS=OFF -DWEFT_FORTRAN=OFF \
        -DWEFT_ISA=NATIVE -DWEFT_DEMO=ON)
	@cmake --build "$(DEMO_BUILD)" -j $(JOBS) --target weft_command
	@WEFT_SECONDS=$${WEFT_SECONDS:-0.1} "$(DEMO_BUILD)/weft" demo
	@echo "The command is $(DEMO_BUILD)/weft$(if $(filter build-demo,$(DEMO_BUILD)),; \
	    \`make\` builds $(BUILD)/weft with all operations optimised)."

# Kernels that nothing here can run are compiled only to see that they compile: to PTX, with little
# optimisation, in a folder of its own, so that what is installed from $(BUILD) is whole.
TEST_BUILD = $(if $(GPU)$(call configured,$(BUILD)),$(BUILD),build-test)
QUICK_KERNELS = $(if $(filter build-test,$(TEST_BUILD)),-DCMAKE_CUDA_ARCHITECTURES=90-virtual \
    -DWEFT_QUICK_KERNELS=ON)

.PHONY: test test-configured
test: test-configured ## set up, build, and run all tests
	@cmake --build "$(TEST_BUILD)" -j $(JOBS)
	@scripts/test.sh "$(TEST_BUILD)" $(JOBS)
	@echo "test: all passed"

test-configured:
	@scripts/setup.sh test
	@$(call configure,$(TEST_BUILD)) -DWEFT_TESTS=ON -DWEFT_EMU=ON $(QUICK_KERNELS)

.PHONY: test-asan
test-asan: ## the tests, emu's too, under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/setup.sh test
	@$(call configure,build-asan) -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWEFT_SANITIZE=ON \
	    -DWEFT_CUDA=OFF -DWEFT_TESTS=ON -DWEFT_EMU=ON
	@cmake --build build-asan -j $(JOBS)
	@cd build-asan && $(CTEST) -j $(JOBS)
	@echo "test-asan: all passed"

.PHONY: test-all
test-all: export WEFT_TEST_ROUND = all
test-all: export WEFT_TEST_BUDGET = all
test-all: test ## all cases and seeds, counts beyond 2^32, a minute of each fuzzer, planted faults
	@scripts/test_all.sh "$(TEST_BUILD)"

.PHONY: gpu-test
gpu-test: ## the tests on place gpu, then under compute-sanitizer
	@scripts/setup.sh test
	@$(call configure,$(BUILD)) -DWEFT_TESTS=ON -DWEFT_CUDA=ON
	@cmake --build "$(BUILD)" -j $(JOBS)
	@scripts/gpu_test.sh "$(BUILD)"

.PHONY: bench
bench: ## race the peers in bench/peers and climb every ladder, as JSON lines
	@scripts/setup.sh build
	@$(call configure,$(BUILD)) -DWEFT_BENCH=ON
	@cmake --build "$(BUILD)" -j $(JOBS)
	@scripts/bench.sh "$(BUILD)"

.PHONY: fuzz
fuzz: ## fuzz file readers and public calls with libFuzzer (clang); SECONDS_EACH=60
	@scripts/setup.sh fuzz
	@CC=clang $(call configure,build-fuzz) -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWEFT_FUZZ=ON \
	    -DWEFT_CUDA=OFF -DWEFT_TESTS=OFF
	@cmake --build build-fuzz -j $(JOBS) --target weft_fuzzers
	@scripts/fuzz.sh build-fuzz $(or $(SECONDS_EACH),60)

.PHONY: site
site: ## build the documentation as pages, build-site/index.html (Python's standard library alone)
	@scripts/setup.sh site
	@python3 scripts/site/build.py build-site

.PHONY: fresh-test
fresh-test: ## on fresh Debian systems in folders: README's first command, and packages and wheel if they are built
	@scripts/fresh.sh

.PHONY: install
install: all ## install under PREFIX, /usr/local unless told otherwise
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)"
	@cp "$(BUILD)/install_manifest.txt" "$(BUILD)/installed.txt"

.PHONY: uninstall
uninstall: ## remove what the last `make install` installed
	@scripts/uninstall.sh "$(BUILD)/installed.txt"

.PHONY: tarball
tarball: all ## what `make install` installs, as one archive in $(BUILD), to be unpacked anywhere
	@cd "$(BUILD)" && cpack -G TGZ

.PHONY: deb
deb: ## build Debian packages in build-deb; WEFT_CUDA=OFF leaves GPU places out, which is quicker
	@scripts/setup.sh deb
	@WEFT_CUDA=$(WEFT_CUDA) WEFT_MPI=$(WEFT_MPI) scripts/deb.sh $(JOBS)

.PHONY: deb-test
deb-test: ## use the packages that are in build-deb
	@scripts/deb_test.sh

.PHONY: abi
abi: ## compare the library's ABI with that of the last tag (abidiff), if there is one
	@scripts/abi.sh $(JOBS)

.PHONY: wheel
wheel: ## a wheel of the Python package with the library inside, in dist/
	@scripts/wheel.sh

.PHONY: format
format: ## format all C and CUDA sources with clang-format 14
	@scripts/format.sh -i

.PHONY: format-check
format-check: ## fail if `make format` would change a file
	@scripts/format.sh --dry-run -Werror

.PHONY: lint
lint: ## clang-tidy and cppcheck over the C sources
	@scripts/setup.sh lint
	@$(call configure,build-lint) -DWEFT_CUDA=OFF -DWEFT_TESTS=OFF
	@scripts/lint.sh build-lint

.PHONY: clean
clean: ## remove every build folder
	@rm -rf build build-abi build-asan build-bench build-cuda build-deb build-debug build-demo build-fuzz \
	    build-lint build-mutants build-sample build-site build-test build-wheel build-wheel-tools dist

.PHONY: help
help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22
