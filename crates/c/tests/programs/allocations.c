/* After an object is made, no call allocates: each AQM, discipline, limiter, pacer and control. The
 * linker wraps the allocator (--wrap). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "justfull.h"

static uint64_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_malloc(size_t size) {
  allocations += 1;
  return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
  allocations += 1;
  return __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) {
  allocations += 1;
  return __real_realloc(old, size);
}
int __wrap_posix_memalign(void **out, size_t align, size_t size) {
  allocations += 1;
  return __real_posix_memalign(out, align, size);
}
void *__wrap_aligned_alloc(size_t align, size_t size) {
  allocations += 1;
  return __real_aligned_alloc(align, size);
}

static uint64_t state = 88172645463325252U;

static uint64_t below(uint64_t bound) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % bound;
}

static void must(jf_status status, const char *what) {
  if (status < JF_OK) {
    fprintf(stderr, "%s: %s\n", what, jf_error_text(status));
    exit(1);
  }
}

/* An RLC of bytes. */
struct rlc {
  uint32_t sizes[4096];
  unsigned first, count;
  uint64_t bytes, lost;
};

static void view(void *context, uint8_t drb, jf_view *out) {
  const struct rlc *rlc = context;
  (void)drb;
  out->packets = rlc->count;
  out->bytes = rlc->bytes;
}

static bool enqueue(void *context, uint64_t now, uint8_t drb, const jf_packet *sdu) {
  struct rlc *rlc = context;
  (void)now;
  (void)drb;
  if (rlc->count == 4096) return false;
  rlc->sizes[(rlc->first + rlc->count++) % 4096] = sdu->size;
  rlc->bytes += sdu->size;
  return true;
}

static void dropped(void *context, uint64_t now, const jf_packet *packet, uint8_t reason) {
  (void)now;
  (void)packet;
  (void)reason;
  ((struct rlc *)context)->lost += 1;
}

static jf_packet any(uint64_t id) {
  jf_packet packet;
  memset(&packet, 0, sizeof packet);
  packet.id = id;
  packet.size = (uint32_t)(40 + below(1461));
  packet.flow_hash = (uint32_t)below(50);
  packet.ecn = (uint8_t)below(4);
  packet.protocol = (uint8_t)below(4);
  return packet;
}

static void gate(const char *settings, unsigned flows, uint64_t *size) {
  static struct rlc rlc;
  const jf_rlc functions = {&rlc, view, enqueue, dropped};
  jf_gate *gate = NULL;
  jf_message message;
  uint64_t at = 0, now = 0, id = 0;
  size_t bytes = 0;
  memset(&rlc, 0, sizeof rlc);
  const jf_status made = jf_gate_create(settings, strlen(settings), &functions, &gate, &message);
  if (made != JF_OK) {
    fprintf(stderr, "%s\n%s\n", settings, message.text);
    exit(1);
  }
  must(jf_gate_size(settings, strlen(settings), &bytes, NULL), settings);
  *size = bytes;
  const uint64_t before = allocations;
  for (unsigned slot = 0; slot < 4000; ++slot, now += 1000000) {
    const uint64_t burst = slot % 500 == 0 ? 300 : below(7);
    for (uint64_t i = 0; i < burst; ++i) {
      const jf_packet packet = any(++id);
      must(jf_gate_offer(gate, now, (uint32_t)below(flows), &packet), settings);
    }
    must(jf_gate_next_timeout(gate, &at), settings);
    if (at <= now) must(jf_gate_on_timeout(gate, now), settings);
    for (unsigned poll = 0; poll < 3; ++poll) {
      must(jf_gate_room(gate, now + poll, 0, &at), settings);
      must(jf_gate_poll(gate, now + poll, NULL), settings);
    }
    const uint64_t grant = slot % 10 == 0 ? 0 : 4000;
    uint64_t used = 0;
    while (rlc.count > 0 && used + rlc.sizes[rlc.first] <= grant) {
      used += rlc.sizes[rlc.first];
      rlc.first = (rlc.first + 1) % 4096;
      rlc.count -= 1;
      must(jf_gate_on_departed(gate, now + 3, 0, 1000000), settings);
    }
    rlc.bytes -= used;
    const jf_slot report = {now + 3, 1000000, grant, used, rlc.bytes, grant, used < grant, {0}};
    must(jf_gate_on_slot(gate, 0, &report), settings);
    if (slot % 1000 == 999) must(jf_gate_drain(gate, now + 3), settings);
  }
  if (allocations != before) {
    fprintf(stderr, "%s\n%llu allocations\n", settings, (unsigned long long)(allocations - before));
    exit(1);
  }
  if (id < 4000 || (flows == 1 && rlc.lost == 0)) {
    fprintf(stderr, "%s\nnothing was at stake\n", settings);
    exit(1);
  }
  must(jf_gate_destroy(gate), settings);
}

static void pacer(void) {
  const char *settings = "kind = \"usp\"";
  const jf_grants grants = {1000000, 1500, JF_BYTES, {0, 0, 0}};
  jf_pacer *pacer = NULL;
  uint64_t wanted = 0;
  must(jf_pacer_create(settings, strlen(settings), &grants, &pacer, NULL), settings);
  const uint64_t before = allocations;
  for (uint64_t now = 0; now < 1000; ++now) {
    const jf_poll poll = {below(5000), below(5000), below(5000)};
    must(jf_pacer_occupancy(pacer, now, &wanted), settings);
    must(jf_pacer_on_enqueued(pacer, 1500), settings);
    must(jf_pacer_on_poll(pacer, now, &poll), settings);
  }
  if (allocations != before) exit(1);
  must(jf_pacer_destroy(pacer), settings);
}

/* Slots of random demand, up to what the settings allow. */
static void eqp(void) {
  static const char *settings =
      "shares = [0.25, 0.35, 0.4]\nrbs = 106\nues = 12\nbearers = 24\nsdus = 200\n";
  static uint32_t tbs[12][107], sdus[200], bytes[24];
  static jf_eqp_ue ues[12];
  static jf_eqp_bearer bearers[24];
  static jf_eqp_grant grants[12];
  jf_eqp *eqp = NULL;
  jf_message message;
  uint64_t given = 0;
  if (jf_eqp_create(settings, strlen(settings), &eqp, &message) != JF_OK) {
    fprintf(stderr, "%s\n", message.text);
    exit(1);
  }
  const uint64_t before = allocations;
  for (uint64_t slot = 0; slot < 3000; ++slot) {
    jf_eqp_demand demand;
    memset(&demand, 0, sizeof demand);
    demand.slot = slot;
    demand.rbs = (uint16_t)below(107);
    demand.unit = (uint16_t)(1 + below(8));
    demand.ues = ues;
    demand.bearers = bearers;
    demand.sdus = sdus;
    demand.ues_length = slot % 7 == 0 ? 12 : below(13);
    for (size_t i = 0; i < demand.ues_length; ++i) {
      memset(&ues[i], 0, sizeof ues[i]);
      ues[i].tbs = tbs[i];
      ues[i].ue = (uint32_t)(3 * i + below(3));
      ues[i].slice = (uint16_t)below(3);
      ues[i].bearers = (uint32_t)(1 + below(2));
      const uint32_t each = (uint32_t)below(90);
      for (uint32_t rbs = 0; rbs < 107; ++rbs) tbs[i][rbs] = rbs * each;
      for (uint32_t j = 0; j < ues[i].bearers; ++j) {
        jf_eqp_bearer *bearer = &bearers[demand.bearers_length++];
        memset(bearer, 0, sizeof *bearer);
        bearer->drb = (uint8_t)j;
        bearer->sdus = (uint32_t)below(9);
        for (uint32_t k = 0; k < bearer->sdus; ++k) {
          const uint32_t size = (uint32_t)(20 + below(slot % 3 == 0 ? 60 : 1480));
          sdus[demand.sdus_length++] = size;
          bearer->backlog += size;
        }
        bearer->backlog += below(3000);
      }
    }
    must(jf_eqp_schedule(eqp, slot, &demand, grants, bytes, NULL), "eqp");
    for (size_t i = 0; i < demand.ues_length; ++i) given += grants[i].rbs;
  }
  if (allocations != before || given < 10000) {
    fprintf(stderr, "eqp: %llu allocations, %llu blocks\n",
            (unsigned long long)(allocations - before), (unsigned long long)given);
    exit(1);
  }
  must(jf_eqp_destroy(eqp), "eqp");
}

/* UEs and flows that come and go, up to what the settings allow, for 20 s. */
static void rapid(const char *kind) {
  enum { UES = 24, FLOWS = 80 };
  char settings[256];
  jf_rapid *control = NULL;
  jf_message message;
  jf_rapid_change change;
  uint64_t ues[UES] = {0}, flows[FLOWS] = {0}, full = 0, changes = 0, due = 0;
  snprintf(settings, sizeof settings,
           "cells = 3\nues = 10\nflows = 30\nflows_of_ue = 12\ncontrol.kind = \"%s\"\n", kind);
  if (jf_rapid_create(settings, strlen(settings), &control, &message) != JF_OK) {
    fprintf(stderr, "%s\n", message.text);
    exit(1);
  }
  const uint64_t before = allocations;
  for (uint64_t now = 1; now < 20000000000; now += 1 + below(200000)) {
    uint64_t *ue = &ues[below(UES)], *flow = &flows[below(FLOWS)];
    const uint64_t kind_of_call = below(1000);
    jf_rapid_opening opening = {below(9), below(50000000), below(50000000), 1448, 52};
    jf_rapid_sample sample = {below(90000), below(90000), below(2) * below(90000),
                              below(50000000), below(50000000), 0, (uint8_t)below(2), {0}};
    jf_cell_report cell = {now, 500000, 200, below(200), 20, 3, JF_CELL_NR, 2, 2, 13, 12, {0}};
    jf_ue_report own = {below(cell.used + 1), 0, below(90000), below(90000), (uint8_t)below(28), {0}};
    if (kind_of_call < 5) {
      (void)jf_rapid_remove_ue(control, now, *ue);
      full += jf_rapid_add_ue(control, now, (uint32_t)below(3), ue) == JF_ERROR_FULL;
    } else if (kind_of_call < 8) {
      (void)jf_rapid_remove_ue(control, now, *ue);
    } else if (kind_of_call < 10) {
      (void)jf_rapid_merge_ues(control, now, *ue, ues[below(UES)]);
    } else if (kind_of_call < 20) {
      (void)jf_rapid_move_ue(control, now, *ue, (uint32_t)below(3));
    } else if (kind_of_call < 25) {
      (void)jf_rapid_limit_ue(control, now, *ue, 1000 + below(10000000));
    } else if (kind_of_call < 60) {
      (void)jf_rapid_close(control, now, *flow);
      full += jf_rapid_open(control, now, *ue, &opening, flow) == JF_ERROR_FULL;
    } else if (kind_of_call < 80) {
      (void)jf_rapid_close(control, now, *flow);
    } else if (kind_of_call < 500) {
      (void)jf_rapid_on_sample(control, now, *flow, &sample);
    } else {
      (void)jf_rapid_on_report(control, now, *ue, &cell, &own);
    }
    must(jf_rapid_next_timer(control, &due), settings);
    if (due <= now) must(jf_rapid_on_timer(control, now), settings);
    while (jf_rapid_next_change(control, &change) == JF_OK) changes += 1;
  }
  if (allocations != before || full < 100 || changes < 1000) {
    fprintf(stderr, "%s: %llu allocations, %llu full, %llu changes\n", kind,
            (unsigned long long)(allocations - before), (unsigned long long)full,
            (unsigned long long)changes);
    exit(1);
  }
  must(jf_rapid_destroy(control), settings);
}

int main(void) {
  static const char *limiters[] = {"unlimited", "fixed",    "dyn_rlc", "drql",     "dql",
                                   "bdp_5g",    "e_bdp_5g", "hedge",   "last_poll"};
  static const char *queues[] = {
      "aqm.kind = \"none\"",         "aqm.kind = \"codel\"",   "aqm.kind = \"red\"",
      "aqm.kind = \"adaptive_red\"", "aqm.kind = \"ttlred1\"", "aqm.kind = \"ttlred2\"",
      "aqm.kind = \"pie\"",          "discipline.kind = \"sfq\"\ndiscipline.perturb = \"20ms\"",
      "discipline.kind = \"fq_codel\"", "discipline.kind = \"protocol\"",
      "discipline.kind = \"lanes\"\ndiscipline.lanes = 8",
      "aqm.kind = \"dualpi2\"\ndiscipline.kind = \"dual_queue\""};
  static const char *schedulers[] = {"fifo", "round_robin", "strict_priority", "drr"};
  char text[4096];
  uint64_t size = 0;
  for (unsigned i = 0; i < sizeof limiters / sizeof *limiters; ++i) {
    for (unsigned j = 0; j < sizeof queues / sizeof *queues; ++j) {
      snprintf(text, sizeof text,
               "limiter.kind = \"%s\"\n[sdap.queue]\nlimit = \"200 packets\"\n%s\n[[qos_flow]]\n"
               "qfi = 9\n",
               limiters[i], queues[j]);
      gate(text, 1, &size);
    }
  }
  for (unsigned i = 0; i < sizeof schedulers / sizeof *schedulers; ++i) {
    int length = snprintf(text, sizeof text,
                          "limiter.kind = \"bdp_5g\"\nsdap.scheduler.kind = \"%s\"\n"
                          "sdap.pacer.kind = \"usp\"\nsdap.queue = { limit = \"64 packets\", "
                          "discipline = { kind = \"fq_codel\", lanes = 8 } }\n",
                          schedulers[i]);
    for (unsigned qfi = 0; qfi < 8; ++qfi) {
      length += snprintf(text + length, sizeof text - (size_t)length,
                         "[[qos_flow]]\nqfi = %u\npriority = %u\n", qfi, qfi);
    }
    gate(text, 8, &size);
  }
  if (size > 65536) {
    fprintf(stderr, "a UE with 8 QFIs takes %llu B\n", (unsigned long long)size);
    return 1;
  }
  pacer();
  eqp();
  rapid("none");
  rapid("equal_share");
  rapid("rapid");
  printf("no call allocated; a UE with 8 QFIs of 64 packets and 8 lanes takes %llu B\n",
         (unsigned long long)size);
  return 0;
}
