"""A network as one of the surrogates that `mor.uncertainty.fit_best` compares."""

from __future__ import annotations

from mor.data.dataset import Dataset
from mor.reduced.ffnn import Ffnn
from mor.reduced.fit_data import fit_domain
from mor.sampling.space import ParameterSpace
from training.config import FfnnConfig
from training.fit import fit_ffnn

_SHARE = 0.85  # of the rows, for training; the others choose the restart


def ffnn_surrogate(data: Dataset, space: ParameterSpace) -> Ffnn:
    """Fit a network of ten neurons to all outputs of `data`; for `fit_best(others={"ffnn": ffnn_surrogate})`.

    Parameters
    ----------
    data : Dataset
        Rows; Levenberg-Marquardt with Bayesian regularisation learns from most of them, the others choose the restart.
    space : ParameterSpace
        Laws of the inputs; their bounds, where they have some, are the domain of the network.
    """
    train, valid, _ = data.split(_SHARE, 1.0 - _SHARE, 0.0, seed=0)
    return fit_ffnn(train, valid=valid, config=FfnnConfig(restarts=3, iterations=300), domain=fit_domain(data, space))
