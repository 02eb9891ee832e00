"""Models of actuators from records: frequency responses, fits of transfer functions, coupling of channels."""

from mor.identification.fit import Fit as Fit
from mor.identification.fit import fit_transfer_function as fit_transfer_function
from mor.identification.response import Frf as Frf
from mor.identification.response import coupling as coupling
from mor.identification.response import frequency_response as frequency_response
