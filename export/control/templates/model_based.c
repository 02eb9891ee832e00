/* F: inverse plant behind a low-pass (sections), K: feedback on the tracking error, M: first-order reference model.
 *   e = r - y,  mu = K e,  y_m = M r,  eps = y - y_m,  q = r + mu - theta,  u = F q,  theta+ = theta + T Gamma g,
 *   f = (theta^2 - largest^2) / (margin largest^2),  g = eps (1 - f) when f >= 0 and theta eps > 0, else eps
 * Inputs r, y; outputs u, theta. */
typedef struct {
    double sections[2 * SECTIONS], x[STATES > 0 ? STATES : 1], model, reference, theta;
} Memory;

static void reset_memory(Memory *m)
{
    memset(m, 0, sizeof *m);
}

static void adapt(Memory *m, double r, double y)
{
    const double limit = LARGEST * LARGEST, edge = LARGEST * sqrt(1.0 + MARGIN);
    double eps, f, next;
    m->model = B0 * r + B1 * m->reference - A1 * m->model;
    m->reference = r;
    eps = y - m->model;
    f = (m->theta * m->theta - limit) / (MARGIN * limit);
    next = m->theta + PERIOD * RATE * (f >= 0.0 && m->theta * eps > 0.0 ? eps * (1.0 - f) : eps);
    m->theta = next > edge ? edge : next < -edge ? -edge : next;
}

static void step_memory(const double *in, Memory *m, double *out)
{
    const double r = in[0], y = in[1];
    double q = r - m->theta + FEEDTHROUGH * (r - y);
#if STATES > 0
    double next[STATES];
    int i;
    for (i = 0; i < STATES; ++i)
        q += feedback_output[i] * m->x[i];
    multiply(&feedback_matrix[0][0], STATES, STATES, m->x, next);
    for (i = 0; i < STATES; ++i)
        m->x[i] = next[i] + feedback_input[i] * (r - y);
#endif
    out[1] = m->theta;
    if (ADAPTS)
        adapt(m, r, y);
    out[0] = filter(q, m->sections);
}
