/* The smallest plug-in: an actuator that follows its command at once and measures position and spring force.
 * Build: cc -O2 -shared -fPIC -I "$(python -c 'from rt_runtime.actuators import include_folder; print(include_folder())')" \
 *           -o spring_actuator.so docs/examples/spring_actuator.c */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hmor_actuator.h"

typedef struct spring {
  double stiffness, position;
} spring;

int hmor_actuator_start(const char *config, hmor_actuator_info *info, void **handle) {
  if (info->abi != HMOR_ACTUATOR_ABI || info->n_command != 1 || info->n_measured != 2) {
    snprintf(info->message, sizeof info->message, "one command and two measured signals, please.");
    return -1;
  }
  spring *s = calloc(1, sizeof *s);
  if (s == NULL) return -2;
  s->stiffness = atof(config);
  info->watchdog = 0; /* nothing is behind this library; a real controller must have one, see the header */
  info->real_time = 1;
  *handle = s;
  return 0;
}

int hmor_actuator_read(void *handle, double t, double *measured, double *age) {
  const spring *s = handle;
  (void)t;
  measured[0] = s->position;
  measured[1] = s->stiffness * s->position;
  *age = 0.0;
  return 0;
}

int hmor_actuator_write(void *handle, double t, const double *command) {
  spring *s = handle;
  (void)t;
  if (!isfinite(command[0])) return -3;
  s->position = command[0];
  return 0;
}

int hmor_actuator_state(void *handle) {
  (void)handle;
  return HMOR_LIVE;
}

void hmor_actuator_stop(void *handle) { free(handle); }
