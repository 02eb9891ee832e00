/* Adds constraint p, broken by `excess`, and drops what stands in its way; a status other than optimal ends the solve. */
static int add_constraint(Qp *q, int p, double excess)
{
    const double sign = q->v[p] > q->upper[p] ? 1.0 : -1.0, size = q->gram[p * N2 + p];
    double lambda = 0.0;
    int w;
    for (;;) {
        double delta, longest = HUGE_VAL, full, step;
        int blocking = -1, independent;
        if (++q->iterations > QP_CAP)
            return stop_early(q, q->unconstrained, QP_CAP);
        if (!q->guessed && q->iterations > QP_PATIENCE) { /* the last active set was far off: start from another one */
            q->guessed = 1;
            if (guess(q)) {
                warm_start(q);
                return QP_OPTIMAL;
            }
        }
        delta = border(q, p, sign);
        for (w = 0; w < q->active; ++w)
            if (q->r[w] > 0.0 && q->lambda[w] < longest * q->r[w]) {
                longest = q->lambda[w] / q->r[w];
                blocking = w;
            }
        independent = delta > QP_DEPENDENT * size && q->active < N;
        if (blocking < 0 && !(delta > 1e-9 * size && independent)) {
            if (!q->guessed && guess(q)) { /* or so it looks from an active set that is far off */
                q->guessed = 1;
                warm_start(q);
                return QP_OPTIMAL;
            }
            return stop_early(q, q->unconstrained, q->iterations);
        }
        full = independent ? excess / delta : HUGE_VAL;
        step = full < longest ? full : longest;
        for (w = 0; w < q->active; ++w)
            q->lambda[w] -= step * q->r[w];
        lambda += step;
        if (independent && full <= longest) {
            append(q, p, sign, lambda, delta);
            return QP_OPTIMAL;
        }
        if (blocking < 0) /* numbers overflowed */
            return stop_early(q, q->unconstrained, q->iterations);
        excess -= step * delta;
        drop(q, blocking);
    }
}

/* The moves changed so that active moves and sums stand exactly at their bounds. */
static void meet_active(Qp *q)
{
    int j, w;
    for (w = 0; w < q->active; ++w)
        q->v[q->set[w]] = bound(q, w);
    for (j = 0; j < N; ++j) {
        const double before = j < CHANNELS ? 0.0 : q->v[N + j - CHANNELS];
        if (q->is_active[N + j])
            q->v[j] = q->v[N + j] - before;
        else
            q->v[N + j] = before + q->v[j];
    }
}

/* At the minimum. Active bounds are met up to the rounding of the unconstrained minimum only, which is large beside
 * targets many decades beyond them: then they are met step by step. Where that, or the rounding of other moves, is too
 * much of a change, it is no longer the minimum. */
static int finish(Qp *q)
{
    double off = 0.0, moved;
    int i, w;
    for (w = 0; w < q->active; ++w)
        off = most_of(off, fabs(q->v[q->set[w]] - bound(q, w)) / (1.0 + fabs(bound(q, w))));
    if (off <= QP_TOLERANCE)
        return QP_OPTIMAL;
    meet_active(q);
    moved = settle(q, q->v) && q->active == N ? 0.0 : off; /* N active ones leave no other move */
    for (i = 0; i < N; ++i)
        moved = most_of(moved, fabs(q->near[i] - q->v[i]));
    if (!(moved <= QP_BLURRED))
        return stop_early(q, q->v, q->iterations);
    memcpy(q->v, q->near, sizeof q->v);
    return QP_OPTIMAL;
}

/* Solves with the constraints: q->unconstrained holds the minimum without them. */
static int solve_constrained(Qp *q)
{
    double excess = 0.0;
    int refined, p, status;
    q->guessed = q->active == 0 && guess(q);
    warm_start(q);
    refined = q->active == 0;
    for (;;) {
        evaluate(q);
        p = most_violated(q, &excess);
        if (p < 0) {
            if (refined)
                return finish(q);
            refine(q);
            refined = 1;
            continue;
        }
        refined = 0;
        status = add_constraint(q, p, excess);
        if (status != QP_OPTIMAL)
            return status;
    }
}

/* Whether all numbers of v are finite. */
static int all_finite(const double *v)
{
    int i, all = 1;
    for (i = 0; i < N2; ++i)
        all &= isfinite(v[i]) != 0;
    return all;
}

/* Reads the active set of the last solve and the minimum without constraints; QP_OPEN when that minimum breaks a bound. */
static int begin_solve(Qp *q, QpMemory *kept, const double *minimum, const double *lower, const double *upper)
{
    double excess = 0.0;
    int i;
    q->kept = kept;
    q->lower = lower;
    q->upper = upper;
    q->active = (int)kept->active;
    q->changes = (int)kept->changes;
    q->iterations = 0;
    for (i = 0; i < N; ++i) {
        q->unconstrained[i] = minimum[i];
        q->set[i] = (int)kept->set[i];
    }
    for (i = 0; i < N2; ++i)
        q->is_active[i] = 0;
    running_sums(q->unconstrained);
    for (i = 0; i < N2; ++i)
        q->v[i] = q->unconstrained[i];
    for (i = 0; i < N2; ++i)
        if (!(lower[i] < HUGE_VAL && upper[i] > -HUGE_VAL))
            return QP_NOT_FINITE;
    if (!all_finite(q->unconstrained))
        return QP_NOT_FINITE;
    if (most_violated(q, &excess) >= 0)
        return QP_OPEN;
    q->active = 0;
    return QP_OPTIMAL;
}

/* Keeps the active set for the next solve; an answer that is not finite is not given. */
static int end_solve(Qp *q, int status)
{
    int i;
    if (status == QP_NOT_FINITE || !all_finite(q->v))
        status = hold(q, QP_NOT_FINITE, q->iterations);
    q->kept->active = q->active;
    q->kept->changes = q->changes;
    for (i = 0; i < N; ++i)
        q->kept->set[i] = q->set[i];
    return status;
}

/* Boxes on moves and running sums for the input u applied last. */
static void move_bounds(const double *u, double *lower, double *upper)
{
    int i, c;
    for (i = 0; i < N; ++i) {
        c = i % CHANNELS;
        lower[i] = least_move[c];
        upper[i] = most_move[c];
        lower[N + i] = input_lower[c] - u[c];
        upper[N + i] = input_upper[c] - u[c];
    }
}

/* u + move, with every limit kept to the last bit. */
static double apply_move(int c, double u, double move)
{
    return clip(u + clip(move, least_move[c], most_move[c]), input_lower[c], input_upper[c]);
}
