"""A bundle with any bytes changed is refused with a BundleError or read as it was; never anything else."""

from __future__ import annotations

import contextlib
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from export import write
from rt_runtime.bundle.checks import check_description
from rt_runtime.bundle.files import safe_name
from rt_runtime.bundle.read import read_bundle
from rt_runtime.errors import BundleError
from tests.reference.exported_models import network_with_memory


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fuzz")
    folder = write(network_with_memory(), place / "b", targets=("onnx",)).path
    file = place / "b.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in sorted(folder.iterdir()):
            archive.write(one, one.name)
    return file


@given(data=st.data())
def test_changed_bytes_of_a_zip(packed: Path, data: st.DataObject) -> None:
    content = bytearray(packed.read_bytes())
    original = read_bundle(packed).content
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    broken = packed.with_name("broken.zip")
    broken.write_bytes(content)
    with contextlib.suppress(BundleError):
        assert read_bundle(broken).content == original


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def paths(value: object, prefix: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Every place in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [prefix, *(path for key, item in inner for path in paths(item, (*prefix, key)))]


@given(data=st.data())
def test_descriptions_with_anything_anywhere(packed: Path, data: st.DataObject) -> None:
    description = json.loads(json.dumps(read_bundle(packed).description))
    place = data.draw(st.sampled_from(paths(description)[1:]))
    target = description
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = data.draw(JSON)
    problems = check_description(description)
    assert all(isinstance(problem, str) and problem.endswith(".") for problem in problems)


@given(st.text(max_size=30))
def test_safe_names_stay_inside(name: str) -> None:
    if safe_name(name):
        assert (Path("/bundle") / name).resolve().is_relative_to("/bundle")
        assert "\\" not in name and "\0" not in name and not name.startswith("/")
