/* Inputs: references, measured. */
typedef MpcMemory Memory;

static void reset_memory(Memory *m)
{
    memset(m, 0, sizeof *m);
}

static void step_memory(const double *in, Memory *m, double *out)
{
    step_mpc(in, in + REFERENCES, m, out);
}
