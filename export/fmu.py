"""A form as a co-simulation FMU (FMI 2.0 or 3.0): C sources, a description, and a binary where a compiler is there."""

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

from export.c_source import c_header, c_source
from export.c_text import CType
from export.compiler import compile_c, find_compiler
from export.fmu_units import base_unit
from export.forms import Form
from mor.ports import Port

SOURCES = {2: ("fmi2.c",), 3: ("fmi3.c", "fmi3_rest.c")}
HEADERS = {2: ("fmi2_types.h", "model_instance.h"), 3: ("fmi3_types.h", "model_instance.h")}


def fmu_file(form: Form, precision: str, version: int) -> tuple[bytes, list[str]]:
    """Return the FMU of FMI `version` (2 or 3) as the content of a zip file, and what had to be skipped."""
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


def fmu_sources(form: Form, precision: str, version: int) -> dict[str, str]:
    """Return the C files of the FMU by name, and under "token" the hash of them that identifies the FMU."""
    folder = files("export") / "fmi"
    texts = {name: (folder / name).read_text() for name in (*SOURCES[version], *HEADERS[version])}
    texts |= {f"{form.name}.h": c_header(form, precision), f"{form.name}.c": c_source(form, precision)}
    digest = hashlib.sha256("\0".join(f"{k}\0{v}" for k, v in sorted(texts.items())).encode()).hexdigest()
    token = "{" + "-".join([digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]]) + "}"
    texts["model_config.h"] = _config(form, precision, token)
    return texts | {"token": token}


def start_values(form: Form) -> list[float]:
    """Return the start value of each input: zero, or the end of its range next to zero."""
    n = len(form.inputs)
    return [float(v) for v in np.clip(0.0, form.domain[0][:n], form.domain[1][:n])]


def _config(form: Form, precision: str, token: str) -> str:
    t = CType(precision)
    name, upper = form.name, form.name.upper()
    dt = 0.0 if form.recursion is None else form.recursion.dt
    text = (
        "The communication step must not be negative."
        if form.recursion is None
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
#define MODEL_SECONDS {CType("float64").literal(dt)}
#define MODEL_START {{{start}}}
#define MODEL_STEP_SIZE_TEXT "{text}"

#endif
"""


def _units(form: Form) -> ET.Element:
    top = ET.Element("UnitDefinitions")
    for unit in sorted({p.unit for p in (*form.inputs, *form.outputs) if p.unit}):
        entry = ET.SubElement(top, "Unit", name=unit)
        known = base_unit(unit)
        if known is not None:
            exponents, factor = known
            values = {name: str(n) for name, n in exponents.items()}
            ET.SubElement(entry, "BaseUnit", values | ({"factor": repr(factor)} if factor != 1.0 else {}))
    return top


def _variables(form: Form) -> list[tuple[Port, str, dict[str, str]]]:
    """Return (port, causality, attributes of its type) of every input and output, in order of value reference."""
    rows = []
    lower, upper = form.domain
    for port, low, high, start in zip(form.inputs, lower, upper, start_values(form), strict=False):
        rows.append((port, "input", {"min": repr(float(low)), "max": repr(float(high)), "start": repr(start)}))
    for i, port in enumerate(form.outputs):
        extra = {}
        if form.recursion is not None:
            low, high = (float(b[i]) for b in form.recursion.bounds)
            extra = {"min": repr(low), "max": repr(high)}
        rows.append((port, "output", extra))
    return [(p, c, ({"unit": p.unit} if p.unit else {}) | extra) for p, c, extra in rows]


def _root(form: Form, version: str, identity: dict[str, str]) -> ET.Element:
    text = f"Reduced model ({form.kind}) of {', '.join(p.name for p in form.outputs)}"
    return ET.Element(
        "fmiModelDescription",
        {"fmiVersion": version, "modelName": form.name, **identity, "description": text}
        | {"generationTool": "hybrid-mor", "variableNamingConvention": "flat"},
    )


def _description2(form: Form, token: str, sources: list[str]) -> ET.Element:
    root = _root(form, "2.0", {"guid": token})
    root.set("numberOfEventIndicators", "0")
    fixed = form.recursion is not None
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


def _dependencies(form: Form) -> dict[str, str]:
    references = [str(i + 1) for i in range(len(form.inputs))]
    return {"dependencies": " ".join(references), "dependenciesKind": " ".join(["dependent"] * len(references))}


def _shared(root: ET.Element, form: Form) -> None:
    """Append what both standards write alike: units, log categories, default experiment."""
    root.append(_units(form))
    categories = ET.SubElement(root, "LogCategories")
    for name in ("logStatusError", "logStatusWarning"):
        ET.SubElement(categories, "Category", name=name)
    step = {} if form.recursion is None else {"stepSize": repr(form.recursion.dt)}
    ET.SubElement(root, "DefaultExperiment", {"startTime": "0.0"} | step)


def _description3(form: Form, token: str, sources: list[str]) -> ET.Element:
    root = _root(form, "3.0", {"instantiationToken": token})
    attributes = {
        "modelIdentifier": form.name,
        "canHandleVariableCommunicationStepSize": "true" if form.recursion is None else "false",
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
    }
    if form.recursion is not None:
        attributes["fixedInternalStepSize"] = repr(form.recursion.dt)
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


def _build_description(form: Form, sources: list[str]) -> ET.Element:
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


def _binary(form: Form, sources: dict[str, str], names: list[str], version: int) -> tuple[dict[str, bytes], list[str]]:
    """Compile the sources for this host; without a compiler or on another system say what was skipped."""
    what = f"binary in the FMI {version}.0 FMU of '{form.name}'"
    machine = platform.machine()
    if sys.platform != "linux" or machine != "x86_64":
        return {}, [f"The {what} was skipped: it is made on 64-bit Linux only; the sources are in the FMU."]
    compiler = find_compiler()
    if compiler is None:
        return {}, [f"The {what} was skipped: no C compiler was found (cc, gcc, clang or CC); the sources are in it."]
    folder = "linux64" if version == 2 else "x86_64-linux"
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        for name, text in sources.items():
            (work / name).write_text(text)
        library = work / f"{form.name}.so"
        compile_c([work / name for name in names], library, compiler=compiler, shared=True, options=("-O2", "-s"))
        return {f"binaries/{folder}/{form.name}.so": library.read_bytes()}, []


def _zip(content: dict[str, bytes]) -> bytes:
    """Pack files without time stamps, so that the same model gives the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(content.items()):
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(info, data)
    return stream.getvalue()
