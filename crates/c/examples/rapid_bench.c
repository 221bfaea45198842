/* The load of crates/sim/examples/control_bench.rs through the library: rapid_bench --json KIND
 * STEPS. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "justfull.h"

enum { UES = 3, FLOWS = 12 };

static const uint64_t MS = 1000000;

static uint64_t state = 1, digest = 0;
static jf_rapid *control = NULL;
static uint64_t ues[UES], flows[FLOWS];

static void must(jf_status status) {
  if (status >= JF_OK) return;
  fprintf(stderr, "%s\n", jf_error_text(status));
  exit(1);
}

static uint64_t below(uint64_t bound) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (state >> 33) % bound;
}

static void changes(void) {
  jf_rapid_change change;
  if (control == NULL) return;
  while (jf_rapid_next_change(control, &change) == JF_OK) {
    const uint64_t words[] = {change.tag, change.server, change.radio, change.reading};
    for (int i = 0; i < 4; ++i) digest = digest * 31 + words[i];
  }
}

static void report(uint64_t now, uint64_t ue) {
  const uint64_t used = below(2001), blocks = below(used + 1);
  jf_cell_report cell = {0};
  jf_ue_report own = {0};
  cell.at = now;
  cell.slot = 500000;
  cell.offered = 2000;
  cell.used = used;
  cell.slots = 10;
  cell.active_ues = 3;
  cell.kind = JF_CELL_NR;
  cell.mcs_table = cell.layers = 2;
  cell.symbols = 13;
  cell.dmrs_res = 12;
  own.blocks = blocks;
  own.repeats = below(blocks / 10 + 1);
  own.bytes = below(100000);
  own.mcs = (uint8_t)(5 + below(22));
  own.backlog = below(20000);
  if (control != NULL) must(jf_rapid_on_report(control, now, ues[ue], &cell, &own));
  changes();
}

static void sample(uint64_t now, uint64_t flow) {
  const uint64_t arrived = below(40000);
  jf_rapid_sample sample = {0};
  sample.arrived = sample.delivered = arrived;
  sample.waiting = below(2) * 5000;
  sample.wired_rtt = 10 * MS;
  sample.radio_rtt = 5 * MS + below(20 * MS);
  if (control != NULL) must(jf_rapid_on_sample(control, now, flows[flow], &sample));
  changes();
}

static void timer(uint64_t now) {
  uint64_t due = 0;
  if (control == NULL) return;
  must(jf_rapid_next_timer(control, &due));
  if (due > now) return;
  must(jf_rapid_on_timer(control, now));
  changes();
}

static void make(const char *kind) {
  char settings[128];
  const jf_rapid_opening opening = {0, 10 * MS, 20 * MS, 1448, 52};
  if (strcmp(kind, "load") == 0) return;
  snprintf(settings, sizeof settings,
           "cells = 1\nues = 3\nflows = 12\nflows_of_ue = 4\ncontrol.kind = \"%s\"\n", kind);
  must(jf_rapid_create(settings, strlen(settings), &control, NULL));
  for (int i = 0; i < UES; ++i) must(jf_rapid_add_ue(control, 0, 0, &ues[i]));
  for (uint64_t tag = 0; tag < FLOWS; ++tag) {
    jf_rapid_opening own = opening;
    own.tag = tag;
    must(jf_rapid_open(control, 0, ues[tag % UES], &own, &flows[tag]));
  }
}

int main(int count, char **words) {
  if (count != 4) return 2;
  const uint64_t steps = strtoull(words[3], NULL, 10);
  make(words[2]);
  for (uint64_t step = 1; step <= steps; ++step) {
    const uint64_t now = step * MS;
    timer(now);
    if (step % 5 < UES) report(now, step % 5);
    for (uint64_t flow = 0; flow < FLOWS; ++flow) {
      if (step % 10 == flow % 10) sample(now, flow);
    }
  }
  must(jf_rapid_destroy(control));
  printf("%" PRIu64 "\n", digest);
  return 0;
}
