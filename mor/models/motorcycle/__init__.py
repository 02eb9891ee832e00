"""The motorcycle: engine, electronically controlled transmission, body on tyres and suspensions, hydraulic brakes."""

from mor.models.motorcycle.brake_map import brake_space as brake_space
from mor.models.motorcycle.brake_map import sample_static as sample_static
from mor.models.motorcycle.brake_map import static_torque as static_torque
from mor.models.motorcycle.brake_map import touching_force as touching_force
from mor.models.motorcycle.crank import engine as engine
from mor.models.motorcycle.hydraulic_brake import brake as brake
from mor.models.motorcycle.model import hybrid as hybrid
from mor.models.motorcycle.model import parameter_space as parameter_space
from mor.models.motorcycle.model import scenario as scenario
from mor.models.motorcycle.model import sensitivity_space as sensitivity_space
from mor.models.motorcycle.model import short_ride as short_ride
from mor.models.motorcycle.transmission import ecvt as ecvt
from mor.models.motorcycle.vehicle_body import body as body
