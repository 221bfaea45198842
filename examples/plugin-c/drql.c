/* DRQL (T20 section 4.1, Algorithm 1) as a plugin: the limit of the RLC queue grows when the radio
 * starved although the limit had been reached, and shrinks by the amount that always remained.
 *
 *   cc -std=c11 -O2 -shared -fPIC -I../../crates/plugin/include -o drql.so drql.c -lm
 *   justfull run voip-over-lte --method Vanilla --method DRQL --plugin ./drql.so
 *
 * It decides as the built-in DRQL does, packet by packet. Its settings are numbers of the user:
 *
 *   justfull run voip-over-lte --plugin ./drql.so --set 'plugin.DRQL in C.growth=1.5'
 */
#include <math.h>
#include <stdlib.h>

#include "justfull_plugin.h"

enum { GROWTH, MAX, SETTINGS };

static const jf_plugin_setting settings[SETTINGS] = {
    [GROWTH] = {.name = "growth",
                .unit = "times",
                .text = "Factor by which a starved limit grows, rounded up.",
                .default_value = 1.2,
                .min = 1.01,
                .max = 16},
    [MAX] = {.name = "max",
             .unit = "packets",
             .text = "Greatest limit, which is also the limit at the start.",
             .default_value = 1024,
             .min = 1,
             .max = 1048576},
};

struct drql {
  double growth;
  uint64_t hold, min, max, limit;
  int limit_reached;
  uint64_t hold_since, least_remaining;
};

static void *create(const jf_plugin_grants *grants, const double *values) {
  /* A packet stands for one MTU where grants are bytes. */
  uint64_t packet = grants->unit == JF_PLUGIN_PACKETS ? 1 : grants->mtu;
  struct drql *own = malloc(sizeof *own);
  if (own == NULL) return NULL;
  *own = (struct drql){
      .growth = values[GROWTH],
      .hold = grants->slot,
      .min = packet,
      .max = (uint64_t)values[MAX] * packet,
      .limit = (uint64_t)values[MAX] * packet,
      .least_remaining = UINT64_MAX,
  };
  return own;
}

static uint64_t room(void *object, uint64_t now, const jf_plugin_queue *queue) {
  const struct drql *own = object;
  (void)now;
  return queue->backlog < own->limit ? own->limit - queue->backlog : 0;
}

static void on_admitted(void *object, uint64_t now, uint64_t amount, const jf_plugin_queue *queue) {
  struct drql *own = object;
  (void)now, (void)amount;
  if (queue->backlog >= own->limit) own->limit_reached = 1;
}

static void restart_hold(struct drql *own, uint64_t now) {
  own->hold_since = now;
  own->least_remaining = UINT64_MAX;
}

static void on_slot(void *object, const jf_plugin_slot *slot) {
  struct drql *own = object;
  uint64_t now = slot->pulled_at;
  if (slot->remaining == 0 && own->limit_reached) {
    uint64_t grown = (uint64_t)ceil(own->growth * (double)own->limit);
    own->limit = grown < own->max ? grown : own->max;
    restart_hold(own, now);
  } else if (slot->remaining > 0) {
    if (slot->remaining < own->least_remaining) own->least_remaining = slot->remaining;
    if (now - own->hold_since >= own->hold) {
      uint64_t unused = own->least_remaining;
      uint64_t left = unused < own->limit ? own->limit - unused : 0;
      own->limit = left > own->min ? left : own->min;
      restart_hold(own, now);
    }
  } else {
    restart_hold(own, now);
  }
  /* If the limit shrank to the remaining amount, the queue is still at its limit. */
  own->limit_reached = slot->remaining >= own->limit;
}

const jf_plugin_limiter *justfull_limiter(void) {
  static const jf_plugin_limiter table = {
      .abi = JF_PLUGIN_ABI,
      .size = sizeof table,
      .name = "DRQL in C",
      .flags = JF_PLUGIN_OVERDRAWS,
      .settings = settings,
      .settings_count = SETTINGS,
      .create = create,
      .destroy = free,
      .room = room,
      .on_admitted = on_admitted,
      .on_slot = on_slot,
  };
  return &table;
}
