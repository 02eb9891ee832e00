/* Where a solve starts without an active set of its own: a feasible point near the minimum, by bounded work. */
static void forget(Qp *q)
{
    int w;
    for (w = 0; w < q->active; ++w)
        q->is_active[q->set[w]] = 0;
    q->active = q->changes = 0;
}

static void build_full(Qp *q)
{
    int i, j, k;
    for (j = 0; j < N; ++j)
        for (i = j; i < N; ++i) {
            double sum = 0.0;
            for (k = 0; k <= j; ++k)
                sum += q->factor[k * N + i] * q->factor[k * N + j];
            q->own_hessian[j * N + i] = q->own_hessian[i * N + j] = sum;
        }
    q->hessian = q->own_hessian;
}

static void add_scaled(double weight, const double *restrict x, double *restrict y)
{
    int i;
    for (i = 0; i < N; ++i)
        y[i] += weight * x[i];
}

static double most_of(double a, double b)
{
    return a < b ? b : a;
}

static double least_of(double a, double b)
{
    return b < a ? b : a;
}

/* `wanted` (N moves) moved into the bounds step by step, into q->near; 0 when no moves keep all bounds. A step must end
 * where the later ones can still keep theirs: sums of step i between least[i] and most[i], from the last step back. */
static int settle(Qp *q, const double *wanted)
{
    const double *lower = q->lower, *upper = q->upper;
    double *x = q->near, *s = q->near + N, least[N], most[N];
    int i, j;
    for (i = N - 1; i >= 0; --i) {
        const int k = i + CHANNELS;
        least[i] = k >= N ? lower[N + i] : most_of(lower[N + i], least[k] - upper[k]);
        most[i] = k >= N ? upper[N + i] : least_of(upper[N + i], most[k] - lower[k]);
    }
    for (j = 0; j < N; ++j) {
        const double before = j < CHANNELS ? 0.0 : s[j - CHANNELS];
        const double low = most_of(lower[j], least[j] - before), high = least_of(upper[j], most[j] - before);
        if (!(low <= high + QP_TOLERANCE * (1.0 + fabs(high))))
            return 0;
        x[j] = least_of(most_of(wanted[j], low), high);
        s[j] = before + x[j];
    }
    return 1;
}

/* A feasible point near the minimum: `start` moved into the bounds step by step, then rounds of exact line
 * searches along single moves and along moves that are shifted by a step. 0 when there is none. */
static int approach(Qp *q, const double *start)
{
    double *x = q->near, *s = q->near + N, slope[N];
    const double *lower = q->lower, *upper = q->upper, *h;
    int i, j, sweep;
    if (!settle(q, start))
        return 0;
    if (!q->hessian)
        build_full(q);
    h = q->hessian;
    for (i = 0; i < N; ++i)
        slope[i] = 0.0;
    for (j = 0; j < N; ++j)
        add_scaled(x[j] - q->unconstrained[j], h + j * N, slope);
    for (sweep = 0; sweep < QP_SWEEPS; ++sweep) {
        double farthest = 0.0;
        for (j = 0; j < N; ++j) {
            const int k = j + CHANNELS;
            double least = lower[j] - x[j], most = upper[j] - x[j], d, e, low, high;
            for (i = j; i < N; i += CHANNELS) { /* a move shifts all later sums */
                least = most_of(least, lower[N + i] - s[i]);
                most = least_of(most, upper[N + i] - s[i]);
            }
            d = most_of(least, least_of(most, -slope[j] / h[j * N + j]));
            if (d > 0.0 || d < 0.0) {
                x[j] += d;
                for (i = j; i < N; i += CHANNELS)
                    s[i] += d;
                add_scaled(d, h + j * N, slope);
                farthest = most_of(farthest, fabs(d));
            }
            if (k >= N)
                continue;
            low = most_of(most_of(lower[j] - x[j], x[k] - upper[k]), lower[N + j] - s[j]);
            high = least_of(least_of(upper[j] - x[j], x[k] - lower[k]), upper[N + j] - s[j]);
            e = (slope[k] - slope[j]) / (h[j * N + j] + h[k * N + k] - 2.0 * h[k * N + j]);
            e = most_of(low, least_of(high, e));
            if (!(e > 0.0 || e < 0.0))
                continue;
            x[j] += e;
            x[k] -= e;
            s[j] += e;
            add_scaled(e, h + j * N, slope);
            add_scaled(-e, h + k * N, slope);
            farthest = most_of(farthest, fabs(e));
        }
        if (!(farthest > 0.0))
            break;
    }
    return 1;
}

/* 1 or -1 when the feasible point touches the upper or lower bound i. */
static double touches(const Qp *q, int i)
{
    if (q->near[i] >= q->upper[i] - QP_TOLERANCE * (1.0 + fabs(q->upper[i])))
        return 1.0;
    return q->near[i] <= q->lower[i] + QP_TOLERANCE * (1.0 + fabs(q->lower[i])) ? -1.0 : 0.0;
}

static void take(Qp *q, int i, double sign)
{
    q->set[q->active] = i;
    q->kept->sign[q->active++] = sign;
}

/* The bounds that the feasible point touches are the active set to start with. */
static int guess(Qp *q)
{
    int i, channel;
    if (!approach(q, q->unconstrained))
        return 0;
    forget(q);
    for (channel = 0; channel < CHANNELS; ++channel) {
        int loose = 0; /* moves since the last sum in the set that can still change */
        for (i = channel; i < N; i += CHANNELS) {
            const double move = touches(q, i), sum = touches(q, N + i);
            if (move > 0.0 || move < 0.0)
                take(q, i, move);
            else
                ++loose;
            if ((sum > 0.0 || sum < 0.0) && loose > 0) {
                take(q, N + i, sum);
                loose = 0;
            }
        }
    }
    q->changes = QP_REBUILD;
    return 1;
}

/* Without the minimum: a feasible point near `start`, or when there is none, hold. */
static int stop_early(Qp *q, const double *start, int iterations)
{
    if (!approach(q, start))
        return hold(q, QP_INFEASIBLE, iterations);
    memcpy(q->v, q->near, sizeof q->v);
    forget(q);
    q->iterations = iterations;
    return QP_ITERATION_LIMIT;
}
