#ifndef HMOR_ACTUATOR_H
#define HMOR_ACTUATOR_H

/* A rig as a shared library: five C functions. See docs/plugin.md.
 *
 * start is called before the first tick and stop after the last one, both outside the loop; read, state and write are called
 * once a tick each, from the loop's thread. If `real_time` is set, they promise not to allocate, lock or wait.
 *
 * The watchdog. The loop can hang, be killed or lose its cable, and this library dies with its process: what happens then
 * must be done by the rig's controller. When `write` has not reached it
 *
 *   for hold_after periods   it holds its position                            HMOR_HOLDING
 *   for lease seconds        it takes the specimen to rest in ramp seconds    HMOR_RAMPING
 *   then                     it switches its power off                        HMOR_OFF
 *
 * A command obeys while HMOR_LIVE and takes HMOR_HOLDING back to HMOR_LIVE; it is ignored from HMOR_RAMPING on, until stop
 * and a new start. Say watchdog = 1 in info only if the controller does this. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HMOR_ACTUATOR_ABI 2

/* States of a rig; read must return a negative code from HMOR_RAMPING on. */
#define HMOR_IDLE 0    /* no test; holds where it stands */
#define HMOR_LIVE 1    /* follows the commands */
#define HMOR_HOLDING 2 /* commands are missing */
#define HMOR_RAMPING 3 /* on its way to rest */
#define HMOR_OFF 4     /* at rest without power */

typedef struct hmor_actuator_info {
  uint32_t abi;       /* in: HMOR_ACTUATOR_ABI of the runtime; refuse what you do not know */
  int32_t n_command;  /* in: numbers a write gets */
  int32_t n_measured; /* in: numbers a read must set */
  double period;      /* in: time between two ticks, s */
  double lease;       /* in: see above, s */
  double ramp;        /* in: see above, s */
  int32_t hold_after; /* in: see above, periods */
  int32_t watchdog;   /* out: 1 when the rig's controller has the watchdog above */
  int32_t real_time;  /* out: 1 when read, state and write are safe in a paced loop */
  char message[256];  /* out: one sentence when start fails */
} hmor_actuator_info;

/* Returns 0 and sets *handle, or a negative code with info->message set. `config` is the text from the study. Must not move
 * the specimen: the first read tells where it stands, and the test begins there. */
int hmor_actuator_start(const char *config, hmor_actuator_info *info, void **handle);

/* Sets n_measured numbers (the last ones known) and their age in ticks. Returns 0, or a negative code: an error. */
int hmor_actuator_read(void *handle, double t, double *measured, double *age);

/* Takes n_command numbers. Returns 0, or a negative code: they could not be sent, or are not finite. */
int hmor_actuator_write(void *handle, double t, const double *command);

/* Returns the state of the rig as last told by it. */
int hmor_actuator_state(void *handle);

void hmor_actuator_stop(void *handle);

#ifdef __cplusplus
}
#endif

#endif
