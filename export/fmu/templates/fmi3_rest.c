/* The rest of FMI 3.0: what a co-simulation FMU of real numbers must export and never needs. */
#include "fmi3_types.h"

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

/* Asking for no variables of a type is fine, asking for one is an error. */
#define NO_VARIABLES(name, type)                                                                                        \
    FMI3_API fmi3Status name(fmi3Instance c, const fmi3ValueReference vr[], size_t n, type values[], size_t n_values)    \
    {                                                                                                                    \
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

/* The same for variables that come in other shapes. */
#define NO_CLOCKS_NO_BINARIES(name, parameters)                                                                         \
    FMI3_API fmi3Status name parameters                                                                                  \
    {                                                                                                                    \
        return c && n == 0 ? fmi3OK : fmi3Error;                                                                         \
    }
NO_CLOCKS_NO_BINARIES(fmi3GetBinary, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t sizes[],
                                      fmi3Binary values[], size_t n_values))
NO_CLOCKS_NO_BINARIES(fmi3SetBinary, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
                                      const fmi3Binary values[], size_t n_values))
NO_CLOCKS_NO_BINARIES(fmi3GetClock, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock values[]))
NO_CLOCKS_NO_BINARIES(fmi3SetClock, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                     const fmi3Clock values[]))
NO_CLOCKS_NO_BINARIES(fmi3GetIntervalDecimal, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                               fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[]))
NO_CLOCKS_NO_BINARIES(fmi3GetIntervalFraction, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                                fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                                fmi3IntervalQualifier qualifiers[]))
NO_CLOCKS_NO_BINARIES(fmi3GetShiftDecimal, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                            fmi3Float64 shifts[]))
NO_CLOCKS_NO_BINARIES(fmi3GetShiftFraction, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                             fmi3UInt64 counters[], fmi3UInt64 resolutions[]))
NO_CLOCKS_NO_BINARIES(fmi3SetIntervalDecimal, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                               const fmi3Float64 intervals[]))
NO_CLOCKS_NO_BINARIES(fmi3SetIntervalFraction, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                                const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]))
NO_CLOCKS_NO_BINARIES(fmi3SetShiftDecimal, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                            const fmi3Float64 shifts[]))
NO_CLOCKS_NO_BINARIES(fmi3SetShiftFraction, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                             const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]))

/* Interface types, modes and derivatives that modelDescription.xml does not promise. */
#define NO_INSTANCE(name, parameters)                                                                                   \
    FMI3_API fmi3Instance name parameters                                                                                \
    {                                                                                                                    \
        return 0;                                                                                                        \
    }
NO_INSTANCE(fmi3InstantiateModelExchange, (fmi3String name, fmi3String token, fmi3String resources,
                                           fmi3Boolean visible, fmi3Boolean logging,
                                           fmi3InstanceEnvironment environment, fmi3LogMessageCallback log))
NO_INSTANCE(fmi3InstantiateScheduledExecution, (fmi3String name, fmi3String token, fmi3String resources,
                                                fmi3Boolean visible, fmi3Boolean logging,
                                                fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                fmi3ClockUpdateCallback update, fmi3LockPreemptionCallback lock,
                                                fmi3UnlockPreemptionCallback unlock))

#define NOT_OFFERED(name, parameters)                                                                                   \
    FMI3_API fmi3Status name parameters                                                                                  \
    {                                                                                                                    \
        return fmi3Error;                                                                                                \
    }
NOT_OFFERED(fmi3EnterEventMode, (fmi3Instance c))
NOT_OFFERED(fmi3EnterConfigurationMode, (fmi3Instance c))
NOT_OFFERED(fmi3ExitConfigurationMode, (fmi3Instance c))
NOT_OFFERED(fmi3EvaluateDiscreteStates, (fmi3Instance c))
NOT_OFFERED(fmi3EnterContinuousTimeMode, (fmi3Instance c))
NOT_OFFERED(fmi3EnterStepMode, (fmi3Instance c))
NOT_OFFERED(fmi3GetDirectionalDerivative, (fmi3Instance c, const fmi3ValueReference unknowns[], size_t n_unknowns,
                                           const fmi3ValueReference knowns[], size_t n_knowns,
                                           const fmi3Float64 seed[], size_t n_seed, fmi3Float64 sensitivity[],
                                           size_t n_sensitivity))
NOT_OFFERED(fmi3GetAdjointDerivative, (fmi3Instance c, const fmi3ValueReference unknowns[], size_t n_unknowns,
                                       const fmi3ValueReference knowns[], size_t n_knowns, const fmi3Float64 seed[],
                                       size_t n_seed, fmi3Float64 sensitivity[], size_t n_sensitivity))
NOT_OFFERED(fmi3UpdateDiscreteStates, (fmi3Instance c, fmi3Boolean *update, fmi3Boolean *terminate,
                                       fmi3Boolean *nominals, fmi3Boolean *states, fmi3Boolean *defined,
                                       fmi3Float64 *next))
NOT_OFFERED(fmi3CompletedIntegratorStep, (fmi3Instance c, fmi3Boolean no_rollback, fmi3Boolean *event,
                                          fmi3Boolean *terminate))
NOT_OFFERED(fmi3SetTime, (fmi3Instance c, fmi3Float64 time))
NOT_OFFERED(fmi3SetContinuousStates, (fmi3Instance c, const fmi3Float64 states[], size_t n))
NOT_OFFERED(fmi3GetContinuousStateDerivatives, (fmi3Instance c, fmi3Float64 derivatives[], size_t n))
NOT_OFFERED(fmi3GetEventIndicators, (fmi3Instance c, fmi3Float64 indicators[], size_t n))
NOT_OFFERED(fmi3GetContinuousStates, (fmi3Instance c, fmi3Float64 states[], size_t n))
NOT_OFFERED(fmi3GetNominalsOfContinuousStates, (fmi3Instance c, fmi3Float64 nominals[], size_t n))
NOT_OFFERED(fmi3GetNumberOfEventIndicators, (fmi3Instance c, size_t *n))
NOT_OFFERED(fmi3GetNumberOfContinuousStates, (fmi3Instance c, size_t *n))
NOT_OFFERED(fmi3GetOutputDerivatives, (fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                       const fmi3Int32 orders[], fmi3Float64 values[], size_t n_values))
NOT_OFFERED(fmi3ActivateModelPartition, (fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time))
