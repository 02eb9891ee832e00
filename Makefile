# Two commands: `make demo` and `make test`. Both create .venv, install the pinned packages and build the C++ core once.
VENV  := .venv
PY    := $(VENV)/bin/python
CORE  := rt_runtime/CMakeLists.txt $(wildcard rt_runtime/core/*/*.hpp rt_runtime/core/*/*.cpp)
CPP_TESTS := $(wildcard tests/cpp/*)
PYTEST_ARGS ?= -n 2
PACED_ARGS  ?=

.PHONY: demo test build site lint types cpp pytest sanitize fuzz soak bench stub clean

demo: build
	$(VENV)/bin/hmor demo

test: lint types cpp pytest

build: $(VENV)/.built

# The packages come with pip's build isolation, our own package without: its build tools are in the environment.
$(VENV)/.packages: pyproject.toml constraints.txt tools/install.py
	@python3 tools/install.py $(VENV) train
	@touch $@

$(VENV)/.test-packages: $(VENV)/.packages
	@python3 tools/install.py $(VENV) train chaospy dask cluster test opensees fem pymor console browser opcua calibrate
	@touch $@

$(VENV)/.built: $(VENV)/.packages $(CORE)
	@echo "Building the C++ core (about a minute the first time):"
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

lint: build $(VENV)/.test-packages
	$(PY) -m ruff check .
	$(PY) -m ruff format --check --quiet .

types: build $(VENV)/.test-packages
	$(PY) -m mypy

cpp: build/cpp/.built
	cd build/cpp && ../../$(VENV)/bin/ctest --output-on-failure

# They link the core that the Python module is made of.
build/cpp/.built: $(VENV)/.built $(CPP_TESTS)
	$(VENV)/bin/cmake -S rt_runtime -B build/cpp -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(VENV))/bin/ninja \
	  -DCMAKE_BUILD_TYPE=Release -DHMOR_TESTS=ON -DHMOR_PYTHON=OFF \
	  -DHMOR_CORE=$(abspath build/Release/libhmor_core.a) > /dev/null
	$(VENV)/bin/cmake --build build/cpp
	touch $@

# The tests run side by side already: threads of the linear algebra would stand in their way. Those against the clock come
# afterwards, one by one: beside other work they would judge the scheduler.
pytest: build $(VENV)/.test-packages
	OPENBLAS_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS) -m "not paced"
	OPENBLAS_NUM_THREADS=1 $(PY) -m pytest $(PACED_ARGS) -m paced

# The C++ tests under AddressSanitizer with UndefinedBehaviorSanitizer, and under ThreadSanitizer.
sanitize: $(VENV)/.packages
	@for kind in address,undefined thread; do \
	  echo "sanitize $$kind"; folder=build/sanitize-$${kind%%,*}; \
	  $(VENV)/bin/cmake -S rt_runtime -B $$folder -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(VENV))/bin/ninja \
	    -DCMAKE_BUILD_TYPE=Debug -DHMOR_TESTS=ON -DHMOR_PYTHON=OFF -DHMOR_SANITIZE=$$kind > /dev/null && \
	  $(VENV)/bin/cmake --build $$folder && (cd $$folder && ../../$(VENV)/bin/ctest --output-on-failure) || exit 1; \
	done

# The mutation fuzzer of bundles (CASES cases), then libFuzzer on datagrams, plans and bundles (SECONDS in all).
SECONDS ?= 600
CASES ?= 20000
$(VENV)/.fuzz-packages: $(VENV)/.test-packages
	@python3 tools/install.py $(VENV) train chaospy dask test fuzz
	@touch $@

fuzz: build $(VENV)/.fuzz-packages
	tests/fuzz/run.sh $(SECONDS) $(CASES)

# A guarded, paced test against a rig for ten minutes: memory, lost frames, histograms.
soak: build $(VENV)/.test-packages
	$(PY) tests/soak/soak.py --seconds $(SECONDS)

bench: build
	$(VENV)/bin/hmor bench

# The type stub of the core, to be renewed after a change of its Python interface.
stub: build
	$(PY) -m nanobind.stubgen -m rt_runtime._core -o rt_runtime/_core.pyi

clean:
	rm -rf $(VENV) build

# The documentation site: pages, API reference, gallery; warnings are errors. Needs the extra `docs`, no network.
site: build
	@python3 tools/install.py $(VENV) docs
	$(PY) docs/site/build.py build/site
	@echo "build/site/index.html"
