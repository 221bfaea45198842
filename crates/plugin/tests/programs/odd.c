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
#ifndef TABLE
#define TABLE &table
#endif

void *create(const jf_plugin_grants *grants) {
  (void)grants;
  return malloc(1);
}

void *refuse(const jf_plugin_grants *grants) {
  (void)grants;
  return NULL;
}

static uint64_t room(void *own, uint64_t now, const jf_plugin_queue *queue) {
  (void)own, (void)now, (void)queue;
  return ROOM;
}

const jf_plugin_limiter *ENTRY(void) {
  static jf_plugin_limiter table;
  table = (jf_plugin_limiter){
      .abi = ABI, .size = SIZE, .name = NAME, .flags = FLAGS,
      .create = CREATE, .destroy = free, .room = room,
  };
#ifdef WITHOUT
  table.WITHOUT = NULL;
#endif
  return TABLE;
}
