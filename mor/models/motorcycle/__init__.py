"""The motorcycle: engine, electronically controlled transmission, body on tyres and suspensions, hydraulic brakes."""

from mor.models.motorcycle.brake import brake as brake
from mor.models.motorcycle.brake_map import brake_space as brake_space
from mor.models.motorcycle.brake_map import sample_static as sample_static
from mor.models.motorcycle.brake_map import static_torque as static_torque
