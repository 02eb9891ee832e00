/* Model predictive control: the minimum without constraints is GAINS [x; r; u(k-1)], MoveQp keeps the bounds, the first
 * move is applied. Outputs: command, iterations and status of the quadratic programme. */
typedef struct {
    double x[STATES], u[CHANNELS];
    QpMemory qp;
} MpcMemory;

static void step_mpc(const double *references, const double *measured, MpcMemory *m, double *out)
{
    double z[STATES + REFERENCES + CHANNELS], minimum[N], lower[N2], upper[N2];
    Qp q;
    int i, status;
    correct(m->x, measured);
    memcpy(z, m->x, sizeof m->x);
    memcpy(z + STATES, references, REFERENCES * sizeof(double));
    memcpy(z + STATES + REFERENCES, m->u, sizeof m->u);
    multiply(&gains[0][0], N, STATES + REFERENCES + CHANNELS, z, minimum);
    move_bounds(m->u, lower, upper);
    q.gram = &gram[0][0];
    q.scale = scale;
    q.hessian = &full_hessian[0][0];
    q.factor = 0;
    status = begin_solve(&q, &m->qp, minimum, lower, upper);
    if (status == QP_OPEN)
        status = solve_constrained(&q);
    status = end_solve(&q, status);
    for (i = 0; i < CHANNELS; ++i)
        out[i] = m->u[i] = apply_move(i, m->u[i], q.v[i]);
    out[CHANNELS] = q.iterations;
    out[CHANNELS + 1] = status;
    predict(m->x, m->u);
}
