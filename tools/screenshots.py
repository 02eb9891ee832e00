"""Make the pictures of docs/console.md: a real test, its console in headless Chromium, its text view, its report.

    .venv/bin/python tools/screenshots.py [FOLDER]       # docs/pictures if not given

Needs the extras console and browser, and Chromium. The pictures differ a little each time: the test runs on the clock.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
if True:  # after the path is set
    from hmor.console.lamps import Recent, lamps
    from hmor.console.text import View, layout
    from hmor.report.run import run_report
    from rt_runtime import Status, _core
    from rt_runtime.engine.pacing import STATES
    from rt_runtime.files import read_json
    from tests.fixtures.desk import Page, RunningTest, chromium, patient_rules, running_test

COLOURS = 128
STUDY = """
[study]
name = "spring_test"

[run]
loop = "hmor.rigs:sine_target"
settings = { amplitude = 0.01, frequency = 0.5 }
rate = 1000.0
duration = 60.0
start = "operator"
sheet = ["Hydraulics on, area clear", "Emergency stop tried today"]
critical_delay = 0.05
tracking = { target = "command", measured = "position" }

[run.actuator]
kind = "udp"
rig = "spring"
measured = { position = "m", force = "N" }

[[run.commands]]
wanted = "wanted"
name = "command"
lower = -0.02
upper = 0.02
rate = 0.5
measured = "position"
stiffness = 1e5

[[run.rules]]
name = "force"
signal = "force"
most = 2000.0
action = "hold"

[[run.rules]]
name = "stroke"
signal = "position"
most = 0.018

[run.manners]
soft_start = 0.5
hold_limit = 600.0
"""


def shoot(page: Page, file: Path, theme: str = "light") -> None:
    """Take a picture of a page as it is, in few colours."""
    from PIL import Image

    page.evaluate(f"document.documentElement.dataset.theme !== '{theme}' && document.getElementById('theme')?.click()")
    page.page.wait_for_timeout(400)
    picture = Image.open(io.BytesIO(page.page.screenshot()))
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file}: {file.stat().st_size / 1024:.0f} KB", file=sys.stderr)


def text_view(browser: Any, test: RunningTest, file: Path) -> None:
    """Draw the view of a terminal as it stands."""
    from rich.console import Console

    page = Page.open(browser, "about:blank", width=1200, height=640)
    about, look = read_json(test.run_folder / "live.json", "live.json"), test.tell("look")
    reader = _core.LiveReader(about["live"])
    page.page.wait_for_timeout(200)
    now, seen = reader.status, Recent(reader, about).extremes()
    status = Status(now["tick"], 0, now["missed"], STATES[now["state"]], now["lost"], False, now["test_tick"])
    console = Console(width=118, record=True, file=io.StringIO(), force_terminal=True)
    console.print(layout(about, look, status, View(lamps(about, now, seen, look["wake_us"]), seen), rows=12))
    drawn = console.export_svg(title="hmor run spring_test")
    page.page.set_content(f"<body style='margin:0;background:#fff'>{drawn}</body>")
    shoot(page, file)
    page.close()


def pictures(folder: Path, place: Path) -> None:
    """Run the test once and take every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser, running_test(place, STUDY + patient_rules("pictures are made on any host")) as test:
        desk = Page.open(browser, test.operator)
        desk.state("checked")
        desk.until("document.querySelectorAll('#items li').length && !document.querySelector('#items li.open')")
        shoot(desk, folder / "console_sheet.png")
        desk.tick_sheet()
        for _ in range(2):
            desk.page.click("#arm", force=True)
        desk.state("armed")
        desk.page.click("#start", force=True)
        desk.state("running")
        tablet = Page.open(browser, test.viewer, width=820, height=1180)
        tablet.state("running")
        desk.until("hmor.store.t.at(-1) > 16")
        shoot(desk, folder / "console_running.png")
        shoot(tablet, folder / "console_tablet.png")
        tablet.close()
        text_view(browser, test, folder / "console_text.png")
        test.tell("limit", rule="force", lower=-900.0, upper=900.0)
        desk.state("holding")
        desk.until("hmor.store.t.at(-1) > 22")
        shoot(desk, folder / "console_holding.png", "dark")
        desk.page.click("#stop", force=True)
        desk.page.wait_for_selector("#summary:not([hidden])")
        test.end()
        test.console()
        replay = Page.open(browser, test.operator)
        replay.state("replay")
        replay.until("hmor.store.t.length > 100")
        shoot(replay, folder / "console_replay.png")
        report = Page.open(browser, run_report(test.run_folder).as_uri(), width=1000, height=1100)
        shoot(report, folder / "run_report.png")
        report.page.pdf(path=str(place / "report.pdf"), format="A4", print_background=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures", Path(made))
