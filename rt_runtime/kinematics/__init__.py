"""Parallel platforms with six limbs: pose to strokes, strokes to pose, forces of the limbs to force and moment."""

from rt_runtime.kinematics.maps import ForceTransform as ForceTransform
from rt_runtime.kinematics.maps import ForwardKinematics as ForwardKinematics
from rt_runtime.kinematics.maps import InverseKinematics as InverseKinematics
from rt_runtime.kinematics.platform import Platform as Platform
