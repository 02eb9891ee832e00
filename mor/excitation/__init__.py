"""What drives a model: records from file, synthetic ground motion, and signals for tests."""

from mor.excitation.ground import near_fault_pulse as near_fault_pulse
from mor.excitation.ground import pulse_acceleration as pulse_acceleration
from mor.excitation.ground import pulse_velocity as pulse_velocity
from mor.excitation.ground import synthetic_ground_motion as synthetic_ground_motion
from mor.excitation.operating import Channel as Channel
from mor.excitation.operating import operating_range as operating_range
from mor.excitation.protocols import LoadingProtocols as LoadingProtocols
from mor.excitation.protocols import loading_protocol as loading_protocol
from mor.excitation.records import el_centro as el_centro
from mor.excitation.records import load_at2 as load_at2
from mor.excitation.records import load_csv as load_csv
from mor.excitation.sampled import Baseline as Baseline
from mor.excitation.sampled import Excitation as Excitation
from mor.excitation.waveforms import band_limited_noise as band_limited_noise
from mor.excitation.waveforms import multi_sine as multi_sine
from mor.excitation.waveforms import ramps_and_holds as ramps_and_holds
from mor.excitation.waveforms import sine_sweep as sine_sweep
