/* Model predictive control that identifies its model while it runs. Each interval: identify theta of
 * y_k = -sum a_i y_{k-i} + sum b_i u_{k-i} by recursive least squares; realise x+ = A x + B u with A = [-a, shift],
 * B = b, C = e_1 and one disturbance state; estimate by a time-varying Kalman filter; predict; optimise; apply the first
 * move. Inputs: reference (1, or P with preview), measured, with LARGEST_AGE >= 0 its age in ticks; outputs: command,
 * iterations, status, theta, trace of the covariance of theta. */
#define THETA (POLES + ZEROS)
#define D STATES /* the disturbance stands behind the states of the plant */

typedef struct {
    double theta[THETA], model[THETA], psi[THETA], p[THETA][THETA]; /* identification */
    double x[STATES + 1], covariance[STATES + 1][STATES + 1];       /* estimation, column by column */
    double response[STEPS], factor[N][N], gram[N2][N2], scale[N2];  /* optimisation */
    double u, unlearnt, stale, gram_ready;
    QpMemory qp;
} Memory;

static void reset_memory(Memory *m)
{
    int i;
    memset(m, 0, sizeof *m);
    for (i = 0; i < THETA; ++i) {
        m->theta[i] = m->model[i] = theta_start[i];
        m->p[i][i] = COVARIANCE;
    }
    memcpy(m->covariance, settled, sizeof m->covariance);
    m->stale = 1.0;
}

static double trace(const Memory *m)
{
    double sum = 0.0;
    int i;
    for (i = 0; i < THETA; ++i)
        sum += m->p[i][i];
    return sum;
}

/* Schur-Cohn recursion on the poles scaled by POLE_RADIUS, and the sign of the static gain. */
static int sane(const double *theta)
{
    double a[POLES + 1], next[POLES + 1], gain = 0.0, factor = 1.0;
    int i, n;
    for (i = POLES; i < THETA; ++i)
        gain += theta[i];
    if (!(gain * GAIN_SIGN > 0.0))
        return 0;
    a[0] = 1.0;
    for (i = 0; i < POLES; ++i) {
        factor /= POLE_RADIUS;
        a[i + 1] = theta[i] * factor;
    }
    for (n = POLES; n > 0; --n) {
        const double k = a[n];
        double rest;
        if (!(fabs(k) < 1.0))
            return 0;
        rest = 1.0 / (1.0 - k * k);
        for (i = 0; i < n; ++i)
            next[i] = (a[i] - k * a[n - i]) * rest;
        memcpy(a, next, (size_t)n * sizeof(double));
    }
    return 1;
}

/* K = P psi / (r + psi' P psi),  theta <- clip(theta + K (y - psi' theta)),  P <- (P - K psi' P) / FORGETTING + drift. */
static int identify(Memory *m, double y)
{
    double p_psi[THETA], energy = 0.0, error = y, variance = PARAMETER_NOISE;
    int i, j;
    for (i = 0; i < THETA; ++i) {
        energy += m->psi[i] * m->psi[i];
        error -= m->psi[i] * m->theta[i];
    }
    if (!(energy > 0.0) || energy < EXCITATION * EXCITATION)
        return 0;
    multiply(&m->p[0][0], THETA, THETA, m->psi, p_psi);
    for (i = 0; i < THETA; ++i)
        variance += m->psi[i] * p_psi[i];
    for (i = 0; i < THETA; ++i)
        m->theta[i] = clip(m->theta[i] + p_psi[i] * (error / variance), theta_lower[i], theta_upper[i]);
    for (j = 0; j < THETA; ++j) {
        const double weight = p_psi[j] / variance;
        for (i = 0; i < THETA; ++i)
            m->p[j][i] -= p_psi[i] * weight;
    }
    for (j = 0; j < THETA; ++j) /* one triangle decides, so that P stays symmetric */
        for (i = 0; i < j; ++i)
            m->p[j][i] = m->p[i][j];
    if (trace(m) < COVARIANCE_CAP * FORGETTING) {
        const double growth = 1.0 / FORGETTING;
        for (j = 0; j < THETA; ++j)
            for (i = 0; i < THETA; ++i)
                m->p[j][i] *= growth;
        for (i = 0; i < THETA; ++i)
            m->p[i][i] += theta_drift[i];
    }
    if (!sane(m->theta))
        return 0;
    memcpy(m->model, m->theta, sizeof m->model);
    return 1;
}

static void remember(double *psi, double y, double u)
{
    int i;
    for (i = POLES - 1; i > 0; --i)
        psi[i] = psi[i - 1];
    psi[0] = -y;
    for (i = THETA - 1; i > POLES; --i)
        psi[i] = psi[i - 1];
    psi[POLES] = u;
}

/* a and b of the model in use, padded to STATES. */
typedef struct {
    double a[STATES], b[STATES];
} Plant;

static void realise(const Memory *m, Plant *plant)
{
    memset(plant, 0, sizeof *plant);
    memcpy(plant->a, m->model, POLES * sizeof(double));
    memcpy(plant->b, m->model + POLES, ZEROS * sizeof(double));
}

/* x <- A x + B u; the disturbance stays. */
static void advance(const Plant *plant, double *x, double u)
{
    const double first = x[0];
    int i;
    for (i = 0; i + 1 < STATES; ++i)
        x[i] = x[i + 1] - plant->a[i] * first + plant->b[i] * u;
    x[STATES - 1] = plant->b[STATES - 1] * u - plant->a[STATES - 1] * first;
}

/* x += M (y - C x), P -= M C P with M = P C' / (C P C' + R), C = [1 0 .. 0 1]. */
static void correct(Memory *m, double y)
{
    double pc[STATES + 1], gain[STATES + 1], variance, error;
    int i, j;
    for (i = 0; i <= D; ++i)
        pc[i] = m->covariance[0][i] + m->covariance[D][i];
    variance = pc[0] + pc[D] + NOISE_VARIANCE;
    for (i = 0; i <= D; ++i)
        gain[i] = pc[i] / variance;
    for (j = 0; j <= D; ++j)
        for (i = 0; i <= D; ++i)
            m->covariance[j][i] -= gain[i] * pc[j];
    error = y - m->x[0] - m->x[D];
    for (i = 0; i <= D; ++i)
        m->x[i] += gain[i] * error;
}

/* P <- A P A' + Q, Q = diag(q b b', b_d^2). */
static void advance_covariance(Memory *m, const Plant *plant)
{
    double product[STATES + 1][STATES + 1];
    int i, j;
    for (j = 0; j <= D; ++j) { /* product = A P */
        const double *p = m->covariance[j];
        for (i = 0; i + 1 < D; ++i)
            product[j][i] = p[i + 1] - plant->a[i] * p[0];
        product[j][D - 1] = 0.0 - plant->a[D - 1] * p[0];
        product[j][D] = p[D];
    }
    for (j = 0; j < D; ++j) /* P = product A' */
        for (i = 0; i <= D; ++i)
            m->covariance[j][i] = (j + 1 < D ? product[j + 1][i] : 0.0) - plant->a[j] * product[0][i];
    memcpy(m->covariance[D], product[D], sizeof product[D]);
    for (j = 0; j < D; ++j)
        for (i = 0; i < D; ++i)
            m->covariance[j][i] += PROCESS_VARIANCE * plant->b[i] * plant->b[j];
    m->covariance[D][D] += DISTURBANCE_GAIN * DISTURBANCE_GAIN;
    for (j = 0; j <= D; ++j) /* one triangle decides, so that P stays symmetric */
        for (i = 0; i < j; ++i)
            m->covariance[j][i] = m->covariance[i][j];
}

/* Free response with the input held, step response when the model changed, and the linear term of the cost. */
static void predict(Memory *m, const Plant *plant, const double *reference, double *linear)
{
    const double w = OUTPUT_WEIGHT * OUTPUT_WEIGHT;
    double trial[STATES + 1], unforced[STEPS];
    int i, j;
    memcpy(trial, m->x, sizeof trial);
    for (i = 0; i < STEPS; ++i) {
        advance(plant, trial, m->u);
        unforced[i] = trial[0] + trial[D];
    }
    if (m->stale > 0.0) {
        memset(trial, 0, sizeof trial);
        for (i = 0; i < STEPS; ++i) {
            advance(plant, trial, 1.0);
            m->response[i] = trial[0];
        }
    }
    for (i = 0; i < STEPS; ++i)
        unforced[i] = w * (unforced[i] - reference[REFERENCES == 1 ? 0 : i]);
    for (j = 0; j < N; ++j) {
        double sum = 0.0;
        for (i = j; i < STEPS; ++i)
            sum += m->response[i - j] * unforced[i];
        linear[j] = sum;
    }
}

/* Factor of H, built by diagonals: H_jl = H_{j+1,l+1} + w^2 s_{P-j} s_{P-l}. */
static int build_hessian(Memory *m)
{
    const double w = OUTPUT_WEIGHT * OUTPUT_WEIGHT;
    int i, j;
    for (j = 0; j < N; ++j) {
        double sum = 0.0;
        for (i = N - 1; i < STEPS; ++i)
            sum += m->response[i - (N - 1)] * m->response[i - j];
        m->factor[j][N - 1] = w * sum;
    }
    for (i = N - 2; i >= 0; --i)
        for (j = 0; j <= i; ++j)
            m->factor[j][i] = m->factor[j + 1][i + 1] + w * m->response[STEPS - 1 - i] * m->response[STEPS - 1 - j];
    for (i = 0; i < N; ++i)
        m->factor[i][i] += MOVE_WEIGHT * MOVE_WEIGHT;
    m->gram_ready = 0.0;
    return cholesky(&m->factor[0][0]);
}

/* G = A H^-1 A' and 1 / sqrt(G_ii); only when a bound is broken with a new H. */
static void build_gram(Memory *m)
{
    int i, j;
    for (j = 0; j < N; ++j) {
        memset(m->gram[j], 0, sizeof m->gram[j]);
        m->gram[j][j] = 1.0;
        solve(&m->factor[0][0], m->gram[j]);
    }
    for (j = 0; j < N; ++j)
        for (i = 0; i < j; ++i)
            m->gram[j][i] = m->gram[i][j];
    for (j = 0; j < N; ++j)
        running_sums(m->gram[j]);
    for (j = 0; j < N; ++j)
        for (i = 0; i < N2; ++i)
            m->gram[N + j][i] = m->gram[j][i] + (j < CHANNELS ? 0.0 : m->gram[N + j - CHANNELS][i]);
    for (i = 0; i < N2; ++i)
        m->scale[i] = 1.0 / sqrt(m->gram[i][i]);
    m->gram_ready = 1.0;
}

/* The first move and how it was found. */
static double optimise(Memory *m, const double *linear, double *out)
{
    double minimum[N], lower[N2], upper[N2], move;
    Qp q;
    int i, status;
    for (i = 0; i < N; ++i)
        minimum[i] = -linear[i];
    solve(&m->factor[0][0], minimum);
    move_bounds(&m->u, lower, upper);
    q.gram = &m->gram[0][0];
    q.scale = m->gram_ready > 0.0 ? m->scale : 0;
    q.hessian = 0;
    q.factor = &m->factor[0][0];
    status = begin_solve(&q, &m->qp, minimum, lower, upper);
    if (status == QP_OPEN) {
        if (!q.scale) {
            build_gram(m);
            q.scale = m->scale;
            q.changes = QP_REBUILD; /* the kept inverse belongs to the old G */
        }
        status = solve_constrained(&q);
    }
    status = end_solve(&q, status);
    move = q.v[0];
    out[1] = q.iterations;
    out[2] = status;
    return move;
}

static void step_memory(const double *in, Memory *m, double *out)
{
    const int known = LARGEST_AGE < 0.0 || in[REFERENCES + (LARGEST_AGE < 0.0 ? 0 : 1)] <= LARGEST_AGE;
    const double y = known ? in[REFERENCES] : m->x[0] + m->x[D];
    double linear[N], move = 0.0;
    Plant plant;
    if (!known)
        m->unlearnt = POLES + 1;
    if (m->unlearnt > 0.0)
        m->unlearnt -= 1.0;
    else if (identify(m, y))
        m->stale = 1.0;
    realise(m, &plant);
    if (known)
        correct(m, y);
    advance_covariance(m, &plant);
    predict(m, &plant, in, linear);
    if (m->stale > 0.0)
        m->stale = build_hessian(m) ? 0.0 : 1.0;
    out[1] = 0.0;
    out[2] = QP_INFEASIBLE;
    if (!(m->stale > 0.0))
        move = optimise(m, linear, out);
    m->u = apply_move(0, m->u, move);
    remember(m->psi, y, m->u);
    advance(&plant, m->x, m->u);
    out[0] = m->u;
    memcpy(out + 3, m->model, sizeof m->model);
    out[3 + THETA] = trace(m);
}
