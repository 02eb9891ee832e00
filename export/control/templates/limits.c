/* What stands behind the controller: |c_k - c_{k-1}| <= rate T and lower <= c <= upper of each command; it starts at
 * rest. A command that is not a number holds the last one. */
static void reset_limits(double *last)
{
    int i;
    for (i = 0; i < LIMITED; ++i)
        last[i] = command_rest[i];
}

static double limit(double value, double lower, double upper)
{
    return value < lower ? lower : upper < value ? upper : value;
}

static void step_limits(double *last, double *out)
{
    int i;
    for (i = 0; i < LIMITED; ++i) {
        const double most = command_rate[i] * LIMITED_PERIOD;
        const double c = out[i] == out[i] ? limit(out[i], last[i] - most, last[i] + most) : last[i];
        last[i] = out[i] = limit(c, command_lower[i], command_upper[i]);
    }
}
