/* An EtherCAT drive or I/O terminal as an actuator, on the user-space library of the IgH EtherCAT master (LGPL 2.1), which
 * you install; this file is only an example of the five functions of hmor_actuator.h.
 *
 * Build: cc -O2 -shared -fPIC -I "$(python -c 'from rt_runtime.rig.actuators import include_folder; print(include_folder())')" \
 *           -o ethercat_actuator.so docs/examples/ethercat_actuator.c -lethercat
 *
 * The text in the study names one slave and its process data, all 32-bit integers, with the unit of one count:
 *
 *   config = "master 0 slave 0 0 vendor 0x2 product 0x1a2b3052 command 0x7010 1 1e-6 measured 0x6000 17 1e-6 measured 0x6010 17 0.01"
 *
 * Each tick: read receives what the last cycle brought and takes the inputs; write sets the outputs and sends the next cycle.
 * The watchdog is that of the slave (its SyncManager watchdog, set in its own configuration) and must hold and ramp as the
 * header asks; whether it does, this library cannot know, so it says watchdog = 0 unless the text has "watchdog". */

#include <ecrt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hmor_actuator.h"

#define MOST 16

typedef struct {
  unsigned index, sub, offset;
  double unit; /* of one count */
} entry;

typedef struct {
  ec_master_t *master;
  ec_domain_t *domain;
  uint8_t *image;
  int n_command, n_measured, state, late;
  entry command[MOST], measured[MOST];
} bus;

static int fail(bus *b, hmor_actuator_info *info, const char *text) {
  snprintf(info->message, sizeof info->message, "%s", text);
  if (b->master) ecrt_release_master(b->master);
  free(b);
  return -1;
}

/* Reads the words of the text; 0 when it is understood. */
static int understand(bus *b, const char *config, unsigned *master, unsigned *at, hmor_actuator_info *info) {
  char text[1024];
  char *word, *rest = NULL;
  snprintf(text, sizeof text, "%s", config);
  for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    const int entries = strcmp(word, "command") == 0 ? 1 : strcmp(word, "measured") == 0 ? 2 : 0;
    int *n = entries == 1 ? &b->n_command : &b->n_measured;
    const char *a = strcmp(word, "watchdog") ? strtok_r(NULL, " ", &rest) : "";
    if (!a) return -1;
    if (strcmp(word, "watchdog") == 0) {
      info->watchdog = 1;
    } else if (strcmp(word, "master") == 0) {
      *master = (unsigned)strtoul(a, NULL, 0);
    } else if (strcmp(word, "vendor") == 0) {
      at[2] = (unsigned)strtoul(a, NULL, 0);
    } else if (strcmp(word, "product") == 0) {
      at[3] = (unsigned)strtoul(a, NULL, 0);
    } else {
      const char *c = strtok_r(NULL, " ", &rest), *d = entries ? strtok_r(NULL, " ", &rest) : "";
      if (!c || !d || (!entries && strcmp(word, "slave") != 0) || (entries && *n == MOST)) return -1;
      if (entries) {
        entry *e = (entries == 1 ? b->command : b->measured) + (*n)++;
        e->index = (unsigned)strtoul(a, NULL, 0);
        e->sub = (unsigned)strtoul(c, NULL, 0);
        e->unit = strtod(d, NULL);
        if (!(e->unit > 0.0)) return -1;
      } else {
        at[0] = (unsigned)strtoul(a, NULL, 0);
        at[1] = (unsigned)strtoul(c, NULL, 0);
      }
    }
  }
  return 0;
}

static int register_entry(bus *b, ec_slave_config_t *slave, entry *e) {
  const int offset = ecrt_slave_config_reg_pdo_entry(slave, (uint16_t)e->index, (uint8_t)e->sub, b->domain, NULL);
  e->offset = (unsigned)offset;
  return offset;
}

int hmor_actuator_start(const char *config, hmor_actuator_info *info, void **handle) {
  unsigned master = 0, at[4] = {0, 0, 0, 0};
  ec_slave_config_t *slave;
  int i;
  bus *b = calloc(1, sizeof *b);
  if (b == NULL) return -2;
  info->watchdog = 0;
  if (info->abi != HMOR_ACTUATOR_ABI) return fail(b, info, "built for another version of hmor_actuator.h; build it again.");
  if (understand(b, config, &master, at, info) != 0)
    return fail(b, info, "config must be words like: slave 0 0 vendor 0x2 product 0x1 command 0x7010 1 1e-6 measured 0x6000 17 1e-6.");
  if (b->n_command != info->n_command || b->n_measured != info->n_measured)
    return fail(b, info, "config must name one entry per command and per measured signal of the study.");
  if (!(b->master = ecrt_request_master(master))) return fail(b, info, "the EtherCAT master cannot be had; is it running and free?");
  if (!(b->domain = ecrt_master_create_domain(b->master))) return fail(b, info, "the EtherCAT master gives no domain.");
  slave = ecrt_master_slave_config(b->master, (uint16_t)at[0], (uint16_t)at[1], at[2], at[3]);
  if (!slave) return fail(b, info, "there is no such EtherCAT slave (alias, position, vendor, product).");
  for (i = 0; i < b->n_command; ++i)
    if (register_entry(b, slave, &b->command[i]) < 0) return fail(b, info, "a command is not in the process data of the slave.");
  for (i = 0; i < b->n_measured; ++i)
    if (register_entry(b, slave, &b->measured[i]) < 0) return fail(b, info, "a measured entry is not in the process data of the slave.");
  ecrt_slave_config_watchdog(slave, 0, (uint16_t)(info->hold_after * info->period * 1e4)); /* in 100 us */
  if (ecrt_master_activate(b->master) != 0) return fail(b, info, "the EtherCAT master cannot be activated.");
  b->image = ecrt_domain_data(b->domain);
  b->state = HMOR_IDLE;
  info->real_time = 1;
  *handle = b;
  return 0;
}

int hmor_actuator_read(void *handle, double t, double *measured, double *age) {
  bus *b = handle;
  ec_domain_state_t told;
  int i;
  (void)t;
  ecrt_master_receive(b->master);
  ecrt_domain_process(b->domain);
  ecrt_domain_state(b->domain, &told);
  b->late = told.wc_state == EC_WC_COMPLETE ? 0 : b->late + 1;
  for (i = 0; i < b->n_measured; ++i)
    measured[i] = b->measured[i].unit * EC_READ_S32(b->image + b->measured[i].offset);
  *age = b->late;
  if (b->state == HMOR_LIVE && b->late) b->state = HMOR_HOLDING;
  return told.wc_state == EC_WC_ZERO ? -1 : 0; /* nobody answered */
}

int hmor_actuator_write(void *handle, double t, const double *command) {
  bus *b = handle;
  int i;
  (void)t;
  for (i = 0; i < b->n_command; ++i) {
    const double counts = command[i] / b->command[i].unit;
    if (!(fabs(counts) < 2147483647.0)) return -3;
    EC_WRITE_S32(b->image + b->command[i].offset, (int32_t)lround(counts));
  }
  ecrt_domain_queue(b->domain);
  ecrt_master_send(b->master);
  if (!b->late) b->state = HMOR_LIVE;
  return 0;
}

int hmor_actuator_state(void *handle) { return ((bus *)handle)->state; }

void hmor_actuator_stop(void *handle) {
  bus *b = handle;
  ecrt_release_master(b->master);
  free(b);
}
