/* The rest of FMI 3.0: what a co-simulation FMU of real numbers must export and never needs. */
#include "fmi3_types.h"

/* Asking for no variables of a type is fine, asking for one is an error. */
#define NO_VARIABLES(name, type)                                                                                        \
    FMI3_API fmi3Status name(fmi3Instance c, const fmi3ValueReference vr[], size_t n, type values[], size_t n_values)    \
    {                                                                                                                    \
        (void)vr;                                                                                                        \
        (void)values;                                                                                                    \
        return c && n == 0 && n_values == 0 ? fmi3OK : fmi3Error;                                                        \
    }
NO_VARIABLES(fmi3GetFloat32, fmi3Float32)
NO_VARIABLES(fmi3GetInt8, fmi3Int8)
NO_VARIABLES(fmi3GetUInt8, fmi3UInt8)
NO_VARIABLES(fmi3GetInt16, fmi3Int16)
NO_VARIABLES(fmi3GetUInt16, fmi3UInt16)
NO_VARIABLES(fmi3GetInt32, fmi3Int32)
NO_VARIABLES(fmi3GetUInt32, fmi3UInt32)
NO_VARIABLES(fmi3GetInt64, fmi3Int64)
NO_VARIABLES(fmi3GetUInt64, fmi3UInt64)
NO_VARIABLES(fmi3GetBoolean, fmi3Boolean)
NO_VARIABLES(fmi3GetString, fmi3String)
NO_VARIABLES(fmi3SetFloat32, const fmi3Float32)
NO_VARIABLES(fmi3SetInt8, const fmi3Int8)
NO_VARIABLES(fmi3SetUInt8, const fmi3UInt8)
NO_VARIABLES(fmi3SetInt16, const fmi3Int16)
NO_VARIABLES(fmi3SetUInt16, const fmi3UInt16)
NO_VARIABLES(fmi3SetInt32, const fmi3Int32)
NO_VARIABLES(fmi3SetUInt32, const fmi3UInt32)
NO_VARIABLES(fmi3SetInt64, const fmi3Int64)
NO_VARIABLES(fmi3SetUInt64, const fmi3UInt64)
NO_VARIABLES(fmi3SetBoolean, const fmi3Boolean)
NO_VARIABLES(fmi3SetString, const fmi3String)

/* Functions of modes, clocks and derivatives that modelDescription.xml does not promise. */
#define NOT_OFFERED(name)                                                                                               \
    FMI3_API fmi3Status name(fmi3Instance c)                                                                             \
    {                                                                                                                    \
        (void)c;                                                                                                         \
        return fmi3Error;                                                                                                \
    }
NOT_OFFERED(fmi3EnterEventMode)
NOT_OFFERED(fmi3EnterConfigurationMode)
NOT_OFFERED(fmi3ExitConfigurationMode)
NOT_OFFERED(fmi3EvaluateDiscreteStates)
NOT_OFFERED(fmi3EnterContinuousTimeMode)
NOT_OFFERED(fmi3EnterStepMode)

FMI3_API fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                                   fmi3Boolean visible, fmi3Boolean logging,
                                                   fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)environment;
    (void)log;
    return 0;
}

FMI3_API fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                                        fmi3Boolean visible, fmi3Boolean logging,
                                                        fmi3InstanceEnvironment environment,
                                                        fmi3LogMessageCallback log, fmi3ClockUpdateCallback update,
                                                        fmi3LockPreemptionCallback lock,
                                                        fmi3UnlockPreemptionCallback unlock)
{
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)environment;
    (void)log;
    (void)update;
    (void)lock;
    (void)unlock;
    return 0;
}

FMI3_API fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t sizes[],
                                  fmi3Binary values[], size_t n_values)
{
    (void)c;
    (void)vr;
    (void)n;
    (void)sizes;
    (void)values;
    (void)n_values;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
                                  const fmi3Binary values[], size_t n_values)
{
    (void)c;
    (void)vr;
    (void)n;
    (void)sizes;
    (void)values;
    (void)n_values;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock values[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)values;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock values[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)values;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknowns[],
                                                 size_t n_unknowns, const fmi3ValueReference knowns[],
                                                 size_t n_knowns, const fmi3Float64 seed[], size_t n_seed,
                                                 fmi3Float64 sensitivity[], size_t n_sensitivity)
{
    (void)c;
    (void)unknowns;
    (void)n_unknowns;
    (void)knowns;
    (void)n_knowns;
    (void)seed;
    (void)n_seed;
    (void)sensitivity;
    (void)n_sensitivity;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknowns[], size_t n_unknowns,
                                             const fmi3ValueReference knowns[], size_t n_knowns,
                                             const fmi3Float64 seed[], size_t n_seed, fmi3Float64 sensitivity[],
                                             size_t n_sensitivity)
{
    (void)c;
    (void)unknowns;
    (void)n_unknowns;
    (void)knowns;
    (void)n_knowns;
    (void)seed;
    (void)n_seed;
    (void)sensitivity;
    (void)n_sensitivity;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                           fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)intervals;
    (void)qualifiers;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                            fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                            fmi3IntervalQualifier qualifiers[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)counters;
    (void)resolutions;
    (void)qualifiers;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 shifts[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)shifts;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                         fmi3UInt64 counters[], fmi3UInt64 resolutions[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)counters;
    (void)resolutions;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3SetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                           const fmi3Float64 intervals[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)intervals;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3SetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                            const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)counters;
    (void)resolutions;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3SetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                        const fmi3Float64 shifts[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)shifts;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3SetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                         const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)c;
    (void)vr;
    (void)n;
    (void)counters;
    (void)resolutions;
    return n == 0 ? fmi3OK : fmi3Error;
}

FMI3_API fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *update, fmi3Boolean *terminate,
                                             fmi3Boolean *nominals, fmi3Boolean *states, fmi3Boolean *defined,
                                             fmi3Float64 *next)
{
    (void)c;
    (void)update;
    (void)terminate;
    (void)nominals;
    (void)states;
    (void)defined;
    (void)next;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no_rollback, fmi3Boolean *event,
                                                fmi3Boolean *terminate)
{
    (void)c;
    (void)no_rollback;
    (void)event;
    (void)terminate;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 time)
{
    (void)c;
    (void)time;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64 states[], size_t n)
{
    (void)c;
    (void)states;
    (void)n;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64 derivatives[], size_t n)
{
    (void)c;
    (void)derivatives;
    (void)n;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64 indicators[], size_t n)
{
    (void)c;
    (void)indicators;
    (void)n;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64 states[], size_t n)
{
    (void)c;
    (void)states;
    (void)n;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, fmi3Float64 nominals[], size_t n)
{
    (void)c;
    (void)nominals;
    (void)n;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *n)
{
    (void)c;
    (void)n;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *n)
{
    (void)c;
    (void)n;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                             const fmi3Int32 orders[], fmi3Float64 values[], size_t n_values)
{
    (void)c;
    (void)vr;
    (void)n;
    (void)orders;
    (void)values;
    (void)n_values;
    return fmi3Error;
}

FMI3_API fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time)
{
    (void)c;
    (void)clock;
    (void)time;
    return fmi3Error;
}
