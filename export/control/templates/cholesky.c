/* In place A = L L' on the lower triangle of A (N, N), column by column; 0 when A is not positive definite. */
static int cholesky(double *a)
{
    int i, j, k;
    for (j = 0; j < N; ++j) {
        double pivot = a[j * N + j];
        for (k = 0; k < j; ++k)
            pivot -= a[k * N + j] * a[k * N + j];
        if (!(pivot > 0.0))
            return 0;
        pivot = sqrt(pivot);
        a[j * N + j] = pivot;
        for (k = 0; k < j; ++k) {
            const double weight = a[k * N + j];
            for (i = j + 1; i < N; ++i)
                a[j * N + i] -= a[k * N + i] * weight;
        }
        for (i = j + 1; i < N; ++i)
            a[j * N + i] /= pivot;
    }
    return 1;
}

/* x = A^-1 x from the factor L of A. */
static void solve(const double *restrict l, double *restrict x)
{
    int i, j;
    for (j = 0; j < N; ++j) {
        const double value = x[j] / l[j * N + j];
        x[j] = value;
        for (i = j + 1; i < N; ++i)
            x[i] -= l[j * N + i] * value;
    }
    for (j = N - 1; j >= 0; --j) {
        double sum = x[j];
        for (i = j + 1; i < N; ++i)
            sum -= l[j * N + i] * x[i];
        x[j] = sum / l[j * N + j];
    }
}
