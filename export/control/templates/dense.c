/* y = A x; A is stored column by column. Even and odd columns are summed apart: two short chains of additions. */
static void multiply(const double *restrict a, int rows, int cols, const double *restrict x, double *restrict y)
{
    double odd[MOST_ROWS];
    int i, j;
    for (i = 0; i < rows; ++i)
        y[i] = odd[i] = 0.0;
    for (j = 0; j < cols; ++j) {
        double *restrict sum = j % 2 ? odd : y;
        for (i = 0; i < rows; ++i)
            sum[i] += a[j * rows + i] * x[j];
    }
    for (i = 0; i < rows; ++i)
        y[i] += odd[i];
}
