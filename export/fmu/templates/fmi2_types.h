/* The part of the FMI 2.0 interface a co-simulation FMU needs. With HMOR_STANDARD_HEADERS the standard's own headers are
 * used instead; both compile the same sources. */
#ifndef FMI2_TYPES_H
#define FMI2_TYPES_H

#ifdef HMOR_STANDARD_HEADERS
#include "fmi2Functions.h"
#define FMI2_API FMI2_Export
#else

#include <stddef.h>

#if defined _WIN32 || defined __CYGWIN__
#define FMI2_API __declspec(dllexport)
#elif defined __GNUC__
#define FMI2_API __attribute__((visibility("default")))
#else
#define FMI2_API
#endif

/* A host that links several source FMUs into one program defines FMI2_FUNCTION_PREFIX, for example as front_ */
#ifdef FMI2_FUNCTION_PREFIX
#define FMI2_JOIN2(a, b) a##b
#define FMI2_JOIN(a, b) FMI2_JOIN2(a, b)
#define fmi2GetTypesPlatform FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetTypesPlatform)
#define fmi2GetVersion FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetVersion)
#define fmi2SetDebugLogging FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SetDebugLogging)
#define fmi2Instantiate FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2Instantiate)
#define fmi2FreeInstance FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2FreeInstance)
#define fmi2SetupExperiment FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SetupExperiment)
#define fmi2EnterInitializationMode FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2EnterInitializationMode)
#define fmi2ExitInitializationMode FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2ExitInitializationMode)
#define fmi2Terminate FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2Terminate)
#define fmi2Reset FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2Reset)
#define fmi2GetReal FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetReal)
#define fmi2GetInteger FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetInteger)
#define fmi2GetBoolean FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetBoolean)
#define fmi2GetString FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetString)
#define fmi2SetReal FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SetReal)
#define fmi2SetInteger FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SetInteger)
#define fmi2SetBoolean FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SetBoolean)
#define fmi2SetString FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SetString)
#define fmi2GetFMUstate FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetFMUstate)
#define fmi2SetFMUstate FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SetFMUstate)
#define fmi2FreeFMUstate FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2FreeFMUstate)
#define fmi2SerializedFMUstateSize FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SerializedFMUstateSize)
#define fmi2SerializeFMUstate FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SerializeFMUstate)
#define fmi2DeSerializeFMUstate FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2DeSerializeFMUstate)
#define fmi2GetDirectionalDerivative FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetDirectionalDerivative)
#define fmi2SetRealInputDerivatives FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2SetRealInputDerivatives)
#define fmi2GetRealOutputDerivatives FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetRealOutputDerivatives)
#define fmi2DoStep FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2DoStep)
#define fmi2CancelStep FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2CancelStep)
#define fmi2GetStatus FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetStatus)
#define fmi2GetRealStatus FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetRealStatus)
#define fmi2GetIntegerStatus FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetIntegerStatus)
#define fmi2GetBooleanStatus FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetBooleanStatus)
#define fmi2GetStringStatus FMI2_JOIN(FMI2_FUNCTION_PREFIX, fmi2GetStringStatus)
#endif

#define fmi2TypesPlatform "default"
#define fmi2Version "2.0"
#define fmi2True 1
#define fmi2False 0

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef void (*fmi2CallbackLogger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
typedef void *(*fmi2CallbackAllocateMemory)(size_t, size_t);
typedef void (*fmi2CallbackFreeMemory)(void *);
typedef void (*fmi2StepFinished)(fmi2ComponentEnvironment, fmi2Status);

typedef struct {
    fmi2CallbackLogger logger;
    fmi2CallbackAllocateMemory allocateMemory;
    fmi2CallbackFreeMemory freeMemory;
    fmi2StepFinished stepFinished;
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

#endif
#endif
