"""Data with dependent inputs in independent variables, where expansions and Sobol' indices live."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from mor.data.dataset import Dataset
from mor.marginals import Normal
from mor.reduced.fit_data import space_of
from mor.sampling.space import ParameterSpace


def decouple(data: Dataset, space: ParameterSpace | None = None) -> tuple[Dataset, ParameterSpace]:
    """Return the rows with independent standard normal inputs, and their space.

    The map is that of Rosenblatt in the order of the parameters (Nataf for a Gaussian copula): the first variable is
    the first input alone, the second what the second input adds to it, and so on. A PCE fitted to the result is a
    function of those variables; map new inputs X by ndtri(space.to_unit(X)) before predict.

    Parameters
    ----------
    data
        Rows with dependent inputs.
    space
        Their laws; by default those that the data record.
    """
    space = space_of(data, space, "decouple")
    Z = ndtri(np.clip(space.to_unit(data.X), 1e-12, 1.0 - 1e-12))
    independent = ParameterSpace({name: Normal(0.0, 1.0) for name in space.names})
    return Dataset(Z, data.Y, independent.ports, data.outputs, run=data.run, space=independent), independent
