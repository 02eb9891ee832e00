"""MATLAB's world, asked through Octave: attributes that ncinfo reads, and the MEX gateway against golden vectors."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from export import write, write_controller
from export.c.compiler import find_compiler
from export.c.mex import mex_source
from export.c.model import c_model
from export.forms import form_of
from mor import Port, Trajectory
from rt_runtime import Gain, Loop, PiLead
from tests.reference.exported_models import network_with_memory

OCTAVE, MKOCTFILE = shutil.which("octave"), shutil.which("mkoctfile")
needs_octave = pytest.mark.skipif(OCTAVE is None, reason="octave is not installed; it stands in for MATLAB here")
needs_mex = pytest.mark.skipif(
    OCTAVE is None or MKOCTFILE is None, reason="octave and mkoctfile are not installed; they build and run MEX files"
)


def octave(folder: Path, script: str) -> str:
    (folder / "ask.m").write_text(script)
    done = subprocess.run(
        [str(OCTAVE), "--no-gui", "-q", "ask.m"], cwd=folder, capture_output=True, text=True, timeout=300
    )
    return done.stdout if "DONE" in done.stdout else pytest.fail(done.stdout + done.stderr)


@needs_octave
def test_ncinfo_reads_records_and_trajectories(tmp_path: Path) -> None:
    loop = Loop(10.0)
    loop.constant("c", 1.5, unit="m")
    loop.signal("y")
    loop.add("gain", Gain(2.0), inputs=["c"], outputs=["y"])
    loop.run(1.0).save(tmp_path / "record.nc")
    Trajectory(np.arange(3.0), np.ones((3, 1)), (Port("a", "N"),)).save(tmp_path / "run.nc")
    if "NONE" in octave(tmp_path, "if isempty(pkg('list', 'netcdf')), disp('NONE'), end, disp('DONE')"):
        pytest.skip("the package netcdf of octave is not installed")
    said = octave(
        tmp_path,
        "pkg load netcdf\n"
        "i = ncinfo('record.nc'); printf('%s|', i.Variables.Name); printf('%s|', i.Attributes.Name);\n"
        "printf('%s|', ncreadatt('record.nc', '/', 'ended'), ncreadatt('record.nc', 'c', 'units'));\n"
        "printf('%g|', ncread('record.nc', 'y')(end)); printf('%s|', ncreadatt('run.nc', 'a', 'units')); disp('DONE')\n",
    )
    words = set(said.split("|"))
    assert {"c", "y", "time", "format", "ended", "finished", "m", "3", "N"} <= words


@needs_mex
def test_mex_meets_the_golden_vectors(tmp_path: Path) -> None:
    bundle = write(network_with_memory(), tmp_path / "bundle", name="brake", targets=("c",))
    write_controller(PiLead(2.0, 95.0, dt=1e-3, bounds=(-1, 1)), tmp_path / "ctl", name="pi", targets=("c",))
    golden = bundle.model.golden
    pi = np.load(tmp_path / "ctl" / "golden.npz")
    asked = {"brake": (golden.u, golden.y), "pi": (pi["u"], pi["y"])}
    for name, folder in (("brake", "bundle/c"), ("pi", "ctl/c")):
        sources = [str(tmp_path / folder / f"{name}{end}.c") for end in ("_mex", "")]
        command = [str(MKOCTFILE), "--mex", "-ffp-contract=off", f"-I{tmp_path / folder}", *sources]
        subprocess.run(
            [*command, "-o", str(tmp_path / f"{name}_mex.mex")], check=True, capture_output=True, timeout=300
        )
        np.savetxt(tmp_path / f"{name}.txt", asked[name][0], fmt="%.17g")
    half = len(golden.u) // 2
    octave(
        tmp_path,
        "u = load('brake.txt'); y = brake_mex(u); save('-ascii', '-double', 'brake_y.txt', 'y');\n"
        f"[a, s] = brake_mex(u(1:{half}, :)); b = brake_mex(u({half + 1}:end, :), s); assert(isequal([a; b], y));\n"
        "u = load('pi.txt'); y = pi_mex(u); save('-ascii', '-double', 'pi_y.txt', 'y');\n"
        "try, brake_mex(1), catch e, disp(e.message), end, disp('DONE')\n",
    )
    for name, (_, y) in asked.items():
        got = np.loadtxt(tmp_path / f"{name}_y.txt", ndmin=2)
        assert np.abs(got - y).max() <= 1e-12 * np.abs(y).max()


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler was found (cc, gcc, clang or CC)")
def test_the_gateway_is_plain_c_for_any_mex_header(tmp_path: Path) -> None:
    """Without Octave: it compiles against the few declarations of mex.h that it uses."""
    model = c_model(form_of(network_with_memory(), "brake"), "float64")
    (tmp_path / "brake_mex.c").write_text(mex_source(model))
    (tmp_path / "brake.h").write_text(model.header)
    (tmp_path / "mex.h").write_text(
        "#include <stddef.h>\ntypedef struct mx mxArray;\nenum { mxREAL };\n"
        "int mxIsDouble(const mxArray *);\nint mxIsComplex(const mxArray *);\nint mxIsSparse(const mxArray *);\nsize_t mxGetN(const mxArray *);\n"
        "size_t mxGetM(const mxArray *);\nsize_t mxGetNumberOfElements(const mxArray *);\n"
        "double *mxGetPr(const mxArray *);\nmxArray *mxCreateDoubleMatrix(size_t, size_t, int);\n"
        "void mexErrMsgTxt(const char *);\n"
        "void mexFunction(int, mxArray *[], int, const mxArray *[]);\n"
    )
    command = [str(find_compiler()), "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "brake_mex.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "host.c").write_text(  # a matrix of the right size whose numbers are not all there
        '#include "mex.h"\n#include <stdlib.h>\nstruct mx { int sparse; };\n'
        "int mxIsDouble(const mxArray *a) { return a != 0; }\nint mxIsComplex(const mxArray *a) { return a == 0; }\n"
        "int mxIsSparse(const mxArray *a) { return a->sparse; }\nsize_t mxGetN(const mxArray *a) { return a ? 2 : 0; }\n"
        "size_t mxGetM(const mxArray *a) { (void)a; exit(1); }\n"
        "size_t mxGetNumberOfElements(const mxArray *a) { (void)a; exit(2); }\n"
        "double *mxGetPr(const mxArray *a) { (void)a; exit(3); }\n"
        "mxArray *mxCreateDoubleMatrix(size_t m, size_t n, int k) { (void)m; (void)n; (void)k; exit(4); }\n"
        "void mexErrMsgTxt(const char *text) { (void)text; exit(0); }\n"
        "int main(void) { mxArray u = {1}, *left[2]; const mxArray *right[1] = {&u}; mexFunction(1, left, 1, right);\n"
        "return 5; }\n"
    )
    (tmp_path / "brake.c").write_text(model.source)
    command = [str(find_compiler()), "-std=c99", "host.c", "brake_mex.c", "brake.c", "-o", "host", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run(["./host"], cwd=tmp_path).returncode == 0
