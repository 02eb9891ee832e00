/* The references follow from few numbers q, which are part of GAINS: POINTS targets that stand SPACING steps apart, and
 * the state of the numerical part. Targets before the first step equal the first one.
 * Inputs: target, measured, numerical state. */
typedef struct {
    double started, newest, past[LENGTH][OUTPUTS];
    MpcMemory mpc;
} Memory;

static void reset_memory(Memory *m)
{
    memset(m, 0, sizeof *m);
}

static void step_memory(const double *in, Memory *m, double *out)
{
    const int newest = (int)m->newest + 1 == LENGTH ? 0 : (int)m->newest + 1;
    double q[REFERENCES];
    int row = newest, a;
    if (!(m->started > 0.0))
        for (a = 0; a < LENGTH; ++a)
            memcpy(m->past[a], in, sizeof m->past[a]);
    m->started = 1.0;
    m->newest = newest;
    memcpy(m->past[newest], in, sizeof m->past[newest]);
    for (a = 0; a < POINTS; ++a) {
        memcpy(q + a * OUTPUTS, m->past[row], sizeof m->past[row]);
        row = row < SPACING ? row - SPACING + LENGTH : row - SPACING;
    }
    memcpy(q + POINTS * OUTPUTS, in + 2 * OUTPUTS, (REFERENCES - POINTS * OUTPUTS) * sizeof(double));
    step_mpc(q, in + OUTPUTS, &m->mpc, out);
}
