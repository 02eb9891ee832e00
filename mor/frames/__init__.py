"""Frames of straight beams in space: elements, assembly with named freedoms, tables and pictures of modes."""

from mor.frames.beam import Section as Section
from mor.frames.beam import beam3d as beam3d
from mor.frames.frame import Frame3d as Frame3d
from mor.frames.frame import FrameModes as FrameModes
from mor.frames.frame import frame3d as frame3d
from mor.frames.part import frame_part as frame_part
from mor.frames.picture import draw_modes as draw_modes
from mor.frames.tables import read_frame as read_frame
