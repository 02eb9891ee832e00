"""The site server: the real OpenSees elements as clients, and everything a client may do wrong."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmor.gateway.protocol import read_sizes
from hmor.gateway.server import SiteServer
from hmor.gateway.sites import LinearSite, ModelSite, RigSite, SiteError
from mor.sources import opensees_installed
from rt_runtime import TargetPath
from rt_runtime.errors import ConfigError

ROOT = Path(__file__).resolve().parents[4]
K = np.array([[3e4, -1e4], [-1.2e4, 2e4]])  # not symmetric, so that a transposed matrix is seen
C = np.array([[20.0, -5.0], [-4.0, 30.0]])
MASS = [2.0, 3.0]
DT = 0.005

needs_opensees = pytest.mark.skipif(
    not opensees_installed(), reason="openseespy is not installed; install the 'opensees' extra"
)


def newmark(p: np.ndarray) -> np.ndarray:
    """Average acceleration for M x'' + C x' + K x = p, rows p."""
    m, x, v = np.diag(MASS), np.zeros(2), np.zeros(2)
    a, out = np.linalg.solve(m, p[0]), []
    effective = m + 0.5 * DT * C + 0.25 * DT**2 * K
    for row in p[1:]:
        x_t, v_t = x + DT * v + 0.25 * DT**2 * a, v + 0.5 * DT * a
        a = np.linalg.solve(effective, row - C @ v_t - K @ x_t)
        x, v = x_t + 0.25 * DT**2 * a, v_t + 0.5 * DT * a
        out.append(x)
    return np.array(out)


def opensees(port: int, **given: Any) -> subprocess.CompletedProcess[str]:
    load = (100 * np.sin(np.arange(given["steps"] + 2) * DT * 9)).tolist()
    settings = {"udp": False, "dof": 2, "dt": DT, "mass": MASS, "load": load, "integrator": "newmark"} | given
    script = [sys.executable, str(ROOT / "tests/fixtures/opensees_client.py"), str(port), json.dumps(settings)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(script, capture_output=True, text=True, timeout=120, cwd=ROOT, env=environment)


@needs_opensees
@pytest.mark.parametrize(("udp", "integrator"), [(False, "newmark"), (True, "alphaos")])
def test_opensees_gets_what_newmark_gives_and_damping_counts_once(udp: bool, integrator: str) -> None:
    steps = 100
    with SiteServer(LinearSite(K, C), udp=udp) as server:
        thread = server.start(1)
        done = opensees(server.port, steps=steps, udp=udp, integrator=integrator)
        thread.join(10.0)
    x = np.array(json.loads(done.stdout.splitlines()[-1])["x"])
    load = 100 * np.sin(np.arange(steps + 1) * DT * 9)
    reference = newmark(load[:, None] * np.ones(2))
    assert np.abs(x - reference).max() < 1e-12 * np.abs(reference).max()
    session = server.sessions[0]
    assert (session.commits, session.ended) == (steps, "ended the test")


@needs_opensees
def test_a_killed_client_leaves_the_site_ready_for_the_next() -> None:
    with SiteServer(LinearSite(K)) as server:
        thread = server.start(2)
        assert opensees(server.port, steps=50, die_at=5).returncode == 9
        assert opensees(server.port, steps=3).returncode == 0
        thread.join(10.0)
    assert [s.ended for s in server.sessions] == ["closed the connection", "ended the test"]
    assert [s.commits for s in server.sessions] == [6, 3]


class Client:
    """A client that speaks as it likes."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20.0)

    def sizes(self, *numbers: int) -> None:
        self.socket.sendall(struct.pack("<11i", *numbers))

    def send(self, action: float, *numbers: float, length: int = 16) -> None:
        self.socket.sendall(np.array([action, *numbers, *[0.0] * (length - 1 - len(numbers))]).tobytes())

    def ask(self, action: float, length: int = 16) -> np.ndarray:
        self.send(action, length=length)
        data = b""
        while len(data) < 8 * length:
            piece = self.socket.recv(8 * length)
            assert piece, "closed"
            data += piece
        return np.frombuffer(data)


def wait_for(server: SiteServer, sessions: int) -> str:
    until = time.monotonic() + 20.0
    while len(server.sessions) < sessions:
        assert time.monotonic() < until
        time.sleep(0.01)
    return server.sessions[-1].ended


ONE = (1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 16)


def test_every_action_is_answered() -> None:
    with SiteServer(LinearSite([[7.0]], [[0.5]], [[2.0]])) as server:
        server.start(1)
        client = Client(server.port)
        client.sizes(*ONE)
        client.send(3, 0.25, 9.0, 9.0, 1.5)
        client.send(4)
        answers = {code: client.ask(code)[0] for code in range(7, 16)}
        assert answers == {7: 0.25, 8: 0, 9: 0, 10: 1.75, 11: 1.5, 12: 7, 13: 7, 14: 0.5, 15: 2}
        assert client.ask(6)[:4].tolist() == [0.25, 1.75, 1.5, 0.0]  # displacement, force, time: what it wants
        client.send(98)
        assert wait_for(server, 1) == "ended the test"


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((2, 2, 2, 0, 1, 0, 0, 0, 2, 0, 256), "must send 1 displacement to this site"),
        ((1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 256), "must send 1 displacement to this site"),
        ((2**31 - 1,) * 11, "must lie between 0 and 64"),
        ((-1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 256), "must lie between 0 and 64"),
        ((1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 2**30), "Length of a client's messages must lie between 5 and 65536"),
        ((1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 2), "Length of a client's messages must lie between 5 and 65536"),
    ],
)
def test_garbage_sizes_are_refused_before_memory_is_taken(sizes: tuple[int, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_sizes(struct.pack("<11i", *sizes), 1)
    with SiteServer(LinearSite([[1.0]])) as server:
        server.start(1)
        client = Client(server.port)
        client.sizes(*sizes)
        assert client.socket.recv(1) == b""  # closed
        assert words in wait_for(server, 1)


@pytest.mark.parametrize(
    ("speak", "words"),
    [
        (lambda c: c.send(3, float("nan")), "sent a number that is not finite"),
        (lambda c: c.send(77), "asked for action 77, which there is not"),
        (lambda c: c.send(1e300), "asked for action -1, which there is not"),
        (lambda c: c.socket.sendall(b"x" * 5) or c.socket.shutdown(socket.SHUT_WR), "was cut off inside a message"),
        (lambda c: None, "was silent for 1 s"),
    ],
)
def test_what_a_client_may_not_do_ends_its_session_with_a_sentence(speak: Any, words: str) -> None:
    with SiteServer(LinearSite([[1.0]]), idle=1.0) as server:
        server.start(1)
        client = Client(server.port)
        client.sizes(*ONE)
        speak(client)
        assert words in wait_for(server, 1)


class DatagramClient:
    """A client of UDP: one byte and its answer first."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(20.0)
        self.socket.connect(("127.0.0.1", port))
        self.socket.send(b"\1")

    def greeted(self) -> bool:
        return self.socket.recv(8) == b"\1"

    def send(self, action: float, *numbers: float) -> None:
        self.socket.send(np.array([action, *numbers, *[0.0] * (15 - len(numbers))]).tobytes())


def test_a_killed_client_of_udp_is_known_by_its_silence_and_the_one_behind_it_is_served() -> None:
    with SiteServer(LinearSite([[7.0]]), udp=True, idle=0.5) as server:
        server.start(2)
        first = DatagramClient(server.port)
        assert first.greeted()
        first.socket.send(struct.pack("<11i", *ONE))
        first.send(3, 0.5)
        first.socket.close()  # killed in the middle of a step
        second = DatagramClient(server.port)
        assert second.greeted()  # when the first is given up
        assert "was silent" in server.sessions[0].ended
        second.socket.send(struct.pack("<11i", *ONE))
        second.send(3, 0.25)
        second.send(10)
        assert np.frombuffer(second.socket.recv(4096))[0] == 1.75
        second.send(99)
        assert wait_for(server, 2) == "ended the test"


@pytest.mark.parametrize("udp", [False, True])
@pytest.mark.parametrize("in_session", [False, True])
def test_stopping_wakes_a_server_that_waits(udp: bool, in_session: bool) -> None:
    with SiteServer(LinearSite([[1.0]]), udp=udp) as server:
        thread = server.start()
        client = (DatagramClient if udp else Client)(server.port) if in_session else None
        if client is not None:
            assert not udp or client.greeted()
            client.socket.send(struct.pack("<11i", *ONE))
            client.send(10)
            assert len(client.socket.recv(4096)) > 0  # it is served
    assert not thread.is_alive()
    assert len(server.sessions) == in_session


def test_a_port_that_is_taken_is_refused() -> None:
    with SiteServer(LinearSite([[1.0]])) as server, pytest.raises(ConfigError, match=r"Port \d+ of the site cannot be"):
        SiteServer(LinearSite([[1.0]]), port=server.port)


def test_a_foreign_address_is_turned_away() -> None:
    told: list[str] = []
    with SiteServer(LinearSite([[1.0]]), tell=told.append) as server:
        assert not server._allowed("10.1.2.3") and server._allowed("127.0.0.1")
    with SiteServer(LinearSite([[1.0]]), allow=("127.0.0.2",)) as server:  # loopback stays loopback
        assert server._listening.getsockname()[0] == "127.0.0.1"


def test_a_linear_site_refuses_matrices_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"damping of LinearSite must have shape \(2, 2\)"):
        LinearSite(K, [[1.0]])


def test_a_rig_site_says_that_the_test_has_ended_and_that_a_target_was_not_reached() -> None:
    path = TargetPath(1, step=0.1, dt=0.01)
    with pytest.raises(ConfigError, match=r"stiffness of RigSite must have shape \(1, 1\)"):
        RigSite(path, K)
    site = RigSite(path, [[1.0]], patience=0.05)
    site.trial(np.array([1.0]), np.zeros(0), np.zeros(0), 0.0)
    with pytest.raises(SiteError, match=r"the rig did not reach the target within 0\.05 s"):
        site.force()
    site.ended = "Tripped at tick 3."
    with pytest.raises(SiteError, match="the test has ended: Tripped at tick 3"):
        site.force()


def test_a_rig_site_moves_only_for_a_force_that_is_asked_for() -> None:
    path = TargetPath(1, step=0.1, dt=0.01)
    site = RigSite(path, [[1.0]])
    site.trial(np.array([1.0]), np.zeros(0), np.zeros(0), 0.0)
    assert path.targets.read()[0] == 0
    import threading

    def rig() -> None:
        for k in range(3000):
            path.step(k * 0.01, np.array([1.0, 42.0]))
            time.sleep(1e-3)
            if path.answers.read()[0]:
                return

    thread = threading.Thread(target=rig)
    thread.start()
    assert site.force() == [42.0] and site.displacement() == [1.0]
    assert site.force() == [42.0]  # the same trial: no new motion
    thread.join()
    assert path.targets.read()[0] == 1


def test_model_sites_take_damping_out_and_move_memory_on_by_commits(tmp_path: Path) -> None:
    from export import write
    from rt_runtime import Rom, load_bundle
    from tests.reference.exported_models import network, network_with_memory

    models = {"damped": network(), "memory": network_with_memory()}  # two inputs, displacement and velocity
    write(models, tmp_path / "bundle")
    bundle = load_bundle(tmp_path / "bundle").bundle
    site = ModelSite(Rom(bundle.models["damped"]))
    x, v = np.array([3.0]), np.array([2.0])
    site.trial(x, v, np.zeros(0), 0.0)
    np.testing.assert_allclose(site.force() + site.damping() @ v, models["damped"].predict(np.array([[3.0, 2.0]]))[0])
    slopes = models["damped"].jacobian(np.zeros(2))[0]
    np.testing.assert_allclose([site.stiffness()[0, 0], site.damping()[0, 0]], slopes, rtol=1e-3)
    with pytest.raises(SiteError, match="needs velocities"):
        site.trial(x, np.zeros(0), np.zeros(0), 0.0)
    with_memory, dt = ModelSite(Rom(bundle.models["memory"])), 1e-3
    u, got = np.array([[4.0, 1.0], [20.0, 5.0], [45.0, -2.0]]), []
    for k, row in enumerate(u):
        for trial in (row + 3.0, row):  # a trial that is not committed leaves nothing behind
            with_memory.trial(trial[:1], trial[1:], np.zeros(0), (k + 1) * dt)
            whole = with_memory.force() + with_memory.damping() @ trial[1:]
        got.append(whole[0])
        with_memory.commit()
    np.testing.assert_allclose(got, models["memory"].rollout(u)[:, 0], rtol=1e-12)
    with_memory.trial(x, v, np.zeros(0), 99.0)
    with pytest.raises(SiteError, match=r"needs steps of 0\.001 s"):
        with_memory.commit()


def test_a_model_whose_ports_are_not_those_of_a_site_is_refused(tmp_path: Path) -> None:
    from export import write
    from rt_runtime import Rom, load_bundle
    from tests.reference.exported_models import sparse_polynomial

    write(sparse_polynomial(), tmp_path / "bundle", name="odd")  # four inputs, of which one output is kept
    rom = Rom(load_bundle(tmp_path / "bundle").bundle.model, outputs=1)
    with pytest.raises(ConfigError, match="Model 'odd' of a site must have 1 or 2 inputs for its 1 outputs"):
        ModelSite(rom)
