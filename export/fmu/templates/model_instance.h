/* One instance of the model inside an FMU: what is saved and restored, and how it steps. Shared by FMI 2.0 and 3.0.
 *
 * Outputs change in initialisation and at the end of a step: a step from t over h holds the inputs and makes h / dt steps
 * of a model with memory, or one evaluation of a model without. A model has no other state than its snapshot.
 */
#ifndef MODEL_INSTANCE_H
#define MODEL_INSTANCE_H

#include "model_config.h"

#include <math.h>
#include <string.h>

#define MODEL_STATE_SIZE (MODEL_STATES > 0 ? MODEL_STATES : 1)
#define MODEL_FIRST_INPUT 1u /* value reference 0 is time */
#define MODEL_FIRST_OUTPUT (MODEL_FIRST_INPUT + MODEL_INPUTS)
#define MODEL_END (MODEL_FIRST_OUTPUT + MODEL_OUTPUTS)

typedef enum { PHASE_MADE, PHASE_INITIALISING, PHASE_STEPPING, PHASE_TERMINATED } ModelPhase;

typedef struct {
    char token[sizeof MODEL_TOKEN]; /* whose snapshot it is */
    double time;
    int phase;
    MODEL_REAL u[MODEL_INPUTS];
    MODEL_REAL state[MODEL_STATE_SIZE];
    MODEL_REAL y[MODEL_OUTPUTS];
} ModelSnapshot;

static void model_start(ModelSnapshot *m)
{
    static const MODEL_REAL start[MODEL_INPUTS] = MODEL_START;
    memset(m, 0, sizeof *m);
    memcpy(m->token, MODEL_TOKEN, sizeof m->token);
    m->phase = PHASE_MADE;
    memcpy(m->u, start, sizeof m->u);
    MODEL_RESET(m->state);
}

/* Outputs of the present inputs, without moving on. */
static void model_evaluate(ModelSnapshot *m)
{
    MODEL_REAL state[MODEL_STATE_SIZE];
    memcpy(state, m->state, sizeof state);
    MODEL_STEP(m->u, state, m->y);
}

static int model_finite(const MODEL_REAL *values, int n)
{
    int i;
    for (i = 0; i < n; ++i)
        if (!isfinite(values[i]))
            return 0;
    return 1;
}

/* Whether a step may begin at `point`: a number, and not before the end of the last step (but for rounding). */
static int model_time_goes_on(const ModelSnapshot *m, double point, double h)
{
    return isfinite(point) && isfinite(point + h) && point >= m->time - 1e-9 * (fabs(m->time) + fabs(h));
}

/* Number of model steps in a communication step of h seconds, 0 when there is no such number. */
static long model_steps(double h)
{
#if MODEL_TIMED
    const double n = h / MODEL_SECONDS, whole = floor(n + 0.5);
    if (!(whole >= 1.0 && whole <= 1e9 && fabs(n - whole) <= 1e-6 * whole))
        return 0;
    return (long)whole;
#else
    return h >= 0.0 && isfinite(h) ? 1 : 0;
#endif
}

/* Make steps and return 1; 0 and everything as it was when an output or the state is not a finite number. */
static int model_advance(ModelSnapshot *m, long steps, double end)
{
    const ModelSnapshot before = *m;
    long k;
    for (k = 0; k < steps; ++k) {
        MODEL_STEP(m->u, m->state, m->y);
        if (!model_finite(m->y, MODEL_OUTPUTS) || !model_finite(m->state, MODEL_STATE_SIZE)) {
            *m = before;
            return 0;
        }
    }
    m->time = end;
    return 1;
}

#define MODEL_TIME_TEXT "Time of a step must be a finite number that does not go back."
#define MODEL_START_TEXT "Start time must be a finite number."
#define MODEL_INPUT_TEXT "An input is not a finite number."
#define MODEL_OUTPUT_TEXT "An output is not a finite number: the inputs are far outside the range of the model."

/* The variable with a value reference: a place in the snapshot, or null. */
static MODEL_REAL *model_input(ModelSnapshot *m, unsigned int reference)
{
    return reference >= MODEL_FIRST_INPUT && reference < MODEL_FIRST_OUTPUT ? &m->u[reference - MODEL_FIRST_INPUT] : 0;
}

static int model_get(ModelSnapshot *m, unsigned int reference, double *value)
{
    const MODEL_REAL *input = model_input(m, reference);
    if (reference == 0)
        *value = m->time;
    else if (input)
        *value = (double)*input;
    else if (reference < MODEL_END)
        *value = (double)m->y[reference - MODEL_FIRST_OUTPUT];
    else
        return 0;
    return 1;
}

/* Whether bytes from outside are a snapshot of this very model. */
static int model_is_snapshot(const void *bytes, size_t size)
{
    ModelSnapshot copy;
    if (size != sizeof copy)
        return 0;
    memcpy(&copy, bytes, sizeof copy);
    return memcmp(copy.token, MODEL_TOKEN, sizeof copy.token) == 0 && copy.phase >= PHASE_MADE &&
           copy.phase <= PHASE_TERMINATED && isfinite(copy.time) && model_finite(copy.u, MODEL_INPUTS) &&
           model_finite(copy.state, MODEL_STATE_SIZE) && model_finite(copy.y, MODEL_OUTPUTS);
}

#endif
