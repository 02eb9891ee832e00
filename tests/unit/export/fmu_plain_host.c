/* A plain C host: loads an FMI 2.0 FMU by dlopen and steps two instances of it in turn.
 *
 * host LIBRARY GUID N_IN N_OUT H: reads rows of inputs (raw doubles) from standard input; the first instance gets every row,
 * the second one is saved before each row and restored after it, so that it must stay at its first step. Writes the
 * outputs of the first instance; returns 3 when the second one moved. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;

static int blocks = 0;

static void *allocate(size_t n, size_t size)
{
    ++blocks;
    return calloc(n, size);
}

static void release(void *memory)
{
    blocks -= memory != 0;
    free(memory);
}

static void *library;

static void *find(const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        exit(4);
    return symbol;
}

#define FUNCTION(result, name, arguments) \
    result(*name) arguments;              \
    *(void **)(&name) = find(#name)

int main(int argc, char **argv)
{
    Callbacks callbacks = {0, allocate, release, 0, 0};
    double u[64], y[64], first[64], again[64], t = 0.0, h;
    unsigned int in[64], out[64], i, n_in, n_out;
    void *a, *b, *saved = 0;
    if (argc != 6 || !(library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)))
        return 2;
    n_in = (unsigned int)atoi(argv[3]);
    n_out = (unsigned int)atoi(argv[4]);
    h = atof(argv[5]);
    FUNCTION(void *, fmi2Instantiate, (const char *, int, const char *, const char *, const Callbacks *, int, int));
    FUNCTION(int, fmi2SetupExperiment, (void *, int, double, double, int, double));
    FUNCTION(int, fmi2EnterInitializationMode, (void *));
    FUNCTION(int, fmi2ExitInitializationMode, (void *));
    FUNCTION(int, fmi2SetReal, (void *, const unsigned int *, size_t, const double *));
    FUNCTION(int, fmi2GetReal, (void *, const unsigned int *, size_t, double *));
    FUNCTION(int, fmi2DoStep, (void *, double, double, int));
    FUNCTION(int, fmi2GetFMUstate, (void *, void **));
    FUNCTION(int, fmi2SetFMUstate, (void *, void *));
    FUNCTION(int, fmi2FreeFMUstate, (void *, void **));
    FUNCTION(int, fmi2Terminate, (void *));
    FUNCTION(void, fmi2FreeInstance, (void *));
    for (i = 0; i < n_in; ++i)
        in[i] = 1 + i;
    for (i = 0; i < n_out; ++i)
        out[i] = 1 + n_in + i;
    a = fmi2Instantiate("a", 1, argv[2], 0, &callbacks, 0, 0);
    b = fmi2Instantiate("b", 1, argv[2], 0, &callbacks, 0, 0);
    if (!a || !b || fmi2Instantiate("c", 1, "{another}", 0, &callbacks, 0, 0))
        return 5;
    if (fmi2SetupExperiment(a, 0, 0, 0, 0, 0) || fmi2SetupExperiment(b, 0, 0, 0, 0, 0))
        return 6;
    if (fmi2EnterInitializationMode(a) || fmi2EnterInitializationMode(b))
        return 7;
    if (fmi2ExitInitializationMode(a) || fmi2ExitInitializationMode(b))
        return 8;
    if (fmi2GetFMUstate(b, &saved) || fmi2DoStep(b, 0, h, 1) || fmi2GetReal(b, out, n_out, first) ||
        fmi2SetFMUstate(b, saved))
        return 9;
    for (; fread(u, sizeof u[0], n_in, stdin) == n_in; t += h) {
        if (fmi2SetReal(a, in, n_in, u) || fmi2DoStep(a, t, h, 1) || fmi2GetReal(a, out, n_out, y))
            return 10;
        if (fmi2DoStep(b, 0, h, 1) || fmi2GetReal(b, out, n_out, again) || fmi2SetFMUstate(b, saved))
            return 11;
        if (memcmp(first, again, n_out * sizeof first[0]) != 0)
            return 3;
        if (fwrite(y, sizeof y[0], n_out, stdout) != n_out)
            return 12;
    }
    if (fmi2FreeFMUstate(b, &saved) || saved || fmi2Terminate(a) || fmi2DoStep(a, t, h, 1) != 3)
        return 13;
    fmi2FreeInstance(a);
    fmi2FreeInstance(b);
    return blocks == 0 ? 0 : 14;
}
