/* FMI 3.0 for co-simulation around a generated model: life cycle, values, state and steps. */
#include "fmi3_types.h"
#include "model_instance.h"

#include <stdlib.h>

typedef struct {
    ModelSnapshot now;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
    int logging;
    int warned;
} Instance;

static void say(const Instance *instance, fmi3Status status, const char *category, const char *text)
{
    if (instance->log && (instance->logging || status >= fmi3Error))
        instance->log(instance->environment, status, category, text);
}

static fmi3Status refuse(const Instance *instance, const char *text)
{
    say(instance, fmi3Error, "logStatusError", text);
    return fmi3Error;
}

static fmi3Status discard(const Instance *instance)
{
    say(instance, fmi3Discard, "logStatusDiscard", MODEL_OUTPUT_TEXT);
    return fmi3Discard;
}

/* Go from one phase to the next, or refuse. */
static fmi3Status move(fmi3Instance c, int from, int to)
{
    Instance *instance = (Instance *)c;
    if (!instance)
        return fmi3Error;
    if (instance->now.phase != from)
        return refuse(instance, "A function was called in a mode in which it is not allowed.");
    instance->now.phase = to;
    return fmi3OK;
}

FMI3_API const char *fmi3GetVersion(void)
{
    return fmi3Version;
}

FMI3_API fmi3Status fmi3SetDebugLogging(fmi3Instance c, fmi3Boolean on, size_t n, const fmi3String categories[])
{
    Instance *instance = (Instance *)c;
    (void)n;
    (void)categories;
    if (!instance)
        return fmi3Error;
    instance->logging = on;
    return fmi3OK;
}

FMI3_API fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3Boolean event_mode, fmi3Boolean early_return, const fmi3ValueReference intermediate[], size_t n_intermediate,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    Instance *instance;
    (void)resources;
    (void)visible;
    (void)early_return;
    (void)intermediate;
    (void)update;
    if (!name || !*name || !token || strcmp(token, MODEL_TOKEN) != 0 || event_mode || n_intermediate) {
        if (log)
            log(environment, fmi3Error, "logStatusError",
                "Instantiation needs a name, the token of modelDescription.xml, no event mode and no intermediate "
                "variables.");
        return 0;
    }
    instance = (Instance *)calloc(1, sizeof *instance);
    if (!instance)
        return 0;
    instance->environment = environment;
    instance->log = log;
    instance->logging = logging;
    model_start(&instance->now);
    return instance;
}

FMI3_API void fmi3FreeInstance(fmi3Instance c)
{
    free(c);
}

FMI3_API fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean has_tolerance, fmi3Float64 tolerance,
                                                fmi3Float64 start, fmi3Boolean has_stop, fmi3Float64 stop)
{
    fmi3Status status;
    (void)has_tolerance;
    (void)tolerance;
    (void)has_stop;
    (void)stop;
    if (c && !isfinite(start))
        return refuse((Instance *)c, MODEL_START_TEXT);
    status = move(c, PHASE_MADE, PHASE_INITIALISING);
    if (status == fmi3OK)
        ((Instance *)c)->now.time = start;
    return status;
}

FMI3_API fmi3Status fmi3ExitInitializationMode(fmi3Instance c)
{
    Instance *instance = (Instance *)c;
    const fmi3Status status = move(c, PHASE_INITIALISING, PHASE_STEPPING);
    if (status != fmi3OK)
        return status;
    model_evaluate(&instance->now);
    if (model_finite(instance->now.y, MODEL_OUTPUTS))
        return fmi3OK;
    instance->now.phase = PHASE_INITIALISING;
    return refuse(instance, MODEL_OUTPUT_TEXT);
}

FMI3_API fmi3Status fmi3Terminate(fmi3Instance c)
{
    return move(c, PHASE_STEPPING, PHASE_TERMINATED);
}

FMI3_API fmi3Status fmi3Reset(fmi3Instance c)
{
    Instance *instance = (Instance *)c;
    if (!instance)
        return fmi3Error;
    model_start(&instance->now);
    instance->warned = 0;
    return fmi3OK;
}

FMI3_API fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 values[],
                                   size_t n_values)
{
    Instance *instance = (Instance *)c;
    size_t i;
    if (!instance || n != n_values || (n && (!vr || !values)))
        return fmi3Error;
    if (instance->now.phase == PHASE_INITIALISING)
        model_evaluate(&instance->now);
    for (i = 0; i < n; ++i)
        if (!model_get(&instance->now, vr[i], &values[i]))
            return refuse(instance, "fmi3GetFloat64: unknown value reference.");
    for (i = 0; i < n; ++i)
        if (!isfinite(values[i]))
            return discard(instance);
    return fmi3OK;
}

FMI3_API fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 values[],
                                   size_t n_values)
{
    Instance *instance = (Instance *)c;
    size_t i;
    if (!instance || n != n_values || (n && (!vr || !values)))
        return fmi3Error;
    for (i = 0; i < n; ++i) {
        if (!model_input(&instance->now, vr[i]))
            return refuse(instance, "fmi3SetFloat64: only inputs can be set.");
        if (!isfinite(values[i]))
            return refuse(instance, "fmi3SetFloat64: an input must be a finite number.");
    }
    for (i = 0; i < n; ++i)
        *model_input(&instance->now, vr[i]) = (MODEL_REAL)values[i];
    return fmi3OK;
}

FMI3_API fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference dependent, size_t *n)
{
    if (!c || !n || dependent < MODEL_FIRST_OUTPUT || dependent >= MODEL_END)
        return fmi3Error;
    *n = MODEL_INPUTS;
    return fmi3OK;
}

FMI3_API fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference dependent, size_t element[],
                                                fmi3ValueReference independents[], size_t elements[],
                                                fmi3DependencyKind kinds[], size_t n)
{
    size_t i;
    if (!c || n != MODEL_INPUTS || dependent < MODEL_FIRST_OUTPUT || dependent >= MODEL_END)
        return fmi3Error;
    for (i = 0; i < n; ++i) {
        element[i] = elements[i] = 0;
        independents[i] = (fmi3ValueReference)(MODEL_FIRST_INPUT + i);
        kinds[i] = fmi3Dependent;
    }
    return fmi3OK;
}

FMI3_API fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state)
{
    Instance *instance = (Instance *)c;
    if (!instance || !state)
        return fmi3Error;
    if (!*state)
        *state = calloc(1, sizeof instance->now);
    if (!*state)
        return refuse(instance, "fmi3GetFMUState: no memory.");
    memcpy(*state, &instance->now, sizeof instance->now);
    return fmi3OK;
}

FMI3_API fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state)
{
    Instance *instance = (Instance *)c;
    if (!instance || !state)
        return fmi3Error;
    memcpy(&instance->now, state, sizeof instance->now);
    return fmi3OK;
}

FMI3_API fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state)
{
    if (!c || !state)
        return fmi3Error;
    free(*state);
    *state = 0;
    return fmi3OK;
}

FMI3_API fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    if (!c || !state || !size)
        return fmi3Error;
    *size = sizeof(ModelSnapshot);
    return fmi3OK;
}

FMI3_API fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (!c || !state || !bytes || size < sizeof(ModelSnapshot))
        return fmi3Error;
    memcpy(bytes, state, sizeof(ModelSnapshot));
    return fmi3OK;
}

FMI3_API fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    Instance *instance = (Instance *)c;
    if (!instance || !bytes || !state)
        return fmi3Error;
    if (!model_is_snapshot(bytes, size))
        return refuse(instance, "fmi3DeserializeFMUState: these bytes are no state of this model.");
    if (!*state)
        *state = calloc(1, sizeof(ModelSnapshot));
    if (!*state)
        return refuse(instance, "fmi3DeserializeFMUState: no memory.");
    memcpy(*state, bytes, sizeof(ModelSnapshot));
    return fmi3OK;
}

FMI3_API fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 point, fmi3Float64 h, fmi3Boolean no_rollback,
                               fmi3Boolean *event, fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *reached)
{
    Instance *instance = (Instance *)c;
    long steps;
    (void)no_rollback;
    if (!instance || !event || !terminate || !early || !reached)
        return fmi3Error;
    *event = *terminate = *early = fmi3False;
    *reached = instance->now.time;
    if (instance->now.phase != PHASE_STEPPING)
        return refuse(instance, "fmi3DoStep: the FMU must be initialised and not terminated.");
    steps = model_steps(h);
    if (steps == 0)
        return refuse(instance, MODEL_STEP_SIZE_TEXT);
    if (!model_time_goes_on(&instance->now, point, h))
        return refuse(instance, MODEL_TIME_TEXT);
    if (!model_finite(instance->now.u, MODEL_INPUTS))
        return refuse(instance, MODEL_INPUT_TEXT);
    if (MODEL_OUTSIDE(instance->now.u) && !instance->warned) {
        instance->warned = 1;
        say(instance, fmi3Warning, "logStatusWarning", "An input left the range the model was fitted on.");
    }
    if (!model_advance(&instance->now, steps, point + h))
        return discard(instance);
    *reached = instance->now.time;
    return fmi3OK;
}
