/* The load of crates/sim/examples/gate_bench.rs through the library: gate_bench --json KIND PACKETS. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "justfull.h"

enum { PLACES = 64, PER_SLOT = 3 };

/* A ring of SDUs. */
struct ring {
  struct {
    uint64_t id;
    uint32_t size;
    uint64_t entered;
  } sdus[PLACES];
  size_t first, count;
  uint64_t bytes;
};

static void view(void *context, uint8_t drb, jf_view *out) {
  const struct ring *ring = context;
  (void)drb;
  out->packets = ring->count;
  out->bytes = ring->bytes;
}

static bool enqueue(void *context, uint64_t now, uint8_t drb, const jf_packet *sdu) {
  struct ring *ring = context;
  (void)drb;
  if (ring->count == PLACES) return false;
  const size_t at = (ring->first + ring->count) % PLACES;
  ring->sdus[at].id = sdu->id;
  ring->sdus[at].size = sdu->size;
  ring->sdus[at].entered = now;
  ring->count += 1;
  ring->bytes += sdu->size;
  return true;
}

static bool pop(struct ring *ring, uint64_t *id, uint64_t *entered) {
  if (ring->count == 0) return false;
  *id = ring->sdus[ring->first].id;
  *entered = ring->sdus[ring->first].entered;
  ring->bytes -= ring->sdus[ring->first].size;
  ring->first = (ring->first + 1) % PLACES;
  ring->count -= 1;
  return true;
}

static void must(jf_status status) {
  if (status >= JF_OK) return;
  fprintf(stderr, "%s\n", jf_error_text(status));
  exit(1);
}

int main(int count, char **words) {
  static struct ring ring;
  const jf_rlc below = {&ring, view, enqueue, NULL};
  char settings[512];
  jf_gate *gate = NULL;
  uint64_t digest = 0, id = 0, now = 0, out = 0, entered = 0;
  if (count != 4) return 2;
  const int loads = strcmp(words[2], "load") == 0, reports = strcmp(words[2], "drql") == 0;
  const uint64_t packets = strtoull(words[3], NULL, 10);
  snprintf(settings, sizeof settings,
           "unit = \"packets\"\nlimiter.kind = \"%s\"\n[sdap.queue]\nlimit = \"200 packets\"\n"
           "aqm.kind = \"codel\"\n[[qos_flow]]\nqfi = 9\n",
           loads ? "fixed" : words[2]);
  must(jf_gate_create(settings, strlen(settings), &below, &gate, NULL));
  while (id < packets) {
    now += 1000000;
    for (int i = 0; i < PER_SLOT; ++i) {
      jf_packet packet = {0};
      packet.id = ++id;
      packet.size = 1400;
      if (loads) {
        enqueue(&ring, now, 0, &packet);
      } else {
        must(jf_gate_offer(gate, now, 0, &packet));
      }
    }
    if (!loads) must(jf_gate_poll(gate, now, NULL));
    uint64_t used = 0;
    while (used < PER_SLOT && pop(&ring, &out, &entered)) {
      used += 1;
      digest = digest * 31 + out;
      if (reports) must(jf_gate_on_departed(gate, now, 0, now - entered));
    }
    if (reports) {
      const jf_slot slot = {now,        1000000,  PER_SLOT,        used,
                            ring.count, PER_SLOT, used < PER_SLOT, {0}};
      must(jf_gate_on_slot(gate, 0, &slot));
    }
  }
  must(jf_gate_destroy(gate));
  printf("%" PRIu64 "\n", digest);
  return 0;
}
