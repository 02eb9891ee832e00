"""The operator's desk in headless Chromium, with real tests against rigs in processes of their own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from rt_runtime import load_run
from rt_runtime.engine.pacing import STATES
from tests.fixtures.desk import ENVIRONMENT, HMOR, Page, chromium, running_test, study_text

pytestmark = [pytest.mark.slow, pytest.mark.paced, pytest.mark.timeout(900)]


def states_of(folder: Path) -> list[str]:
    codes = load_run(folder)["monitor.state"].astype(int)
    return [STATES[codes[i]] for i in np.flatnonzero(np.diff(codes, prepend=-1))]


def disabled(page: Page) -> dict[str, bool]:
    found: dict[str, bool] = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#orders button')].map(b => [b.id, b.disabled]))"
    )
    return found


def resident(process: int) -> int:
    """Memory of a process in kB."""
    with open(f"/proc/{process}/status") as status:
        found = re.search(r"VmRSS:\s+(\d+)", status.read())
    assert found
    return int(found[1])


@contextmanager
def frozen_browser(address: str) -> Iterator[subprocess.Popen[bytes]]:
    """Open a page in a Chromium of its own and stop all its processes while it receives."""
    with tempfile.TemporaryDirectory() as place:
        program = shutil.which("chromium") or "chromium"
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        flags += ["--disable-background-networking", "--remote-debugging-port=0", f"--user-data-dir={place}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([program, *flags, address], start_new_session=True, **quiet)  # type: ignore[call-overload]
        try:
            port = int(urlsplit(address).port or 0)
            until = time.monotonic() + 120
            while sum(connected(port, one) for one in group(process.pid)) == 0:
                assert time.monotonic() < until
                time.sleep(0.1)
            time.sleep(1.0)  # the socket of the page comes after its files
            os.killpg(process.pid, signal.SIGSTOP)
            yield process
        finally:
            os.killpg(process.pid, signal.SIGCONT)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def group(leader: int) -> list[int]:
    """Processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(path.name)) == leader:
                found.append(int(path.name))
    return found


def connected(port: int, process: int) -> bool:
    """Tell whether a process has a connection to a port of this machine."""
    sockets = set()
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                if match := re.match(r"socket:\[(\d+)\]", os.readlink(link)):
                    sockets.add(match[1])
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(line[9] in sockets and line[2].endswith(f":{port:04X}") and line[3] == "01" for line in lines)


def test_a_test_from_the_sheet_to_its_result(tmp_path: Path) -> None:
    with chromium() as browser, running_test(tmp_path, study_text()) as test:
        desk = Page.open(browser, test.operator)
        desk.state("checked")
        page = desk.page
        assert "not a safety function" in page.inner_text("#orders").lower()

        # illegal orders are disabled, and refused when they come all the same; the sheet locks Arm
        assert disabled(desk) == {k: k != "trip" for k in ("arm", "start", "hold", "resume", "stop", "trip")}
        assert "pre-test sheet is not complete" in test.tell("arm")["why"]
        assert "not possible while the test is checked" in test.tell("start")["why"]
        desk.tick_sheet()
        page.click("#arm", force=True)
        assert page.inner_text("#arm") == "Press again to arm" and test.tell("look")["state"] == "checked"
        page.click("#arm", force=True)
        desk.state("armed")
        page.focus("#start")
        page.keyboard.press("Enter")
        desk.state("running")
        wanted = {"arm": True, "start": True, "hold": False, "resume": True, "stop": False, "trip": False}
        assert disabled(desk) == wanted

        # plots move, and test time advances at rate one on the page's own data
        desk.until("hmor.store.t.length > 60")
        record = "[hmor.store.t.at(-1), hmor.store.high[hmor.store.names.indexOf('monitor.test_tick')].at(-1)]"
        t0, n0 = desk.evaluate(record)
        desk.until(f"hmor.store.t.at(-1) > {t0 + 2.0}")
        t1, n1 = desk.evaluate(record)
        assert (n1 - n0) / 250.0 / (t1 - t0) == pytest.approx(1.0, abs=0.02)
        drawn = "hmor.panes.list.filter(p => p.plot).every(p => p.plot.data[0].length > 50)"
        desk.until(drawn)

        # pause stands still, a zoom stays, a command has a row of its own, the lamps are lit
        page.click("#pause", force=True)
        shown = desk.evaluate("hmor.panes.list[0].plot.data[0].at(-1)")
        desk.until(f"hmor.store.t.at(-1) > {shown + 0.5}")
        assert desk.evaluate("hmor.panes.list[0].plot.data[0].at(-1)") == shown
        page.click("#pause", force=True)
        desk.until(f"hmor.panes.list[0].plot.data[0].at(-1) > {shown + 0.5}")
        area = page.locator("#panes .u-over").first
        area.scroll_into_view_if_needed()
        box = area.bounding_box()
        assert box
        page.mouse.move(box["x"] + 40, box["y"] + 30)
        page.mouse.down()
        page.mouse.move(box["x"] + 90, box["y"] + 30)
        page.mouse.up()
        zoom = "(s => [s.min, s.max])(hmor.panes.list[0].plot.scales.x)"
        desk.until("hmor.panes.list[0].zoomed")
        low, high = desk.evaluate(zoom)
        last = desk.evaluate("hmor.store.t.at(-1)")
        desk.until(f"hmor.panes.newest > {last + 0.3}")
        assert desk.evaluate(zoom) == [low, high] and high - low < 10.0
        page.click("#zoomout", force=True)
        desk.until("!hmor.panes.list[0].zoomed")
        page.wait_for_selector("#rules tr:has(span:text-is('command'))")
        for words in ("rig answers", "recording", "missed"):  # a busy host may silence the rig for a moment
            page.wait_for_selector(f"#lamps li:has-text('{words}')")

        # a viewer sees the same and cannot order; a second operator waits for the seat, and taking it asks and is logged
        viewer, second = Page.open(browser, test.viewer), Page.open(browser, test.operator)
        viewer.state("running")
        second.state("running")
        assert all(disabled(viewer).values()) and viewer.page.inner_text("#role") == "viewer"
        assert second.page.inner_text("#role") == "standby"
        assert disabled(second) == {k: k != "trip" for k in wanted}  # who has the operator's address may always trip
        refused = viewer.evaluate("hmor.wire.order('hold')")
        assert refused["refused"] and test.tell("look")["state"] == "running"
        page.wait_for_selector("#events li:has-text(\"a viewer tried 'hold': refused\")")
        second.page.click("#take", force=True)
        assert "Press again" in second.page.inner_text("#take") and not disabled(desk)["hold"]
        second.page.click("#take", force=True)
        second.page.wait_for_selector("#hold:not([disabled])")
        page.wait_for_selector("#hold[disabled]")
        page.wait_for_selector("#events li:has-text('took over the desk')")
        second.close()
        page.wait_for_selector("#take:not([hidden])")
        page.click("#take", force=True)
        page.click("#take", force=True)
        page.wait_for_selector("#hold:not([disabled])")

        # the keyboard, names of the controls, a note, a tighter limit
        page.keyboard.down("Space")
        desk.state("holding")
        for _ in range(3):
            page.keyboard.down("Space")  # as a key that stays down repeats: one press is one order
        page.keyboard.up("Space")
        for keys in ("Control+Shift+T", "T"):  # a closed tab of the browser is opened again; a capital without Shift
            page.keyboard.press(keys)
        page.focus("#note")
        page.keyboard.press("Shift+T")
        page.fill("#note", "")
        page.focus("#tunables input")
        page.keyboard.press("Space")
        desk.state("running")
        unnamed = "[...document.querySelectorAll('button, input, select')].filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).map(e => e.id)"
        assert desk.evaluate(unnamed) == []
        page.fill("#note", "<img src=x onerror=1> seen")
        page.keyboard.press("Enter")
        page.wait_for_selector("#events li:has-text('<img src=x onerror=1> seen')")
        desk.evaluate("hmor.panes.setMark(1.5)")  # as a click into a plot does
        page.fill("#note", "a crack")
        page.keyboard.press("Enter")
        page.wait_for_selector("#events li:has-text('note: at 1.500 s: a crack')")
        page.keyboard.press("Escape")
        page.click("#rules button:text('force_limit')", force=True)
        page.fill("#lower", "-2000")
        page.fill("#upper", "2000")
        page.keyboard.press("Enter")
        page.wait_for_selector("#events li:has-text('[-2500, 2500] to [-2000, 2000]')")
        assert "widened only before" in test.tell("limit", rule="force_limit", lower=-2400, upper=2400)["why"]
        page.evaluate("document.querySelector('#tunables input').value = 0.75")
        page.dispatch_event("#tunables input", "change")
        page.wait_for_selector("#events li:has-text('trim = 0.75')")

        # a wrong token, a foreign Host and a foreign Origin are turned away
        stranger = Page.open(browser, test.operator[:-3] + "xxx")
        stranger.page.wait_for_selector("#word:has-text('no entry')")
        assert stranger.evaluate("window.hmor === undefined")
        stranger.close()
        ours = urlsplit(test.operator).netloc
        for headers, status in (
            ({"Host": ours}, 200),
            ({"Host": "evil.example"}, 421),
            ({"Host": ours, "Origin": "http://evil.example"}, 421),
        ):
            plain = http.client.HTTPConnection(ours, timeout=60)
            plain.request("GET", "/", headers=headers)
            assert plain.getresponse().status == status
            plain.close()
        for origin in ("http://evil.example", None):
            with pytest.raises(InvalidStatus), connect(f"ws://{ours}/socket", origin=origin, open_timeout=60):  # type: ignore[arg-type]
                pass

        # names reach the page as text
        assert (
            page.title().startswith("desk_test") and page.locator("#rules script, #items b b, #events img").count() == 0
        )
        assert page.locator("#rules tr:has-text(\"<script>document.title='taken'</script>\")").count() == 1

        page.click("#stop", force=True)
        desk.state("ended")
        page.wait_for_selector("#summary:not([hidden])")
        assert test.end() == 0
        folder = test.run_folder
        expected = ["checked", "armed", "running", "holding", "running", "ramping", "idle"]
        assert [s for s in states_of(folder) if s != "idle"] + ["idle"] == expected
        run = json.loads((folder / "run.json").read_text())
        assert page.inner_text("#ended") == run["ended"] and "Stopped by the operator" in run["ended"]
        done = [order["do"] for order in run["operator"] if "refused" not in order and order["who"] == "operator"]
        assert done == ["arm", "start", "hold", "resume", "note", "note", "limit", "tune", "stop"]
        assert all(item["done"] or item["result"] == "good" for item in run["sheet"])
        trim = load_run(folder)["trim"]
        assert trim[0] == 0.5 and trim[-1] == 0.75 and np.abs(np.diff(trim)).max() <= 10.0 / 250 + 1e-12
        with page.expect_download() as report:
            page.click("#files button:text('Report')", force=True)
        text = Path(report.value.path()).read_text()
        assert "Stopped by the operator" in text and "&lt;b&gt;on&lt;/b&gt;" in text

        for one in (desk, viewer):
            assert {urlsplit(url).hostname for url in one.requests if not url.startswith("blob:")} == {"127.0.0.1"}
            assert one.problems == []


def test_a_page_that_is_closed_holds_the_test_and_a_dead_console_is_replaced(tmp_path: Path) -> None:
    text = study_text(start="at_once", lost="hold")
    with chromium() as browser, running_test(tmp_path, text) as test, ExitStack() as pinned:
        desk = Page.open(browser, test.operator)
        desk.state("running")

        # a browser that stands still, all its processes: the server's queue stays short, another page is served as before
        other = Page.open(browser, test.viewer)
        other.state("running")
        frozen = pinned.enter_context(frozen_browser(test.viewer))
        before, memory = other.evaluate("hmor.store.t.length"), resident(test.consoles[0].pid)
        other.until(f"hmor.store.t.length > {before + 300}")
        assert resident(test.consoles[0].pid) < memory + 20_000  # kB; five seconds of pictures for it would not matter
        assert frozen.poll() is None

        desk.close()
        until = time.monotonic() + 60
        while test.tell("look")["state"] != "holding":
            assert time.monotonic() < until
            time.sleep(0.1)
        assert "the operator's page is gone" in json.dumps(test.tell("look")["orders"])
        assert test.tell("resume")["ok"]

        # the console hangs: the loop goes on, orders from a shell are taken, the operator counts as gone
        again = Page.open(browser, test.operator)
        again.state("running")
        os.kill(test.consoles[0].pid, signal.SIGSTOP)
        until = time.monotonic() + 60
        while test.tell("look")["state"] != "holding":
            assert time.monotonic() < until
            time.sleep(0.1)
        assert test.tell("resume")["ok"]
        again.page.wait_for_selector("#word:has-text('no news')")  # what the page shows is old, and it says so
        again.page.fill("#note", "a crack")
        again.page.keyboard.press("Enter")

        # the console dies: the loop goes on, and a new one takes its place; a note that was not kept is still there
        os.kill(test.consoles[0].pid, signal.SIGKILL)
        tick = test.tell("look")["orders"][-1]["tick"]
        again.page.wait_for_selector("#word:has-text('no console')")
        assert again.page.input_value("#note") == "a crack"
        other.state("offline")
        test.console()
        again = Page.open(browser, test.operator)
        again.state("running")
        again.until("hmor.store.t.length > 30")
        again.until("hmor.store.t[0] < 2.0")  # the past comes from the disk
        assert again.evaluate("hmor.store.t.at(-1)") * 250 > tick
        again.page.focus("#tunables input")
        again.page.keyboard.press("Shift+T")
        again.state("ended")
        again.page.wait_for_selector("#summary:not([hidden])")
        assert "Tripped by the operator" in again.page.inner_text("#ended")
        assert test.end() == 3
        assert again.problems == []


@pytest.mark.parametrize("fault", ["--stuck-at", "--nan-at"])
def test_a_fault_of_the_rig_is_told_marked_and_drawn(tmp_path: Path, fault: str) -> None:
    rig = subprocess.Popen(
        [*HMOR, "rig", "spring", "--rate", "250", fault, "4000", "--sessions", "1"],
        stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
    )  # fmt: skip
    try:
        assert rig.stderr is not None
        port = re.search(r":(\d+) ", rig.stderr.readline())
        assert port
        rules = '\n[[run.rules]]\nname = "frozen"\nsignal = "position"\nquantity = "unchanged"\nother = "command"\nupper = 50\n'
        rules = rules if fault == "--stuck-at" else ""
        text = study_text(start="at_once", rig=f"port = {port[1]}\ntimeout = 60.0", rules=rules)
        with chromium() as browser, running_test(tmp_path, text) as test:
            desk = Page.open(browser, test.operator)
            desk.page.wait_for_selector("#summary:not([hidden])")
            ended = desk.page.inner_text("#ended")
            assert test.end() == 3 and json.loads((test.run_folder / "run.json").read_text())["ended"] == ended
            if fault == "--stuck-at":
                rule = re.search(r"\(rule '(.*)'\)", ended)
                assert rule
                # the events come in a message of their own
                desk.page.wait_for_selector("#rules tr.first", state="attached")
                first = desk.page.locator("#rules tr.first")
                assert first.count() == 1 and first.locator("td").first.inner_text() == rule[1]
                assert desk.page.inner_text("#events").count(f"Rule '{rule[1]}' (trip)") == 1
                desk.page.click("#acknowledge", force=True)
                desk.page.wait_for_selector("#rules tr.first", state="detached")
                assert desk.evaluate("document.getElementById('word').textContent") == "tripped"  # seen from afar
            else:
                assert "'position' of block 'rig.read' is nan" in ended
                last = "Number.isNaN(hmor.store.low[hmor.store.names.indexOf('position')].at(-1))"
                assert desk.evaluate(last)
                desk.until("hmor.panes.list[0].broken.length > 0")  # the red mark
            assert desk.problems == []
    finally:
        rig.kill()
        rig.wait(10)
        rig.stderr.close()  # type: ignore[union-attr]


def test_the_plots_go_on_when_the_disk_is_full_and_a_replay_has_the_extremes_of_the_record(tmp_path: Path) -> None:
    rules = '\n[[run.rules]]\nname = "lost_frames"\nsignal = "host.lost"\nupper = 1e9\nreason = "a full disk"\n'
    (tmp_path / "full").mkdir()
    with (
        chromium() as browser,
        running_test(tmp_path / "full", study_text(start="at_once", rules=rules), limit=300_000) as test,
    ):
        desk = Page.open(browser, test.operator)
        desk.page.wait_for_selector("#lamps li.bad:has-text('frames not recorded')")
        t = desk.evaluate("hmor.store.t.at(-1)")
        desk.until(f"hmor.store.t.at(-1) > {t + 1.0}")
        assert test.tell("stop")["ok"]
        desk.state("ended")
        test.end()

        (tmp_path / "short").mkdir()
        text = study_text(start="at_once", duration=2.0).replace("duration = 2.0", "duration = 2.0\npaced = false")
        (tmp_path / "short" / "study.toml").write_text(text)
        subprocess.run(
            [*HMOR, "run", "study.toml", "--folder", "out"], cwd=tmp_path / "short", env=ENVIRONMENT, check=True
        )
        test.folder = tmp_path / "short"
        test.console()
        page = Page.open(browser, test.operator)
        page.state("replay")
        page.until("hmor.store.t.length > 100")
        record = load_run(test.run_folder)
        for name in ("position", "force"):
            found = page.evaluate(
                f"(i => [Math.min(...hmor.store.low[i]), Math.max(...hmor.store.high[i])])(hmor.store.names.indexOf('{name}'))"
            )
            assert found == [record[name].min(), record[name].max()]
        page.page.fill("#seek", "1.0")
        page.page.dispatch_event("#seek", "input")
        assert page.evaluate("Math.max(...hmor.panes.list[0].plot.data[0])") == pytest.approx(1.0, abs=0.01)
        page.page.select_option("#speed", "16")
        page.page.click("#play", force=True)
        page.page.wait_for_selector("#play:has-text('Play')")
        page.until(f"Math.max(...hmor.panes.list[0].plot.data[0]) > {record.time[-1] - 0.01}")
        assert page.page.is_hidden("#orders") and page.problems == []
