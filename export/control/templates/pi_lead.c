/* v_k = b0 r_k + b1 r_{k-1} - a1 v_{k-1},   e = v - y,   i_k = i_{k-1} + k_i T/2 (e_k + e_{k-1}),   u = k_p e + i
 * u is clipped; the integral stands still while that clips u and e would push it further. Inputs r, y; output u. */
typedef struct {
    double lead, reference, error, integral;
} Memory;

static void reset_memory(Memory *m)
{
    memset(m, 0, sizeof *m);
}

static void step_memory(const double *in, Memory *m, double *out)
{
    double error, integral, u;
    m->lead = B0 * in[0] + B1 * m->reference - A1 * m->lead;
    m->reference = in[0];
    error = m->lead - in[1];
    integral = m->integral + HALF * (error + m->error);
    m->error = error;
    u = KP * error + integral;
    if (!((u > UPPER && integral > m->integral) || (u < LOWER && integral < m->integral)))
        m->integral = integral;
    out[0] = u > UPPER ? UPPER : u < LOWER ? LOWER : u;
}
