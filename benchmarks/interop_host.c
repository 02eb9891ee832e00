/* Two hosts for the bench: `fmu LIBRARY GUID STEPS` steps an FMI 2 FMU directly, `controller` steps the controller it is
 * linked with over rows from standard input. Both print ns per step, the best of several rounds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#ifdef CONTROLLER
#include "ctl.h"

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? (size_t)atol(argv[1]) : 0, width = CTL_N_INPUTS;
    static double state[CTL_N_STATE], y[CTL_N_OUTPUTS];
    double *u = malloc(n * width * sizeof *u), best = 1e9, sum = 0.0;
    size_t k;
    int round;
    if (!u || fread(u, sizeof *u, n * width, stdin) != n * width)
        return 1;
    for (round = 0; round < 7; ++round) {
        struct timespec a, b;
        double seconds;
        ctl_reset(state);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (k = 0; k < n; ++k) {
            ctl_step(u + k * width, state, y);
            sum += y[0];
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        best = seconds < best ? seconds : best;
    }
    printf("%.2f\n", 1e9 * best / (double)n);
    (void)now;
    return sum == 1e300;
}
#else
typedef struct {
    void *logger, *take, *give, *done, *environment;
} Callbacks;

int main(int argc, char **argv)
{
    static const unsigned in[2] = {1, 2}, out[1] = {3};
    double u[2] = {0.0, 0.0}, y[1], best = 1e9;
    const long n = argc > 3 ? atol(argv[3]) : 0;
    void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : 0;
    static Callbacks callbacks;
    void *(*instantiate)(const char *, int, const char *, const char *, const void *, int, int);
    int (*setup)(void *, int, double, double, int, double), (*enter)(void *), (*leave)(void *);
    int (*set)(void *, const unsigned *, size_t, const double *), (*get)(void *, const unsigned *, size_t, double *);
    int (*step)(void *, double, double, int);
    void *c;
    long k;
    int round;
    double t = 0.0;
    if (!library)
        return 1;
    *(void **)&instantiate = dlsym(library, "fmi2Instantiate");
    *(void **)&setup = dlsym(library, "fmi2SetupExperiment");
    *(void **)&enter = dlsym(library, "fmi2EnterInitializationMode");
    *(void **)&leave = dlsym(library, "fmi2ExitInitializationMode");
    *(void **)&set = dlsym(library, "fmi2SetReal");
    *(void **)&get = dlsym(library, "fmi2GetReal");
    *(void **)&step = dlsym(library, "fmi2DoStep");
    c = instantiate("bench", 1, argv[2], "", &callbacks, 0, 0);
    if (!c || setup(c, 0, 0.0, 0.0, 0, 0.0) || enter(c) || leave(c))
        return 2;
    for (round = 0; round < 15; ++round) {
        double sum = 0.0;
        for (k = 0; k < n; ++k) {
            const double start = now();
            set(c, in, 2, u);
            if (step(c, t, 1e-3, 1))
                return 3;
            get(c, out, 1, y);
            sum += now() - start;
            t += 1e-3;
        }
        best = sum < best ? sum : best;
    }
    printf("%.2f\n", 1e9 * best / (double)n);
    return 0;
}
#endif
