#ifndef HMOR_ACTUATOR_H
#define HMOR_ACTUATOR_H

/* A rig as a shared library: four C functions. See docs/plugin.md.
 *
 * start is called before the first tick and stop after the last one, both outside the loop; read and write are called once
 * a tick each, from the loop's thread. If `real_time` is set, read and write promise not to allocate, lock or wait. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HMOR_ACTUATOR_ABI 1

typedef struct hmor_actuator_info {
  uint32_t abi;       /* in: HMOR_ACTUATOR_ABI of the runtime; refuse what you do not know */
  int32_t n_command;  /* in: numbers a write gets */
  int32_t n_measured; /* in: numbers a read must set */
  double period;      /* in: time between two ticks, s */
  int32_t real_time;  /* out: 1 when read and write are safe in a paced loop */
  char message[256];  /* out: one sentence when start fails */
} hmor_actuator_info;

/* Returns 0 and sets *handle, or a negative code with info->message set. `config` is the text from the study. */
int hmor_actuator_start(const char *config, hmor_actuator_info *info, void **handle);

/* Sets n_measured numbers (the last ones known) and their age in ticks. Returns 0, or a negative code: an error. */
int hmor_actuator_read(void *handle, double t, double *measured, double *age);

/* Takes n_command numbers. Returns 0, or a negative code: they could not be sent. */
int hmor_actuator_write(void *handle, double t, const double *command);

void hmor_actuator_stop(void *handle);

#ifdef __cplusplus
}
#endif

#endif
