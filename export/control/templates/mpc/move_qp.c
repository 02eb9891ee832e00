/* min 1/2 x' H x + f' x  subject to  lower <= [x; s] <= upper,  s_i = x_i + s_{i - CHANNELS}  (N moves, 2 N bounds).
 * Dual active-set method of Goldfarb and Idnani (1983) on the Gram matrix G = A H^-1 A' of all normals. For the set W:
 *   [x; s] = [x; s]_free - sum_W sign_w lambda_w G[:, w],   r = G_WW^-1 G_Wp,   delta = G_pp - G_pW r
 * The inverse of G_WW is kept and changed by rank-one steps; the active set is the start of the next solve. At the
 * iteration cap the answer is a feasible point of coordinate descent, which is also where a solve without an active set
 * begins; when no point is feasible, the moves are zero but for the first, which goes into its bounds, and so they are
 * when numbers or bounds are not finite. An optimum that rounding pushes out of its bounds is moved back into them. */
#define N2 (2 * N)
#define QP_TOLERANCE 1e-10
#define QP_DEPENDENT 1e-9
#define QP_BLURRED 1e-6
#define QP_REBUILD 64
#define QP_PATIENCE (N / 10 + 4)
#define QP_SWEEPS 6
enum { QP_OPTIMAL, QP_ITERATION_LIMIT, QP_INFEASIBLE, QP_NOT_FINITE, QP_OPEN };

/* What stays from one solve to the next. */
typedef struct {
    double inverse[N][N]; /* of G_WW, column by column */
    double set[N], sign[N];
    double active, changes;
} QpMemory;

typedef struct {
    QpMemory *kept;
    const double *gram, *scale, *lower, *upper; /* gram and scale are null while no constraint was ever broken */
    const double *hessian, *factor; /* H = L L' in full, or null: built from its factor L when it is needed */
    double lambda[N], g[N], r[N], unconstrained[N2], v[N2], near[N2], own_hessian[N * N];
    int set[N], is_active[N2], active, changes, iterations, guessed;
} Qp;

static void running_sums(double *v)
{
    int i;
    for (i = 0; i < CHANNELS; ++i)
        v[N + i] = v[i];
    for (i = CHANNELS; i < N; ++i)
        v[N + i] = v[i] + v[N + i - CHANNELS];
}

static int most_violated(const Qp *q, double *excess)
{
    int i, worst = -1;
    double most = 0.0;
    for (i = 0; i < N2; ++i) {
        const double above = q->v[i] - q->upper[i], below = q->lower[i] - q->v[i];
        const double out = above > below ? above : below;
        double scaled;
        if (!(out > QP_TOLERANCE) || q->is_active[i])
            continue;
        if (!(out > QP_TOLERANCE * (1.0 + fabs(q->v[i] > q->upper[i] ? q->upper[i] : q->lower[i]))))
            continue;
        scaled = q->scale ? out * q->scale[i] : out;
        if (scaled > most) {
            most = scaled;
            worst = i;
            *excess = out;
        }
    }
    return worst;
}

static double bound(const Qp *q, int w)
{
    return q->kept->sign[w] > 0.0 ? q->upper[q->set[w]] : q->lower[q->set[w]];
}

/* y = G_WW^-1 x. */
static void inverse_times(const Qp *q, const double *restrict x, double *restrict y)
{
    int i, j;
    for (i = 0; i < q->active; ++i)
        y[i] = 0.0;
    for (j = 0; j < q->active; ++j)
        for (i = 0; i < q->active; ++i)
            y[i] += q->kept->inverse[j][i] * x[j];
}

static void rank_one(Qp *q, int k, double factor, const double *restrict x)
{
    int i, j;
    for (j = 0; j < k; ++j) {
        const double weight = factor * x[j];
        for (i = 0; i < k; ++i)
            q->kept->inverse[j][i] += x[i] * weight;
    }
}

/* r = G_WW^-1 G_Wp with the signs of W and p; returns delta. */
static double border(Qp *q, int p, double sign)
{
    const double *column = q->gram + p * N2;
    double delta = column[p];
    int w;
    for (w = 0; w < q->active; ++w)
        q->g[w] = sign * q->kept->sign[w] * column[q->set[w]];
    inverse_times(q, q->g, q->r);
    for (w = 0; w < q->active; ++w)
        delta -= q->g[w] * q->r[w];
    return delta;
}

/* The bordered inverse [[B + r r'/delta, -r/delta], [-r'/delta, 1/delta]], with r left by border(). */
static void append(Qp *q, int p, double sign, double lambda, double delta)
{
    const int k = q->active;
    int i;
    rank_one(q, k, 1.0 / delta, q->r);
    for (i = 0; i < k; ++i)
        q->kept->inverse[k][i] = q->kept->inverse[i][k] = -q->r[i] / delta;
    q->kept->inverse[k][k] = 1.0 / delta;
    q->set[k] = p;
    q->kept->sign[k] = sign;
    q->lambda[k] = lambda;
    q->is_active[p] = 1;
    q->active = k + 1;
    ++q->changes;
}

/* The inverse without row and column p: B - b b'/b_p; the last constraint takes the place of the dropped one. */
static void drop(Qp *q, int p)
{
    const int last = q->active - 1;
    double (*inverse)[N] = q->kept->inverse;
    int i;
    q->is_active[q->set[p]] = 0;
    if (p != last) {
        for (i = 0; i <= last; ++i) {
            const double other = inverse[i][p];
            inverse[i][p] = inverse[i][last];
            inverse[i][last] = other;
        }
        for (i = 0; i <= last; ++i) {
            const double other = inverse[p][i];
            inverse[p][i] = inverse[last][i];
            inverse[last][i] = other;
        }
        q->set[p] = q->set[last];
        q->kept->sign[p] = q->kept->sign[last];
        q->lambda[p] = q->lambda[last];
    }
    for (i = 0; i < last; ++i)
        q->g[i] = inverse[last][i];
    rank_one(q, last, -1.0 / inverse[last][last], q->g);
    for (i = 0; i <= last; ++i)
        inverse[i][last] = inverse[last][i] = 0.0;
    q->active = last;
    ++q->changes;
}

/* Starts from the active set of the last solve: its multipliers are solved for, negative ones are dropped. */
static void warm_start(Qp *q)
{
    const int before = q->active;
    int w;
    if (q->changes >= QP_REBUILD) {
        q->active = 0;
        for (w = 0; w < before; ++w) {
            const int p = q->set[w]; /* append() writes positions up to w only */
            const double sign = q->kept->sign[w];
            double delta;
            if (!isfinite(sign > 0.0 ? q->upper[p] : q->lower[p]))
                continue;
            delta = border(q, p, sign);
            if (delta > 1e-9 * q->gram[p * N2 + p])
                append(q, p, sign, 0.0, delta);
        }
        q->changes = 0;
    } else {
        for (w = 0; w < before; ++w)
            q->is_active[q->set[w]] = 1;
        for (w = before - 1; w >= 0; --w)
            if (!isfinite(bound(q, w)))
                drop(q, w);
    }
    for (w = 0; w < q->active; ++w)
        q->g[w] = q->kept->sign[w] * (q->unconstrained[q->set[w]] - bound(q, w));
    inverse_times(q, q->g, q->lambda);
    while (q->active > 0) {
        int worst = 0;
        double ratio;
        for (w = 1; w < q->active; ++w)
            if (q->lambda[w] < q->lambda[worst])
                worst = w;
        if (!(q->lambda[worst] < 0.0))
            return;
        ratio = q->lambda[worst] / q->kept->inverse[worst][worst];
        for (w = 0; w < q->active; ++w)
            q->lambda[w] -= ratio * q->kept->inverse[worst][w];
        drop(q, worst);
    }
}

/* [x; s] for the multipliers. */
static void evaluate(Qp *q)
{
    int i, w;
    for (i = 0; i < N; ++i)
        q->v[i] = q->unconstrained[i];
    for (w = 0; w < q->active; ++w) {
        const double weight = q->kept->sign[w] * q->lambda[w];
        const double *column = q->gram + q->set[w] * N2;
        for (i = 0; i < N; ++i)
            q->v[i] -= column[i] * weight;
    }
    running_sums(q->v);
}

/* One step of iterative refinement: what the active constraints miss their bounds by goes back into lambda. */
static void refine(Qp *q)
{
    int w;
    for (w = 0; w < q->active; ++w)
        q->g[w] = q->kept->sign[w] * (q->v[q->set[w]] - bound(q, w));
    inverse_times(q, q->g, q->r);
    for (w = 0; w < q->active; ++w)
        q->lambda[w] = 0.0 < q->lambda[w] + q->r[w] ? q->lambda[w] + q->r[w] : 0.0;
}

static double clip(double value, double lower, double upper)
{
    const double above = value < lower ? lower : value;
    return upper < above ? upper : above;
}

/* x moved into [lower, upper], as far as they are bounds. */
static double within(double x, double lower, double upper)
{
    if (lower > x && lower < HUGE_VAL)
        x = lower;
    return upper < x && upper > -HUGE_VAL ? upper : x;
}

static int hold(Qp *q, int status, int iterations)
{
    int i;
    for (i = 0; i < N; ++i)
        q->v[i] = 0.0;
    for (i = 0; i < CHANNELS; ++i)
        q->v[i] = within(within(0.0, q->lower[N + i], q->upper[N + i]), q->lower[i], q->upper[i]);
    running_sums(q->v);
    q->active = q->changes = 0;
    q->iterations = iterations;
    return status;
}
