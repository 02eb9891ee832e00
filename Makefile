# Two commands: `make demo` and `make test`. Both create .venv, install the pinned packages and build the C++ core once.
VENV  := .venv
PY    := $(VENV)/bin/python
PIP   := PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip install --quiet --constraint constraints.txt
CORE  := rt_runtime/CMakeLists.txt $(wildcard rt_runtime/core/*.hpp rt_runtime/core/*.cpp rt_runtime/core/*/*.hpp rt_runtime/core/*/*.cpp)
CPP_TESTS := $(wildcard tests/cpp/*)
PYTEST_ARGS ?= -n 2

.PHONY: demo test build lint types cpp pytest sanitize bench stub clean

demo: build
	$(VENV)/bin/hmor demo

test: lint types cpp pytest

build: $(VENV)/.built

$(VENV)/.packages: pyproject.toml constraints.txt
	test -x $(PY) || python3 -m venv $(VENV)
	$(PIP) scikit-build-core nanobind cmake ninja
	touch $@

$(VENV)/.built: $(VENV)/.packages $(CORE)
	$(PIP) --no-build-isolation --editable '.[train,dask,test]'
	touch $@

lint: build
	$(PY) -m ruff check .

types: build
	$(PY) -m mypy

cpp: build/cpp/.built
	cd build/cpp && ../../$(VENV)/bin/ctest --output-on-failure

build/cpp/.built: $(VENV)/.packages $(CORE) $(CPP_TESTS)
	$(VENV)/bin/cmake -S rt_runtime -B build/cpp -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(VENV))/bin/ninja \
	  -DCMAKE_BUILD_TYPE=Release -DHMOR_TESTS=ON -DHMOR_PYTHON=OFF > /dev/null
	$(VENV)/bin/cmake --build build/cpp
	touch $@

# The tests run side by side already: threads of the linear algebra would stand in their way.
pytest: build
	OPENBLAS_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS)

# ASan + UBSan over the C++ tests.
sanitize: $(VENV)/.packages
	$(VENV)/bin/cmake -S rt_runtime -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(VENV))/bin/ninja \
	  -DCMAKE_BUILD_TYPE=Debug -DHMOR_TESTS=ON -DHMOR_PYTHON=OFF -DHMOR_SANITIZE=ON > /dev/null
	$(VENV)/bin/cmake --build build/sanitize
	cd build/sanitize && ../../$(VENV)/bin/ctest --output-on-failure

bench: build
	$(VENV)/bin/hmor bench

# The type stub of the core, to be renewed after a change of its Python interface.
stub: build
	$(PY) -m nanobind.stubgen -m rt_runtime._core -o rt_runtime/_core.pyi

clean:
	rm -rf $(VENV) build
