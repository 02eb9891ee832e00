"""What terms of a lambda model cost: the extended criterion counts the sets they could have been picked from."""

from __future__ import annotations

from math import comb, log

import numpy as np
import pytest

from mor.reduced.lambda_model.selection import Price
from mor.reduced.pce.basis import index_set

INDICES = index_set(3, 3)
DEGREE = INDICES.sum(axis=1)


def of_set(columns: list[int], rows: int) -> float:
    """n ln N + 2 ln ways, ways = degrees offered times the sets of n_q among p_q, degree by degree."""
    ways = 4 if len(columns) > 1 else 1
    for q in range(1, 4):
        ways *= comb(int(np.sum(q == DEGREE)), int(np.sum(DEGREE[columns] == q)))
    return len(columns) * log(rows) + 2.0 * log(ways)


def test_a_term_costs_what_its_set_costs_more() -> None:
    price = Price("ebic", 200, [INDICES] * 4)
    constant, linear, cubic = 0, int(np.flatnonzero(DEGREE == 1)[0]), int(np.flatnonzero(DEGREE == 3)[4])
    for columns in ([constant], [constant, linear], [constant, linear, cubic]):
        further = price.next(1, np.array(columns))
        for j in np.setdiff1d(np.arange(len(INDICES)), columns):
            assert further[j] == pytest.approx(of_set([*columns, j], 200) - of_set(columns, 200))
    last = price.last(1, np.array([constant, linear, cubic]))
    assert last[2] == pytest.approx(of_set([0, linear, cubic], 200) - of_set([0, linear], 200))
    assert price.next(1, np.array([0]))[linear] < price.next(1, np.array([0]))[cubic]


@pytest.mark.parametrize(("criterion", "each"), [("bic", log(200.0)), ("aic", 2.0)])
def test_plain_criteria(criterion: str, each: float) -> None:
    np.testing.assert_array_equal(Price(criterion, 200, [INDICES] * 4).next(0, np.array([0, 3])), each)
