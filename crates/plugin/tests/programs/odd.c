/* A limiter that is sound but for what -D asks. */
#include <stdlib.h>
#include <string.h>

#include "justfull_plugin.h"

#ifndef NAME
#define NAME "Odd"
#endif
#ifndef ABI
#define ABI JF_PLUGIN_ABI
#endif
#ifndef SIZE
#define SIZE sizeof table
#endif
#ifndef FLAGS
#define FLAGS JF_PLUGIN_OVERDRAWS
#endif
#ifndef ROOM
#define ROOM queue->packets < 20 ? 20 - queue->packets : 0
#endif
#ifndef CREATE
#define CREATE create
#endif
#ifndef KEY
#define KEY "least"
#endif
#ifndef UNIT
#define UNIT "packets"
#endif
#ifndef TEXT
#define TEXT "Least room."
#endif
#ifndef DEFAULT
#define DEFAULT 2
#endif
#ifndef MIN
#define MIN 1
#endif
#ifndef COUNT
#define COUNT 0
#endif
#ifndef TABLE
#define TABLE &table
#endif

void *create(const jf_plugin_grants *grants, const double *values) {
  (void)grants;
  double *own = malloc(2 * sizeof *own);
  if (COUNT == 2) memcpy(own, values, 2 * sizeof *own);
  return own;
}

void *refuse(const jf_plugin_grants *grants, const double *values) {
  (void)grants, (void)values;
  return NULL;
}

static uint64_t room(void *own, uint64_t now, const jf_plugin_queue *queue) {
  (void)own, (void)now, (void)queue;
  return ROOM;
}

const jf_plugin_limiter *ENTRY(void) {
  static const jf_plugin_setting settings[] = {
      {KEY, UNIT, TEXT, DEFAULT, MIN, 4},
      {"most", "packets", "Greatest room.", 20, 10, 40},
  };
  static jf_plugin_limiter table;
  table = (jf_plugin_limiter){
      .abi = ABI, .size = SIZE, .name = NAME, .flags = FLAGS,
      .settings = settings, .settings_count = COUNT, .create = CREATE, .destroy = free, .room = room,
  };
#ifdef WITHOUT
  table.WITHOUT = NULL;
#endif
  return TABLE;
}
