"""Models of actuators from records: frequency responses, fits of transfer functions, coupling of channels."""

from mor.identification.axes import orthogonal_multisines as orthogonal_multisines
from mor.identification.axes import response_table as response_table
from mor.identification.fit import Fit as Fit
from mor.identification.fit import fit_transfer_function as fit_transfer_function
from mor.identification.iteration import Iterated as Iterated
from mor.identification.iteration import iterate_drive as iterate_drive
from mor.identification.response import Frf as Frf
from mor.identification.response import coupling as coupling
from mor.identification.response import frequency_response as frequency_response
