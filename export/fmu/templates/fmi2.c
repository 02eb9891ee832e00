/* FMI 2.0 for co-simulation around a generated model. */
#include "fmi2_types.h"
#include "model_instance.h"

#include <stdlib.h>

typedef struct {
    ModelSnapshot now;
    const fmi2CallbackFunctions *callbacks;
    char *name;
    int logging;
    int warned;
} Instance;

static void *take(const fmi2CallbackFunctions *callbacks, size_t size)
{
    return callbacks && callbacks->allocateMemory ? callbacks->allocateMemory(1, size) : calloc(1, size);
}

static void give_back(const fmi2CallbackFunctions *callbacks, void *memory)
{
    if (callbacks && callbacks->freeMemory)
        callbacks->freeMemory(memory);
    else
        free(memory);
}

static void say(const Instance *instance, fmi2Status status, const char *category, const char *text)
{
    if (instance->callbacks && instance->callbacks->logger && (instance->logging || status >= fmi2Error))
        instance->callbacks->logger(instance->callbacks->componentEnvironment, instance->name, status, category, "%s",
                                    text);
}

static fmi2Status refuse(const Instance *instance, const char *text)
{
    say(instance, fmi2Error, "logStatusError", text);
    return fmi2Error;
}

static fmi2Status discard(const Instance *instance)
{
    say(instance, fmi2Discard, "logStatusDiscard", MODEL_OUTPUT_TEXT);
    return fmi2Discard;
}

FMI2_API const char *fmi2GetTypesPlatform(void)
{
    return fmi2TypesPlatform;
}

FMI2_API const char *fmi2GetVersion(void)
{
    return fmi2Version;
}

FMI2_API fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    Instance *instance = (Instance *)c;
    (void)n;
    (void)categories;
    if (!instance)
        return fmi2Error;
    instance->logging = on != 0;
    return fmi2OK;
}

FMI2_API fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                       const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging)
{
    Instance *instance;
    size_t length;
    (void)resources;
    (void)visible;
    if (!name || !*name || !guid || type != fmi2CoSimulation || strcmp(guid, MODEL_TOKEN) != 0) {
        if (callbacks && callbacks->logger)
            callbacks->logger(callbacks->componentEnvironment, name ? name : "", fmi2Error, "logStatusError",
                              "Instantiation needs a name, co-simulation and the GUID of modelDescription.xml.");
        return 0;
    }
    length = strlen(name) + 1;
    instance = (Instance *)take(callbacks, sizeof *instance);
    if (!instance)
        return 0;
    instance->name = (char *)take(callbacks, length);
    if (!instance->name) {
        give_back(callbacks, instance);
        return 0;
    }
    memcpy(instance->name, name, length);
    instance->callbacks = callbacks;
    instance->logging = logging != 0;
    instance->warned = 0;
    model_start(&instance->now);
    return instance;
}

FMI2_API void fmi2FreeInstance(fmi2Component c)
{
    Instance *instance = (Instance *)c;
    if (!instance)
        return;
    give_back(instance->callbacks, instance->name);
    give_back(instance->callbacks, instance);
}

FMI2_API fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                                        fmi2Boolean has_stop, fmi2Real stop)
{
    Instance *instance = (Instance *)c;
    (void)has_tolerance;
    (void)tolerance;
    (void)has_stop;
    (void)stop;
    if (!instance || instance->now.phase != PHASE_MADE)
        return fmi2Error;
    if (!isfinite(start))
        return refuse(instance, MODEL_START_TEXT);
    instance->now.time = start;
    return fmi2OK;
}

FMI2_API fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    Instance *instance = (Instance *)c;
    if (!instance || instance->now.phase != PHASE_MADE)
        return fmi2Error;
    instance->now.phase = PHASE_INITIALISING;
    return fmi2OK;
}

FMI2_API fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Instance *instance = (Instance *)c;
    if (!instance || instance->now.phase != PHASE_INITIALISING)
        return fmi2Error;
    model_evaluate(&instance->now);
    if (!model_finite(instance->now.y, MODEL_OUTPUTS))
        return refuse(instance, MODEL_OUTPUT_TEXT);
    instance->now.phase = PHASE_STEPPING;
    return fmi2OK;
}

FMI2_API fmi2Status fmi2Terminate(fmi2Component c)
{
    Instance *instance = (Instance *)c;
    if (!instance || instance->now.phase != PHASE_STEPPING)
        return fmi2Error;
    instance->now.phase = PHASE_TERMINATED;
    return fmi2OK;
}

FMI2_API fmi2Status fmi2Reset(fmi2Component c)
{
    Instance *instance = (Instance *)c;
    if (!instance)
        return fmi2Error;
    model_start(&instance->now);
    instance->warned = 0;
    return fmi2OK;
}

FMI2_API fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    Instance *instance = (Instance *)c;
    size_t i;
    if (!instance || (n && (!vr || !value)))
        return fmi2Error;
    if (instance->now.phase == PHASE_INITIALISING)
        model_evaluate(&instance->now);
    for (i = 0; i < n; ++i)
        if (!model_get(&instance->now, vr[i], &value[i]))
            return refuse(instance, "fmi2GetReal: unknown value reference.");
    for (i = 0; i < n; ++i)
        if (!isfinite(value[i]))
            return discard(instance);
    return fmi2OK;
}

FMI2_API fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    Instance *instance = (Instance *)c;
    size_t i;
    if (!instance || (n && (!vr || !value)))
        return fmi2Error;
    for (i = 0; i < n; ++i) {
        if (!model_input(&instance->now, vr[i]))
            return refuse(instance, "fmi2SetReal: only inputs can be set.");
        if (!isfinite(value[i]))
            return refuse(instance, "fmi2SetReal: an input must be a finite number.");
    }
    for (i = 0; i < n; ++i)
        *model_input(&instance->now, vr[i]) = (MODEL_REAL)value[i];
    return fmi2OK;
}

/* The model has no variables of other types. */
#define NO_VARIABLES(name, type)                                                                                        \
    FMI2_API fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[])                     \
    {                                                                                                                    \
        (void)vr;                                                                                                        \
        (void)value;                                                                                                     \
        return c && n == 0 ? fmi2OK : fmi2Error;                                                                         \
    }
NO_VARIABLES(fmi2GetInteger, fmi2Integer)
NO_VARIABLES(fmi2GetBoolean, fmi2Boolean)
NO_VARIABLES(fmi2GetString, fmi2String)
NO_VARIABLES(fmi2SetInteger, const fmi2Integer)
NO_VARIABLES(fmi2SetBoolean, const fmi2Boolean)
NO_VARIABLES(fmi2SetString, const fmi2String)

FMI2_API fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    Instance *instance = (Instance *)c;
    if (!instance || !state)
        return fmi2Error;
    if (!*state)
        *state = take(instance->callbacks, sizeof instance->now);
    if (!*state)
        return refuse(instance, "fmi2GetFMUstate: no memory.");
    memcpy(*state, &instance->now, sizeof instance->now);
    return fmi2OK;
}

FMI2_API fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    Instance *instance = (Instance *)c;
    if (!instance || !state)
        return fmi2Error;
    memcpy(&instance->now, state, sizeof instance->now);
    return fmi2OK;
}

FMI2_API fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    Instance *instance = (Instance *)c;
    if (!instance || !state)
        return fmi2Error;
    if (*state)
        give_back(instance->callbacks, *state);
    *state = 0;
    return fmi2OK;
}

FMI2_API fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    if (!c || !state || !size)
        return fmi2Error;
    *size = sizeof(ModelSnapshot);
    return fmi2OK;
}

FMI2_API fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (!c || !state || !bytes || size < sizeof(ModelSnapshot))
        return fmi2Error;
    memcpy(bytes, state, sizeof(ModelSnapshot));
    return fmi2OK;
}

FMI2_API fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    Instance *instance = (Instance *)c;
    if (!instance || !bytes || !state)
        return fmi2Error;
    if (!model_is_snapshot(bytes, size))
        return refuse(instance, "fmi2DeSerializeFMUstate: these bytes are no state of this model.");
    if (!*state)
        *state = take(instance->callbacks, sizeof(ModelSnapshot));
    if (!*state)
        return refuse(instance, "fmi2DeSerializeFMUstate: no memory.");
    memcpy(*state, bytes, sizeof(ModelSnapshot));
    return fmi2OK;
}

FMI2_API fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t n_unknown,
                                                 const fmi2ValueReference known[], size_t n_known,
                                                 const fmi2Real seed[], fmi2Real sensitivity[])
{
    (void)c;
    (void)unknown;
    (void)n_unknown;
    (void)known;
    (void)n_known;
    (void)seed;
    (void)sensitivity;
    return fmi2Error;
}

FMI2_API fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return c && n == 0 ? fmi2OK : fmi2Error;
}

FMI2_API fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                 const fmi2Integer order[], fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return c && n == 0 ? fmi2OK : fmi2Error;
}

FMI2_API fmi2Status fmi2DoStep(fmi2Component c, fmi2Real point, fmi2Real h, fmi2Boolean no_rollback)
{
    Instance *instance = (Instance *)c;
    long steps;
    (void)no_rollback;
    if (!instance)
        return fmi2Error;
    if (instance->now.phase != PHASE_STEPPING)
        return refuse(instance, "fmi2DoStep: the FMU must be initialised and not terminated.");
    steps = model_steps(h);
    if (steps == 0)
        return refuse(instance, MODEL_STEP_SIZE_TEXT);
    if (!model_time_goes_on(&instance->now, point, h))
        return refuse(instance, MODEL_TIME_TEXT);
    if (!model_finite(instance->now.u, MODEL_INPUTS))
        return refuse(instance, MODEL_INPUT_TEXT);
    if (MODEL_OUTSIDE(instance->now.u) && !instance->warned) {
        instance->warned = 1;
        say(instance, fmi2Warning, "logStatusWarning", "An input left the range the model was fitted on.");
    }
    return model_advance(&instance->now, steps, point + h) ? fmi2OK : discard(instance);
}

FMI2_API fmi2Status fmi2CancelStep(fmi2Component c)
{
    (void)c;
    return fmi2Error; /* a step is over when fmi2DoStep returns */
}

#define NO_STATUS(name, type)                                                                                           \
    FMI2_API fmi2Status name(fmi2Component c, const fmi2StatusKind kind, type *value)                                    \
    {                                                                                                                    \
        (void)c;                                                                                                         \
        (void)kind;                                                                                                      \
        (void)value;                                                                                                     \
        return fmi2Discard;                                                                                              \
    }
NO_STATUS(fmi2GetStatus, fmi2Status)
NO_STATUS(fmi2GetIntegerStatus, fmi2Integer)
NO_STATUS(fmi2GetStringStatus, fmi2String)

FMI2_API fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    const Instance *instance = (const Instance *)c;
    if (!instance || !value || kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = instance->now.time;
    return fmi2OK;
}

FMI2_API fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    if (!c || !value || kind != fmi2Terminated)
        return fmi2Discard;
    *value = fmi2False;
    return fmi2OK;
}
