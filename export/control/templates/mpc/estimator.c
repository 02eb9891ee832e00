/* x(k|k) = x + gain (y - C x),  then x(k+1|k) = [A B] [x(k|k); u]. */
static void correct(double *x, const double *y)
{
    double error[OUTPUTS], change[STATES];
    int i;
    multiply(&output_matrix[0][0], OUTPUTS, STATES, x, error);
    for (i = 0; i < OUTPUTS; ++i)
        error[i] = y[i] - error[i];
    multiply(&estimator_gain[0][0], STATES, OUTPUTS, error, change);
    for (i = 0; i < STATES; ++i)
        x[i] += change[i];
}

static void predict(double *x, const double *u)
{
    double z[STATES + CHANNELS], next[STATES];
    int i;
    for (i = 0; i < STATES; ++i)
        z[i] = x[i];
    for (i = 0; i < CHANNELS; ++i)
        z[STATES + i] = u[i];
    multiply(&advance_matrix[0][0], STATES, STATES + CHANNELS, z, next);
    for (i = 0; i < STATES; ++i)
        x[i] = next[i];
}
