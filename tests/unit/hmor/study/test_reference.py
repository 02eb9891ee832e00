"""The page of all keys of a study file is that of the classes."""

from __future__ import annotations

from pathlib import Path

from hmor.study.reference import page

PAGE = Path(__file__).resolve().parents[4] / "docs" / "study_file.md"


def test_the_page_of_keys_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "write it anew: .venv/bin/python -m hmor.study.reference > docs/study_file.md"


def test_the_page_knows_keys_of_all_depths() -> None:
    text = page()
    for part in (
        "## `[study]`",
        "| `name` | text | required |",
        "| `action` |",
        '## `[parts.NAME.models.NAME]` with `kind = "pce"`',
        "| `hidden` |",
    ):
        assert part in text
