/* The FMI 3.0 interface as far as a co-simulation FMU needs it. With HMOR_STANDARD_HEADERS the standard's own headers are
 * used instead; both compile the same sources. */
#ifndef FMI3_TYPES_H
#define FMI3_TYPES_H

#ifdef HMOR_STANDARD_HEADERS
#include "fmi3Functions.h"
#define FMI3_API FMI3_Export
#else

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined _WIN32 || defined __CYGWIN__
#define FMI3_API __declspec(dllexport)
#elif defined __GNUC__
#define FMI3_API __attribute__((visibility("default")))
#else
#define FMI3_API
#endif

/* A host that links several source FMUs into one program defines FMI3_FUNCTION_PREFIX, for example as front_ */
#ifdef FMI3_FUNCTION_PREFIX
#define FMI3_JOIN2(a, b) a##b
#define FMI3_JOIN(a, b) FMI3_JOIN2(a, b)
#define fmi3GetVersion FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetVersion)
#define fmi3SetDebugLogging FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetDebugLogging)
#define fmi3InstantiateModelExchange FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3InstantiateModelExchange)
#define fmi3InstantiateCoSimulation FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3InstantiateCoSimulation)
#define fmi3InstantiateScheduledExecution FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3InstantiateScheduledExecution)
#define fmi3FreeInstance FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3FreeInstance)
#define fmi3EnterInitializationMode FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3EnterInitializationMode)
#define fmi3ExitInitializationMode FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3ExitInitializationMode)
#define fmi3EnterEventMode FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3EnterEventMode)
#define fmi3Terminate FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3Terminate)
#define fmi3Reset FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3Reset)
#define fmi3GetFloat32 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetFloat32)
#define fmi3GetFloat64 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetFloat64)
#define fmi3GetInt8 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetInt8)
#define fmi3GetUInt8 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetUInt8)
#define fmi3GetInt16 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetInt16)
#define fmi3GetUInt16 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetUInt16)
#define fmi3GetInt32 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetInt32)
#define fmi3GetUInt32 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetUInt32)
#define fmi3GetInt64 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetInt64)
#define fmi3GetUInt64 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetUInt64)
#define fmi3GetBoolean FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetBoolean)
#define fmi3GetString FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetString)
#define fmi3GetBinary FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetBinary)
#define fmi3GetClock FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetClock)
#define fmi3SetFloat32 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetFloat32)
#define fmi3SetFloat64 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetFloat64)
#define fmi3SetInt8 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetInt8)
#define fmi3SetUInt8 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetUInt8)
#define fmi3SetInt16 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetInt16)
#define fmi3SetUInt16 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetUInt16)
#define fmi3SetInt32 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetInt32)
#define fmi3SetUInt32 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetUInt32)
#define fmi3SetInt64 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetInt64)
#define fmi3SetUInt64 FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetUInt64)
#define fmi3SetBoolean FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetBoolean)
#define fmi3SetString FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetString)
#define fmi3SetBinary FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetBinary)
#define fmi3SetClock FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetClock)
#define fmi3GetNumberOfVariableDependencies FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetNumberOfVariableDependencies)
#define fmi3GetVariableDependencies FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetVariableDependencies)
#define fmi3GetFMUState FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetFMUState)
#define fmi3SetFMUState FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetFMUState)
#define fmi3FreeFMUState FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3FreeFMUState)
#define fmi3SerializedFMUStateSize FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SerializedFMUStateSize)
#define fmi3SerializeFMUState FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SerializeFMUState)
#define fmi3DeserializeFMUState FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3DeserializeFMUState)
#define fmi3GetDirectionalDerivative FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetDirectionalDerivative)
#define fmi3GetAdjointDerivative FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetAdjointDerivative)
#define fmi3EnterConfigurationMode FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3EnterConfigurationMode)
#define fmi3ExitConfigurationMode FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3ExitConfigurationMode)
#define fmi3GetIntervalDecimal FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetIntervalDecimal)
#define fmi3GetIntervalFraction FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetIntervalFraction)
#define fmi3GetShiftDecimal FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetShiftDecimal)
#define fmi3GetShiftFraction FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetShiftFraction)
#define fmi3SetIntervalDecimal FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetIntervalDecimal)
#define fmi3SetIntervalFraction FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetIntervalFraction)
#define fmi3SetShiftDecimal FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetShiftDecimal)
#define fmi3SetShiftFraction FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetShiftFraction)
#define fmi3EvaluateDiscreteStates FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3EvaluateDiscreteStates)
#define fmi3UpdateDiscreteStates FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3UpdateDiscreteStates)
#define fmi3EnterContinuousTimeMode FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3EnterContinuousTimeMode)
#define fmi3CompletedIntegratorStep FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3CompletedIntegratorStep)
#define fmi3SetTime FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetTime)
#define fmi3SetContinuousStates FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3SetContinuousStates)
#define fmi3GetContinuousStateDerivatives FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetContinuousStateDerivatives)
#define fmi3GetEventIndicators FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetEventIndicators)
#define fmi3GetContinuousStates FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetContinuousStates)
#define fmi3GetNominalsOfContinuousStates FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetNominalsOfContinuousStates)
#define fmi3GetNumberOfEventIndicators FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetNumberOfEventIndicators)
#define fmi3GetNumberOfContinuousStates FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetNumberOfContinuousStates)
#define fmi3EnterStepMode FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3EnterStepMode)
#define fmi3GetOutputDerivatives FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3GetOutputDerivatives)
#define fmi3DoStep FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3DoStep)
#define fmi3ActivateModelPartition FMI3_JOIN(FMI3_FUNCTION_PREFIX, fmi3ActivateModelPartition)
#endif

#define fmi3Version "3.0"
#define fmi3True true
#define fmi3False false

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef char fmi3Char;
typedef const fmi3Char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum {
    fmi3Independent,
    fmi3Constant,
    fmi3Fixed,
    fmi3Tunable,
    fmi3Discrete,
    fmi3Dependent
} fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;

typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

#endif
#endif
