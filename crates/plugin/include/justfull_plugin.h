/* A limiter of one's own for `justfull run SCENARIO --plugin ./LIBRARY.so`, in C, C++ or any
 * language with C's calls. A limiter decides how much may enter the RLC queue of one bearer.
 *
 * The shared library exports justfull_limiter, which returns a table that stays unchanged. justfull
 * makes an object by `create` for each bearer of each run. One thread at a time uses an object;
 * different objects are used by several threads at once, so the functions share no variables. They
 * return: none may throw, unwind or end the thread.
 *
 * A limiter may declare settings: numbers with a unit, a default and bounds. justfull checks the
 * user's values and passes them to `create`.
 *
 * The same calls must give the same answers, so that a scenario and a seed give the same results:
 * no clock, no chance but from a seed of its own, no address as a value. Time is the simulation's,
 * in nanoseconds since the start of the run, and does not go back.
 *
 * docs/guide/own-limiter.md has a guide, examples/plugin-c an example.
 *
 * Made by cbindgen from crates/plugin/src: do not edit.
 */

#ifndef JUSTFULL_PLUGIN_H
#define JUSTFULL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#if defined(__GNUC__)
#define JF_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define JF_PLUGIN_EXPORT
#endif

/*
 `abi` of the tables that this header describes.
 */
#define JF_PLUGIN_ABI 2

/*
 `flags`: an SDU larger than the room may enter as long as there is any room.
 */
#define JF_PLUGIN_OVERDRAWS 1

/*
 `flags`: the room changes with time alone, so that justfull asks again without an event.
 */
#define JF_PLUGIN_PACES 2

/*
 `unit`: amounts are packets.
 */
#define JF_PLUGIN_PACKETS 0

/*
 `unit`: amounts are bytes.
 */
#define JF_PLUGIN_BYTES 1

/*
 Result of `room`: no limit.
 */
#define JF_PLUGIN_NO_LIMIT UINT64_MAX

/*
 Largest room. A larger one counts as no limit; justfull says how many there were.
 */
#define JF_PLUGIN_MOST 1099511627776

/*
 Most settings of a limiter.
 */
#define JF_PLUGIN_MOST_SETTINGS 64

/*
 A setting of a limiter: a number that the user may give, as `plugin.NAME.SETTING` of a scenario,
 of `--set` and of `--grid`. NAME is the method's.
 */
typedef struct jf_plugin_setting {
  /*
   Its name: 1 to 64 of a to z, 0 to 9 and _, a letter first; once in the table.
   */
  const char *name;
  /*
   Its unit in words, such as "packets": 1 to 64 bytes of printable UTF-8.
   */
  const char *unit;
  /*
   One sentence about it: 1 to 256 bytes of printable UTF-8.
   */
  const char *text;
  /*
   Its value if the user gives none: `min` to `max`.
   */
  double default_value;
  /*
   Its least value: a finite number.
   */
  double min;
  /*
   Its greatest value: a finite number.
   */
  double max;
} jf_plugin_setting;

/*
 The grants of a bearer.
 */
typedef struct jf_plugin_grants {
  /*
   Length of a slot in ns.
   */
  uint64_t slot;
  /*
   Largest SDU in bytes.
   */
  uint32_t mtu;
  /*
   The unit of all amounts of this limiter: JF_PLUGIN_PACKETS or JF_PLUGIN_BYTES.
   */
  uint32_t unit;
} jf_plugin_grants;

/*
 The content of a bearer's RLC queue.
 */
typedef struct jf_plugin_queue {
  /*
   SDUs waiting or partly sent.
   */
  uint64_t packets;
  /*
   Bytes still to be sent.
   */
  uint64_t bytes;
  /*
   SDUs or bytes, by the unit of the grants.
   */
  uint64_t backlog;
} jf_plugin_queue;

/*
 A slot that has ended.
 */
typedef struct jf_plugin_slot {
  /*
   When the MAC pulled, in ns.
   */
  uint64_t pulled_at;
  /*
   Length of a slot in ns.
   */
  uint64_t slot;
  /*
   Offered to this bearer: the amount that it sent, and its share of the unused rest.
   */
  uint64_t granted;
  /*
   Sent by this bearer.
   */
  uint64_t used;
  /*
   Still in its RLC queue.
   */
  uint64_t remaining;
  /*
   Capacity of a whole slot at the present MCS.
   */
  uint64_t capacity;
  /*
   1 if the bearer could have sent more than it had, else 0.
   */
  uint64_t starved;
} jf_plugin_slot;

/*
 A limiter: its name and its functions. `own` is what `create` returned.
 */
typedef struct jf_plugin_limiter {
  /*
   JF_PLUGIN_ABI.
   */
  uint32_t abi;
  /*
   sizeof(jf_plugin_limiter).
   */
  uint32_t size;
  /*
   Name of the method in tables and figures: 1 to 64 bytes of printable UTF-8. With settings it
   has none of . [ ] =, so that a path can name it.
   */
  const char *name;
  /*
   JF_PLUGIN_OVERDRAWS, JF_PLUGIN_PACES, both or 0.
   */
  uint64_t flags;
  /*
   The settings; NULL if there are none.
   */
  const struct jf_plugin_setting *settings;
  /*
   Number of settings: 0 to JF_PLUGIN_MOST_SETTINGS.
   */
  uint64_t settings_count;
  /*
   Makes the limiter of a bearer; NULL if it cannot work with the arguments. `values` has the
   value of each setting in the order of `settings`, within its bounds. Both arguments end with
   the call.
   */
  void *(*create)(const struct jf_plugin_grants *grants, const double *values);
  /*
   Ends a limiter.
   */
  void (*destroy)(void *own);
  /*
   How much more may enter at `now` a queue with this content.
   */
  uint64_t (*room)(void *own, uint64_t now, const struct jf_plugin_queue *queue);
  /*
   May be NULL. An SDU of `amount` entered at `now`; `queue` includes it.
   */
  void (*on_admitted)(void *own, uint64_t now, uint64_t amount, const struct jf_plugin_queue *queue);
  /*
   May be NULL. The last byte of an SDU left for the radio at `now`, `sojourn` ns after its
   entry.
   */
  void (*on_departed)(void *own, uint64_t now, uint64_t sojourn);
  /*
   May be NULL. A slot has ended. One report of the latest idle slot stands for all idle slots
   before it.
   */
  void (*on_slot)(void *own, const struct jf_plugin_slot *slot);
} jf_plugin_limiter;

#endif  /* JUSTFULL_PLUGIN_H */

#ifdef __cplusplus
extern "C" {
#endif

/* The plugin's own: the table of its limiter. */
JF_PLUGIN_EXPORT const jf_plugin_limiter *justfull_limiter(void);

#ifdef __cplusplus
}
#endif
