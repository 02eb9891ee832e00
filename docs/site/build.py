"""Build the documentation site: pages, API reference from the docstrings, gallery of the examples. No network.

    python docs/site/build.py OUTPUT

The pages keep their places relative to each other, so that their links work in the repository and on the site alike.
Warnings (a dead link, a docstring that cannot be read) are errors.
"""

from __future__ import annotations

import importlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("mor", "training", "export", "rt_runtime")
INDEX = """\
```{{include}} README.md
```

```{{toctree}}
:hidden:
:caption: Start

docs/README
docs/getting_started
docs/glossary
gallery
```

```{{toctree}}
:hidden:
:caption: Tutorials
:glob:

docs/tutorials/*
```

```{{toctree}}
:hidden:
:caption: How to
:glob:

docs/how_to/*
```

```{{toctree}}
:hidden:
:caption: Look up

{pages}
```

```{{toctree}}
:hidden:
:caption: API

{api}
```

```{{toctree}}
:hidden:
:caption: Project

README
examples/README
CONTRIBUTING
CHANGELOG
```
"""


def copy_pages(stage: Path) -> list[str]:
    """Copy the pages of the repository and what they link to; return the names of the pages to look things up in."""
    listed = subprocess.run(["git", "ls-files", "docs", "*.md", "examples"], cwd=ROOT, capture_output=True, text=True)
    for name in listed.stdout.split():
        if not name.startswith(("docs/site/", "tests/", "hmor/")):
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, stage / name)
    for file in ("LICENSE", "Makefile", "pyproject.toml"):
        shutil.copy(ROOT / file, stage / file)
    shown = {"README", "getting_started", "glossary"}
    return sorted(f"docs/{page.stem}" for page in (stage / "docs").glob("*.md") if page.stem not in shown)


def public_names(package: str) -> dict[str, list[tuple[str, object]]]:
    """Public names of a package, grouped by the room that they come from."""
    module = importlib.import_module(package)
    rooms: dict[str, list[tuple[str, object]]] = {}
    for name, value in sorted(vars(module).items()):
        home = getattr(value, "__module__", "")
        if name.startswith("_") or inspect.ismodule(value) or not str(home).startswith(package):
            continue
        room = ".".join(str(home).split(".")[:2])
        rooms.setdefault(room, []).append((name, value))
    return rooms


def write_api(stage: Path, package: str) -> str:
    """Write the page of a package: its rooms, and in each its public names with their docstrings."""
    lines = [f"# {package}", "", inspect.getdoc(importlib.import_module(package)) or "", ""]
    for room, names in sorted(public_names(package).items()):
        lines += [f"## {room}", "", inspect.getdoc(importlib.import_module(room)) or "", ""]
        for name, value in names:
            kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
            members = ["   :members:"] if kind == "class" else []
            lines += ["```{eval-rst}", f".. auto{kind}:: {package}.{name}", *members, "```", ""]
    (stage / "api").mkdir(exist_ok=True)
    (stage / "api" / f"{package}.md").write_text("\n".join(lines))
    return f"api/{package}"


def write_gallery(stage: Path) -> None:
    """Run every example and show its picture above its code."""
    folder = stage / "gallery"
    folder.mkdir()
    lines = ["# Gallery", "", "Short scripts of `examples/`, each run when this page was built.", ""]
    for example in sorted((ROOT / "examples").glob("[0-9]*.py")):
        variables = os.environ | {"MPLBACKEND": "Agg"}
        subprocess.run([sys.executable, str(example)], cwd=folder, env=variables, check=True, stdout=subprocess.DEVNULL)
        text = example.read_text()
        said = text.split('"""')[1]
        title = example.stem[3:].replace("_", " ").capitalize()
        lines += [f"## {title}", "", said, "", f"![{said}](gallery/{example.stem}.png)", ""]
        lines += [f"```{{literalinclude}} examples/{example.name}", ":language: python", "```", ""]
    (stage / "gallery.md").write_text("\n".join(lines))


def main() -> int:
    """Gather, then build; return Sphinx's exit code."""
    output = Path(sys.argv[1]).resolve()
    stage = output.with_name(output.name + "-pages")
    shutil.rmtree(stage, ignore_errors=True)
    shutil.rmtree(output, ignore_errors=True)
    stage.mkdir(parents=True)
    pages = copy_pages(stage)
    api = [write_api(stage, package) for package in PACKAGES]
    write_gallery(stage)
    (stage / "index.md").write_text(INDEX.format(pages="\n".join(pages), api="\n".join(api)))
    options = ["-W", "--keep-going", "-q", "-b", "html", "-c", str(Path(__file__).parent)]
    return int(sphinx_build([*options, str(stage), str(output)]))


if __name__ == "__main__":
    sys.exit(main())
