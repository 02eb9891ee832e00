/* y = sum_a w_a u_{k - a SPACING} for each lead; values before the first step equal the first one. Outputs stand lead by
 * lead, channels within. */
typedef struct {
    double started, newest, ring[LENGTH][CHANNELS];
} Memory;

static void reset_memory(Memory *m)
{
    memset(m, 0, sizeof *m);
}

static void step_memory(const double *in, Memory *m, double *out)
{
    const int newest = (int)m->newest + 1 == LENGTH ? 0 : (int)m->newest + 1;
    int row = newest, a, lead, i;
    if (!(m->started > 0.0))
        for (i = 0; i < LENGTH; ++i)
            memcpy(m->ring[i], in, sizeof m->ring[i]);
    m->started = 1.0;
    m->newest = newest;
    memcpy(m->ring[newest], in, sizeof m->ring[newest]);
    for (i = 0; i < LEADS * CHANNELS; ++i)
        out[i] = 0.0;
    for (a = 0; a < POINTS; ++a) {
        for (lead = 0; lead < LEADS; ++lead)
            for (i = 0; i < CHANNELS; ++i)
                out[lead * CHANNELS + i] += weights[lead][a] * m->ring[row][i];
        row -= SPACING;
        if (row < 0)
            row += LENGTH;
    }
}
