"""The laws of one uncertain parameter."""

from mor.marginals.base import Marginal as Marginal
from mor.marginals.classical import Beta as Beta
from mor.marginals.classical import Exponential as Exponential
from mor.marginals.classical import Gamma as Gamma
from mor.marginals.classical import LogNormal as LogNormal
from mor.marginals.classical import Normal as Normal
from mor.marginals.classical import Uniform as Uniform
from mor.marginals.numeric import Gumbel as Gumbel
from mor.marginals.numeric import Triangular as Triangular
from mor.marginals.numeric import TruncatedNormal as TruncatedNormal
from mor.marginals.numeric import Weibull as Weibull
from mor.marginals.spec import LAWS as LAWS
from mor.marginals.spec import marginal_from as marginal_from
from mor.marginals.tabulated import Tabulated as Tabulated
