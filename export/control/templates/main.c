static double larger(double a, double b)
{
    return a >= b ? a : b; /* also when a is not a number */
}

/* Rows of inputs on standard input, as raw doubles, are answered one by one. */
static int answer(void)
{
    double u[INPUTS], y[OUTPUTS], state[STATE];
    CONTROLLER_RESET(state);
    while (fread(u, sizeof u[0], INPUTS, stdin) == INPUTS) {
        CONTROLLER_STEP(u, state, y);
        if (fwrite(y, sizeof y[0], OUTPUTS, stdout) != OUTPUTS)
            return 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    double y[OUTPUTS], state[STATE], worst = 0.0;
    int k, i;
    if (argc > 1 && strcmp(argv[1], "run") == 0)
        return answer();
    CONTROLLER_RESET(state);
    for (k = 0; k < STEPS; ++k) {
        CONTROLLER_STEP(golden_u[k], state, y);
        for (i = 0; i < OUTPUTS; ++i) {
            const double d = fabs(y[i] - golden_y[k][i]) / scale_y[i];
            worst = larger(worst, d == d ? d : HUGE_VAL);
        }
    }
    printf("%s: largest relative difference %.3g (tolerance %.3g)\n", NAME, worst, TOLERANCE);
    return worst <= TOLERANCE ? 0 : 1;
}
