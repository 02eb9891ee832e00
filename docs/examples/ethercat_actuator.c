/* An EtherCAT I/O terminal or drive as an actuator, on the user-space library of the IgH EtherCAT master (LGPL 2.1), which
 * you install; this file is only an example of the five functions of hmor_actuator.h.
 *
 * Build: cc -O2 -shared -fPIC -I "$(python -c 'from rt_runtime.rig.actuators import include_folder; print(include_folder())')" \
 *           -o ethercat_actuator.so docs/examples/ethercat_actuator.c -lethercat
 *
 * The text in the study names one slave and its process data, all 32-bit integers, with the unit of one count:
 *
 *   config = "master 0 slave 0 0 vendor 0x2 product 0x1a2b3052 command 0x7010 1 1e-6 measured 0x6000 17 1e-6 measured 0x6010 17 0.01"
 *
 * The first measured entries, one per command, must say where the commands stand: the outputs are set there from the first
 * answer on, so that nothing moves when the slave becomes operational. A slave that acts on its outputs before that must
 * not have power yet: a drive with a control word (CiA 402) is switched on after start, by code of yours.
 *
 * Each tick: read receives what the last cycle brought and takes the inputs; write sets the outputs and sends the next cycle.
 * A cycle that did not come back is age; after hold_after of them, or when the slave has left operation, read is an error.
 * The watchdog is that of the slave (its SyncManager watchdog, set here to hold_after periods) and must hold and ramp as the
 * header asks; whether it does, this library cannot know, so it says watchdog = 0 unless the text has "watchdog". */

#define _POSIX_C_SOURCE 200809L

#include <ecrt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hmor_actuator.h"

#define MOST 16
#define WAIT 10.0 /* s for the slave to become operational, unless the text has "wait SECONDS" */

typedef struct {
  unsigned index, sub, offset;
  double unit; /* of one count */
} entry;

typedef struct {
  ec_master_t *master;
  ec_domain_t *domain;
  ec_slave_config_t *slave;
  uint8_t *image;
  int n_command, n_measured, state, late, hold_after;
  double wait;
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
    } else if (strcmp(word, "wait") == 0) {
      b->wait = strtod(a, NULL);
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

static int register_entry(bus *b, entry *e) {
  const int offset = ecrt_slave_config_reg_pdo_entry(b->slave, (uint16_t)e->index, (uint8_t)e->sub, b->domain, NULL);
  e->offset = (unsigned)offset;
  return offset;
}

static double measured_value(const bus *b, int i) { return b->measured[i].unit * EC_READ_S32(b->image + b->measured[i].offset); }

static double counts(const bus *b, int i, double value) { return value / b->command[i].unit; }

static void set_command(bus *b, int i, double value) {
  EC_WRITE_S32(b->image + b->command[i].offset, (int32_t)lround(counts(b, i, value)));
}

static void receive(bus *b, ec_domain_state_t *told) {
  ecrt_master_receive(b->master);
  ecrt_domain_process(b->domain);
  ecrt_domain_state(b->domain, told);
}

static void send(bus *b) {
  ecrt_domain_queue(b->domain);
  ecrt_master_send(b->master);
}

/* Cycles with the outputs at the measured positions until the slave is operational; a sentence when it does not come. */
static const char *begin(bus *b, double period) {
  const struct timespec pause = {(time_t)period, (long)(1e9 * (period - floor(period)))};
  ec_slave_config_state_t slave = {0, 0, 0};
  ec_domain_state_t told;
  double waited;
  int i;
  for (waited = 0.0; waited < b->wait; waited += period) {
    receive(b, &told);
    ecrt_slave_config_state(b->slave, &slave);
    for (i = 0; i < b->n_command && i < b->n_measured; ++i) set_command(b, i, measured_value(b, i));
    if (slave.operational && told.wc_state == EC_WC_COMPLETE) {
      send(b); /* the first read takes its answer */
      nanosleep(&pause, NULL);
      return NULL;
    }
    send(b);
    nanosleep(&pause, NULL);
  }
  return slave.online ? "the EtherCAT slave did not become operational in time."
                      : "there is no such EtherCAT slave (alias, position, vendor, product).";
}

int hmor_actuator_start(const char *config, hmor_actuator_info *info, void **handle) {
  unsigned master = 0, at[4] = {0, 0, 0, 0};
  const char *problem;
  double intervals;
  int i;
  bus *b = calloc(1, sizeof *b);
  if (b == NULL) return -2;
  b->wait = WAIT;
  b->hold_after = info->hold_after;
  info->watchdog = 0;
  if (info->abi != HMOR_ACTUATOR_ABI) return fail(b, info, "built for another version of hmor_actuator.h; build it again.");
  if (understand(b, config, &master, at, info) != 0)
    return fail(b, info, "config must be words like: slave 0 0 vendor 0x2 product 0x1 command 0x7010 1 1e-6 measured 0x6000 17 1e-6.");
  if (b->n_command != info->n_command || b->n_measured != info->n_measured)
    return fail(b, info, "config must name one entry per command and per measured signal of the study.");
  if (!(b->master = ecrt_request_master(master))) return fail(b, info, "the EtherCAT master cannot be had; is it running and free?");
  if (!(b->domain = ecrt_master_create_domain(b->master))) return fail(b, info, "the EtherCAT master gives no domain.");
  b->slave = ecrt_master_slave_config(b->master, (uint16_t)at[0], (uint16_t)at[1], at[2], at[3]);
  if (!b->slave) return fail(b, info, "the EtherCAT master takes no such slave (alias, position, vendor, product).");
  for (i = 0; i < b->n_command; ++i)
    if (register_entry(b, &b->command[i]) < 0)
      return fail(b, info, "a command is not in the process data of the slave; is the slave on the bus?");
  for (i = 0; i < b->n_measured; ++i)
    if (register_entry(b, &b->measured[i]) < 0)
      return fail(b, info, "a measured entry is not in the process data of the slave; is the slave on the bus?");
  intervals = ceil(info->hold_after * info->period * 1e4); /* of 100 us */
  ecrt_slave_config_watchdog(b->slave, 0, (uint16_t)(intervals < 65535.0 ? intervals : 65535.0));
  if (ecrt_master_activate(b->master) != 0) return fail(b, info, "the EtherCAT master cannot be activated.");
  b->image = ecrt_domain_data(b->domain);
  if ((problem = begin(b, info->period)) != NULL) return fail(b, info, problem);
  b->state = HMOR_IDLE;
  info->real_time = 1;
  *handle = b;
  return 0;
}

int hmor_actuator_read(void *handle, double t, double *measured, double *age) {
  bus *b = handle;
  ec_domain_state_t told;
  ec_slave_config_state_t slave;
  int i;
  (void)t;
  receive(b, &told);
  ecrt_slave_config_state(b->slave, &slave);
  b->late = told.wc_state == EC_WC_COMPLETE ? 0 : b->late + 1;
  for (i = 0; i < b->n_measured; ++i) measured[i] = measured_value(b, i);
  *age = b->late;
  if (!slave.operational) b->state = HMOR_OFF;
  if (b->state == HMOR_OFF) return -2; /* it left operation, for good until the next start */
  if (b->late >= b->hold_after) b->state = HMOR_HOLDING;
  return b->state == HMOR_HOLDING ? -1 : 0; /* nobody answers */
}

int hmor_actuator_write(void *handle, double t, const double *command) {
  bus *b = handle;
  int i;
  (void)t;
  for (i = 0; i < b->n_command; ++i)
    if (!(fabs(counts(b, i, command[i])) < 2147483647.0)) return -3; /* nothing is sent: the watchdog of the slave runs */
  for (i = 0; i < b->n_command; ++i) set_command(b, i, command[i]);
  send(b);
  if (!b->late && b->state != HMOR_OFF) b->state = HMOR_LIVE;
  return 0;
}

int hmor_actuator_state(void *handle) { return ((bus *)handle)->state; }

void hmor_actuator_stop(void *handle) {
  bus *b = handle;
  ecrt_release_master(b->master);
  free(b);
}
