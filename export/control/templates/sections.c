/* Second-order sections b0 b1 b2 a1 a2 in a row: y = b0 u + s1,  s1 <- b1 u - a1 y + s2,  s2 <- b2 u - a2 y. */
static double filter(double value, double *s)
{
    int i;
    for (i = 0; i < SECTIONS; ++i, s += 2) {
        const double *c = sections[i], y = c[0] * value + s[0];
        s[0] = c[1] * value - c[3] * y + s[1];
        s[1] = c[2] * value - c[4] * y;
        value = y;
    }
    return value;
}
