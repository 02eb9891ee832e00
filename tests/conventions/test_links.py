"""Links in the pages lead somewhere: relative files exist, anchors are headings."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).is_file()]


def anchor(heading: str) -> str:
    """Return the anchor a heading gets: small letters, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    return {anchor(match) for match in re.findall(r"^#+ (.*)$", text, flags=re.M)}


def dead_links(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    dead = []
    for link in LINK.findall(text):
        if "://" in link:
            continue
        path, _, part = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (part and target.suffix == ".md" and part not in anchors(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not dead_links(page)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Two words, here\n")
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](other.md#two-words-here) [b](gone.md) [c](other.md#three) [d](#one) [e](https://x.y)\n")
    assert dead_links(page) == ["gone.md", "other.md#three"]


def test_every_page_of_the_docs_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    missing = [p for p in pages() if (ROOT / "docs") in p.parents and p != index and p.resolve() not in linked]
    assert not missing
