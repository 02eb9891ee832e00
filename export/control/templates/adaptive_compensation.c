/* x_c = a0 x_t + a1 D x_t (D: backward difference / T);  w_c, w_m = low-pass of x_c, x_m;
 *   e = (w_c - a0 w_m - a1 D w_m) / (1 + w_m^2 + (D w_m)^2),  a0 += T Gamma0 e w_m,  a1 += T Gamma1 e D w_m, clipped.
 * Inputs target, measured; outputs command, a0, a1. */
typedef struct {
    double a[2], target, measured, started, low_pass[2][SECTIONS > 0 ? 2 * SECTIONS : 1];
} Memory;

static void reset_memory(Memory *m)
{
    memset(m, 0, sizeof *m);
    m->a[0] = coefficient[0][0];
    m->a[1] = coefficient[1][0];
}

static void adapt(Memory *m, int i, double slope)
{
    const double *c = coefficient[i], next = m->a[i] + PERIOD * c[1] * slope;
    m->a[i] = next > c[3] ? c[3] : next < c[2] ? c[2] : next;
}

static void step_memory(const double *in, Memory *m, double *out)
{
    const double rate = m->started > 0.0 ? (in[0] - m->target) / PERIOD : 0.0;
    const double command = m->a[0] * in[0] + m->a[1] * rate;
    const double smooth = filter(command, m->low_pass[0]), w = filter(in[1], m->low_pass[1]);
    const double dw = m->started > 0.0 ? (w - m->measured) / PERIOD : 0.0;
    const double error = (smooth - m->a[0] * w - m->a[1] * dw) / (1.0 + w * w + dw * dw);
    m->target = in[0];
    m->measured = w;
    m->started = 1.0;
    adapt(m, 0, error * w);
    adapt(m, 1, error * dw);
    out[0] = command;
    out[1] = m->a[0];
    out[2] = m->a[1];
}
