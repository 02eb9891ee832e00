"""C as a co-simulation FMU (FMI 2.0 or 3.0): sources, a description, and binaries where a compiler is there."""

from __future__ import annotations

import hashlib
import io
import platform
import sys
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from export.c.compiler import WARNINGS, compile_c, find_compiler, find_cross_compiler
from export.c.model import CModel, c_model
from export.c.text import CType
from export.fmu.units import base_unit
from export.forms import Form
from mor.data.ports import Port

SOURCES = {2: ("fmi2.c",), 3: ("fmi3.c", "fmi3_rest.c")}
HEADERS = {2: ("fmi2_types.h", "model_instance.h"), 3: ("fmi3_types.h", "model_instance.h")}


def fmu_file(model: Form | CModel, precision: str, version: int) -> tuple[bytes, list[str]]:
    """Return the FMU of FMI `version` (2 or 3) as the content of a zip file, and what had to be skipped."""
    form = model if isinstance(model, CModel) else c_model(model, precision)
    sources = fmu_sources(form, precision, version)
    token = sources.pop("token")
    content = {f"sources/{name}": text.encode() for name, text in sources.items()}
    names = [*SOURCES[version], f"{form.name}.c"]
    describe = _description2 if version == 2 else _description3
    content["modelDescription.xml"] = _xml(describe(form, token, names))
    if version == 3:
        content["sources/buildDescription.xml"] = _xml(_build_description(form, names))
    binary, skipped = _binary(form, sources, names, version)
    content |= binary
    return _zip(content), skipped


def fmu_sources(model: Form | CModel, precision: str, version: int) -> dict[str, str]:
    """Return the C files of the FMU by name, and under "token" the hash of them that identifies the FMU."""
    form = model if isinstance(model, CModel) else c_model(model, precision)
    folder = files("export") / "fmu" / "templates"
    texts = {name: (folder / name).read_text() for name in (*SOURCES[version], *HEADERS[version])}
    texts |= {f"{form.name}.h": form.header, f"{form.name}.c": form.source}
    digest = hashlib.sha256("\0".join(f"{k}\0{v}" for k, v in sorted(texts.items())).encode()).hexdigest()
    token = "{" + "-".join([digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]]) + "}"
    texts["model_config.h"] = _config(form, token)
    return texts | {"token": token}


def start_values(form: CModel) -> list[float]:
    """Return the start value of each input: zero, or the end of its range next to zero."""
    return [float(v) for v in np.clip(0.0, form.lower, form.upper)]


def _config(form: CModel, token: str) -> str:
    t = CType(form.precision)
    name, upper = form.name, form.name.upper()
    dt = form.dt or 0.0
    text = (
        "The communication step must not be negative."
        if form.dt is None
        else f"The communication step must be a whole multiple of {dt:.9g} s, the step of the model."
    )
    start = ", ".join(t.literal(v) for v in start_values(form))
    return f"""\
/* What the FMI functions need to know of model {name}. */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "{name}.h"

#define MODEL_TOKEN "{token}"
#define MODEL_REAL {t.name}
#define MODEL_RESET {name}_reset
#define MODEL_STEP {name}_step
#define MODEL_OUTSIDE {name}_outside
#define MODEL_INPUTS {upper}_N_INPUTS
#define MODEL_OUTPUTS {upper}_N_OUTPUTS
#define MODEL_STATES {upper}_N_STATE
#define MODEL_TIMED {int(form.dt is not None)}
#define MODEL_SECONDS {CType("float64").literal(dt)}
#define MODEL_START {{{start}}}
#define MODEL_STEP_SIZE_TEXT "{text}"

#endif
"""


def _units(form: CModel) -> ET.Element:
    top = ET.Element("UnitDefinitions")
    for unit in sorted({p.unit for p in (*form.inputs, *form.outputs) if p.unit}):
        entry = ET.SubElement(top, "Unit", name=unit)
        known = base_unit(unit)
        if known is not None:
            exponents, factor = known
            values = {name: str(n) for name, n in exponents.items()}
            ET.SubElement(entry, "BaseUnit", values | ({"factor": repr(factor)} if factor != 1.0 else {}))
    return top


def _variables(form: CModel) -> list[tuple[Port, str, dict[str, str]]]:
    """Return (port, causality, attributes of its type) of every input and output, in order of value reference."""
    rows = []
    for port, low, high, start in zip(form.inputs, form.lower, form.upper, start_values(form), strict=True):
        rows.append((port, "input", _range(low, high) | {"start": repr(start)}))
    for i, port in enumerate(form.outputs):
        ranges = form.output_ranges
        rows.append((port, "output", {} if ranges is None else _range(ranges[0][i], ranges[1][i])))
    return [(p, c, ({"unit": p.unit} if p.unit else {}) | extra) for p, c, extra in rows]


def _range(low: float, high: float) -> dict[str, str]:
    """Return the attributes of a range; infinite ends are left out."""
    ends = {"min": float(low), "max": float(high)}
    return {name: repr(end) for name, end in ends.items() if np.isfinite(end)}


def _root(form: CModel, version: str, identity: dict[str, str]) -> ET.Element:
    return ET.Element(
        "fmiModelDescription",
        {"fmiVersion": version, "modelName": form.name, **identity, "description": form.text}
        | {"generationTool": "hybrid-mor", "variableNamingConvention": "flat"},
    )


def _description2(form: CModel, token: str, sources: list[str]) -> ET.Element:
    root = _root(form, "2.0", {"guid": token})
    root.set("numberOfEventIndicators", "0")
    fixed = form.dt is not None
    slave = ET.SubElement(
        root,
        "CoSimulation",
        modelIdentifier=form.name,
        canHandleVariableCommunicationStepSize="false" if fixed else "true",
        canGetAndSetFMUstate="true",
        canSerializeFMUstate="true",
    )
    listed = ET.SubElement(slave, "SourceFiles")
    for name in sources:
        ET.SubElement(listed, "File", name=name)
    _shared(root, form)
    variables = ET.SubElement(root, "ModelVariables")
    for reference, (port, causality, attributes) in enumerate(_variables(form), 1):
        scalar = ET.SubElement(
            variables,
            "ScalarVariable",
            {"name": port.name, "valueReference": str(reference), "causality": causality, "variability": "continuous"}
            | ({"initial": "calculated"} if causality == "output" else {}),
        )
        ET.SubElement(scalar, "Real", attributes)
    structure = ET.SubElement(root, "ModelStructure")
    n_in = len(form.inputs)
    for section in ("Outputs", "InitialUnknowns"):
        part = ET.SubElement(structure, section)
        for i in range(len(form.outputs)):
            ET.SubElement(part, "Unknown", {"index": str(n_in + 1 + i)} | _dependencies(form))
    return root


def _dependencies(form: CModel) -> dict[str, str]:
    references = [str(i + 1) for i in range(len(form.inputs))]
    return {"dependencies": " ".join(references), "dependenciesKind": " ".join(["dependent"] * len(references))}


def _shared(root: ET.Element, form: CModel) -> None:
    """Append what both standards write alike: units, log categories, default experiment."""
    units = _units(form)
    if len(units):  # the schema wants at least one in it
        root.append(units)
    categories = ET.SubElement(root, "LogCategories")
    for name in ("logStatusError", "logStatusDiscard", "logStatusWarning"):
        ET.SubElement(categories, "Category", name=name)
    step = {} if form.dt is None else {"stepSize": repr(form.dt)}
    ET.SubElement(root, "DefaultExperiment", {"startTime": "0.0"} | step)


def _description3(form: CModel, token: str, sources: list[str]) -> ET.Element:
    root = _root(form, "3.0", {"instantiationToken": token})
    attributes = {
        "modelIdentifier": form.name,
        "canHandleVariableCommunicationStepSize": "true" if form.dt is None else "false",
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
    }
    if form.dt is not None:
        attributes["fixedInternalStepSize"] = repr(form.dt)
    ET.SubElement(root, "CoSimulation", attributes)
    _shared(root, form)
    variables = ET.SubElement(root, "ModelVariables")
    ET.SubElement(
        variables, "Float64", name="time", valueReference="0", causality="independent", variability="continuous"
    )
    for reference, (port, causality, extra) in enumerate(_variables(form), 1):
        ET.SubElement(
            variables,
            "Float64",
            {"name": port.name, "valueReference": str(reference), "causality": causality, "variability": "continuous"}
            | ({"initial": "calculated"} if causality == "output" else {})
            | extra,
        )
    structure = ET.SubElement(root, "ModelStructure")
    for section in ("Output", "InitialUnknown"):
        for i in range(len(form.outputs)):
            which = {"valueReference": str(len(form.inputs) + 1 + i)}
            ET.SubElement(structure, section, which | _dependencies(form))
    return root


def _build_description(form: CModel, sources: list[str]) -> ET.Element:
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    build = ET.SubElement(root, "BuildConfiguration", modelIdentifier=form.name)
    file_set = ET.SubElement(build, "SourceFileSet", language="C99")
    for name in sources:
        ET.SubElement(file_set, "SourceFile", name=name)
    ET.SubElement(build, "Library", name="m", description="C mathematics library")
    return root


def _xml(root: ET.Element) -> bytes:
    ET.indent(root)
    content: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _binary(
    form: CModel, sources: dict[str, str], names: list[str], version: int
) -> tuple[dict[str, bytes], list[str]]:
    """Compile the sources for this host, and for Windows where mingw is installed; say what was skipped."""
    what = f"binary in the FMI {version}.0 FMU of '{form.name}'"
    found: dict[str, bytes] = {}
    skipped = []
    compiler, windows = find_compiler(), find_cross_compiler()
    if sys.platform != "linux" or platform.machine() != "x86_64":
        skipped.append(f"The {what} was skipped: it is made on 64-bit Linux only; the sources are in the FMU.")
    elif compiler is None:
        skipped.append(
            f"The {what} was skipped: no C compiler was found (cc, gcc, clang or CC); the sources are in it."
        )
    else:
        folder = "linux64" if version == 2 else "x86_64-linux"
        found[f"binaries/{folder}/{form.name}.so"] = _compiled(sources, names, compiler, windows=False)
    if windows is not None:
        folder = "win64" if version == 2 else "x86_64-windows"
        found[f"binaries/{folder}/{form.name}.dll"] = _compiled(sources, names, windows, windows=True)
    return found, skipped


def _compiled(sources: dict[str, str], names: list[str], compiler: str, *, windows: bool) -> bytes:
    """Compile the sources to a shared library and return it."""
    # neither time nor path goes into the library: the same model gives the same bytes
    options = ("-static-libgcc", "-Wl,--no-insert-timestamp,--disable-auto-image-base") if windows else ()
    warnings = ("-Wall",) if windows else WARNINGS  # mingw's own isfinite() converts
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        for name, text in sources.items():
            (work / name).write_text(text)
        paths = [work / name for name in names]
        target = work / ("library.dll" if windows else "library.so")
        flags = ("-O3", "-s", *options)
        library = compile_c(paths, target, compiler=compiler, shared=True, options=flags, warnings=warnings)
        return library.read_bytes()


def _zip(content: dict[str, bytes]) -> bytes:
    """Pack files without time stamps, so that the same model gives the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(content.items()):
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o755 if name.endswith((".so", ".dll")) else 0o644) << 16
            archive.writestr(info, data)
    return stream.getvalue()
