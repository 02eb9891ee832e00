"""A gateway for MATLAB and Octave beside a piece of C: y = NAME(u) runs it over the rows of u."""

from __future__ import annotations

from export.c.model import CModel
from export.c.text import comment_text


def mex_source(model: CModel) -> str:
    """Return NAME_mex.c: `mex NAME_mex.c NAME.c` makes a function of u (n, n_in) that returns y (n, n_out).

    With a second argument and a second result the state goes in and out, so that a run can be continued.
    """
    name, real = model.name, "double" if model.precision == "float64" else "float"
    n_in, n_out, n_state = len(model.inputs), len(model.outputs), max(1, model.n_state)
    inputs, outputs = (comment_text(", ".join(p.name for p in ports)) for ports in (model.inputs, model.outputs))
    return f"""\
/* {name} for MATLAB and Octave: mex {name}_mex.c {name}.c   (Octave: mkoctfile --mex {name}_mex.c {name}.c)
 *
 *   y = {name}_mex(u)                rows of u ({inputs}), one per step, from the start
 *   [y, state] = {name}_mex(u, state)  goes on from a state; y has {outputs}
 */
#include "mex.h"
#include "{name}.h"

void mexFunction(int n_left, mxArray *left[], int n_right, const mxArray *right[])
{{
    {real} u[{n_in}], y[{n_out}], state[{n_state}];
    const double *rows;
    double *answers;
    size_t n, k, i;
    if (n_right < 1 || n_right > 2 || n_left > 2 || !mxIsDouble(right[0]) || mxIsComplex(right[0]) ||
        mxIsSparse(right[0]) || mxGetN(right[0]) != {n_in})
        mexErrMsgTxt("{name}_mex: u must be a real full matrix with {n_in} columns.");
    {name}_reset(state);
    if (n_right == 2) {{
        if (!mxIsDouble(right[1]) || mxIsComplex(right[1]) || mxIsSparse(right[1]) ||
            mxGetNumberOfElements(right[1]) != {n_state})
            mexErrMsgTxt("{name}_mex: state must be a real full vector of {n_state} numbers.");
        for (i = 0; i < {n_state}; ++i)
            state[i] = ({real})mxGetPr(right[1])[i];
    }}
    n = mxGetM(right[0]);
    rows = mxGetPr(right[0]);
    left[0] = mxCreateDoubleMatrix(n, {n_out}, mxREAL);
    answers = mxGetPr(left[0]);
    for (k = 0; k < n; ++k) {{
        for (i = 0; i < {n_in}; ++i)
            u[i] = ({real})rows[i * n + k];
        {name}_step(u, state, y);
        for (i = 0; i < {n_out}; ++i)
            answers[i * n + k] = y[i];
    }}
    if (n_left == 2) {{
        left[1] = mxCreateDoubleMatrix({n_state}, 1, mxREAL);
        for (i = 0; i < {n_state}; ++i)
            mxGetPr(left[1])[i] = state[i];
    }}
}}
"""
