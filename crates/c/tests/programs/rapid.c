/* RAPID's control from C: decisions worked out by hand, and wrong calls, which give an error and
 * change nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "justfull.h"

#define MS UINT64_C(1000000)

static jf_rapid *control;
static jf_rapid_change windows;

/* The windows of the flow `tag` are `server` and `radio` segments of 1210 B, and nothing else has
 * changed. */
static void changed(uint64_t tag, uint64_t server, uint64_t radio, int line) {
  const jf_status status = jf_rapid_next_change(control, &windows);
  if (status != JF_OK || windows.tag != tag || windows.server != 1210 * server ||
      windows.radio != 1210 * radio || windows.reading != 1 ||
      jf_rapid_next_change(control, &windows) != JF_EMPTY) {
    fprintf(stderr, "line %d: status %d, flow %d: %d and %d B\n", line, (int)status,
            (int)windows.tag, (int)windows.server, (int)windows.radio);
    exit(1);
  }
}
#define CHANGED(tag, server, radio) changed(tag, server, radio, __LINE__)
#define UNCHANGED() IS(JF_EMPTY, jf_rapid_next_change(control, &windows))

/* A cell of 20 Mbit/s, of which nothing was used. */
static jf_cell_report cell_at(uint64_t at) {
  jf_cell_report cell;
  memset(&cell, 0, sizeof cell);
  cell.at = at;
  cell.slot = MS;
  cell.slots = 1;
  cell.offered = 2500;
  return cell;
}

static void making(void) {
  jf_message message;
  size_t size = 0;
  static _Alignas(JF_ALIGN) unsigned char block[1 << 16];
  IS(JF_ERROR_SETTINGS, jf_rapid_create(TEXT("cells = 0"), &control, &message));
  HOLDS(strstr(message.text, "`cells`") != NULL && control == NULL);
  IS(JF_ERROR_SETTINGS, jf_rapid_create(TEXT("control.kind = \"rabid\""), &control, &message));
  IS(JF_ERROR_SETTINGS, jf_rapid_create(TEXT("control.probe = 2.0"), &control, &message));
  IS(JF_ERROR_SETTINGS,
     jf_rapid_create(TEXT("control = { kind = \"rapid\", probe = 9.0 }"), &control, &message));
  HOLDS(strstr(message.text, "control.probe") != NULL);
  IS(JF_ERROR_NULL, jf_rapid_create(NULL, 0, &control, &message));
  IS(JF_ERROR_NULL, jf_rapid_create(TEXT(""), NULL, &message));
  IS(JF_OK, jf_rapid_size(TEXT("ues = 2\nflows = 3"), &size, &message));
  HOLDS(size <= sizeof block);
  IS(JF_ERROR_MEMORY,
     jf_rapid_init(block, size - 1, TEXT("ues = 2\nflows = 3"), &control, &message));
  IS(JF_OK, jf_rapid_init(block, size, TEXT("ues = 2\nflows = 3"), &control, &message));
  IS(JF_OK, jf_rapid_destroy(control));
  IS(JF_ERROR_HANDLE, jf_rapid_on_timer(control, 1));
  IS(JF_OK, jf_rapid_destroy(NULL));
  IS(JF_ERROR_NULL, jf_rapid_on_timer(NULL, 1));
}

static void calling(void) {
  const char *settings = "cells = 2\nues = 2\nflows = 3\nflows_of_ue = 2\n";
  jf_rapid_opening opening = {7, 10 * MS, 19 * MS, 1210, 40};
  jf_rapid_sample sample;
  jf_cell_report cell = cell_at(MS);
  jf_ue_report own;
  uint64_t ue = 0, other = 0, third = 0, flow = 0, second = 0, due = 0;
  double rate = 0;
  memset(&own, 0, sizeof own);
  memset(&sample, 0, sizeof sample);
  own.mcs = JF_MCS_NONE;
  IS(JF_OK, jf_rapid_create(TEXT(settings), &control, NULL));
  IS(JF_ERROR_CELL, jf_rapid_add_ue(control, 0, 2, &ue));
  IS(JF_ERROR_NULL, jf_rapid_add_ue(control, 0, 0, NULL));
  IS(JF_OK, jf_rapid_add_ue(control, 0, 0, &ue));
  IS(JF_OK, jf_rapid_add_ue(control, 0, 1, &other));
  IS(JF_ERROR_FULL, jf_rapid_add_ue(control, 0, 1, &third));
  HOLDS(ue != 0 && other != ue && third == 0);
  IS(JF_EMPTY, jf_rapid_capacity(control, ue, &rate));
  IS(JF_ERROR_UE, jf_rapid_capacity(control, 0, &rate));

  /* Reports. */
  IS(JF_ERROR_UE, jf_rapid_on_report(control, MS, 99, &cell, &own));
  IS(JF_ERROR_NULL, jf_rapid_on_report(control, MS, ue, NULL, &own));
  IS(JF_ERROR_NULL, jf_rapid_on_report(control, MS, ue, &cell, NULL));
  cell.kind = 3;
  IS(JF_ERROR_RANGE, jf_rapid_on_report(control, MS, ue, &cell, &own));
  cell.kind = JF_CELL_NR;
  IS(JF_ERROR_RANGE, jf_rapid_on_report(control, MS, ue, &cell, &own));
  cell.kind = JF_CELL_BYTES;
  cell.used = 2501;
  IS(JF_ERROR_RANGE, jf_rapid_on_report(control, MS, ue, &cell, &own));
  cell.used = 0;
  cell.at = UINT64_MAX;
  IS(JF_ERROR_RANGE, jf_rapid_on_report(control, MS, ue, &cell, &own));
  cell.at = MS;
  own.bytes = UINT64_MAX;
  IS(JF_ERROR_RANGE, jf_rapid_on_report(control, MS, ue, &cell, &own));
  own.bytes = 0;
  IS(JF_OK, jf_rapid_on_report(control, MS, ue, &cell, &own));
  IS(JF_ERROR_ORDER, jf_rapid_on_report(control, MS, ue, &cell, &own));

  /* Flows: 2 500 000 B/s in 10 ms and in 19 ms and a slot, in packets of 1250 B. */
  IS(JF_ERROR_UE, jf_rapid_open(control, 2 * MS, 0, &opening, &flow));
  IS(JF_ERROR_NULL, jf_rapid_open(control, 2 * MS, ue, NULL, &flow));
  IS(JF_ERROR_NULL, jf_rapid_open(control, 2 * MS, ue, &opening, NULL));
  opening.headers = 65000;
  IS(JF_ERROR_RANGE, jf_rapid_open(control, 2 * MS, ue, &opening, &flow));
  opening.headers = 40;
  opening.mss = 0;
  IS(JF_ERROR_RANGE, jf_rapid_open(control, 2 * MS, ue, &opening, &flow));
  opening.mss = 1210;
  opening.wired_rtt = UINT64_MAX;
  IS(JF_ERROR_RANGE, jf_rapid_open(control, 2 * MS, ue, &opening, &flow));
  opening.wired_rtt = 10 * MS;
  UNCHANGED();
  IS(JF_OK, jf_rapid_open(control, 2 * MS, ue, &opening, &flow));
  CHANGED(7, 20, 40);
  IS(JF_OK, jf_rapid_capacity(control, ue, &rate));
  HOLDS(rate > 2499999 && rate < 2500001);
  IS(JF_ERROR_TIME, jf_rapid_on_timer(control, MS));
  IS(JF_OK, jf_rapid_limit_ue(control, 2 * MS, ue, 1250000));
  CHANGED(7, 10, 20);
  IS(JF_ERROR_RANGE, jf_rapid_limit_ue(control, 2 * MS, ue, 0));
  IS(JF_OK, jf_rapid_limit_ue(control, 2 * MS, ue, UINT64_MAX));
  CHANGED(7, 20, 40);
  opening.tag = 8;
  IS(JF_OK, jf_rapid_open(control, 2 * MS, ue, &opening, &second));
  IS(JF_ERROR_FULL, jf_rapid_open(control, 2 * MS, ue, &opening, &third));
  for (int i = 0; i < 2; ++i) {
    IS(JF_OK, jf_rapid_next_change(control, &windows));
    HOLDS(windows.server == 10 * 1210 && windows.radio == 20 * 1210);
  }
  UNCHANGED();

  /* Samples. */
  IS(JF_ERROR_FLOW, jf_rapid_on_sample(control, 3 * MS, 0, &sample));
  IS(JF_ERROR_NULL, jf_rapid_on_sample(control, 3 * MS, flow, NULL));
  sample.held = 2;
  IS(JF_ERROR_RANGE, jf_rapid_on_sample(control, 3 * MS, flow, &sample));
  sample.held = 0;
  sample.arrived = UINT64_MAX;
  IS(JF_ERROR_RANGE, jf_rapid_on_sample(control, 3 * MS, flow, &sample));
  sample.arrived = 0;
  sample.radio_rtt = UINT64_MAX;
  IS(JF_ERROR_RANGE, jf_rapid_on_sample(control, 3 * MS, flow, &sample));
  sample.radio_rtt = 0;
  IS(JF_ERROR_FLOW, jf_rapid_hold(control, 12345));
  IS(JF_OK, jf_rapid_hold(control, second));
  IS(JF_OK, jf_rapid_on_sample(control, 3 * MS, flow, &sample));
  UNCHANGED();

  /* The end of a flow, a move, the end of a UE. */
  IS(JF_OK, jf_rapid_close(control, 4 * MS, second));
  CHANGED(7, 20, 40);
  IS(JF_ERROR_FLOW, jf_rapid_close(control, 4 * MS, second));
  IS(JF_ERROR_CELL, jf_rapid_move_ue(control, 5 * MS, ue, 2));
  IS(JF_ERROR_UE, jf_rapid_move_ue(control, 5 * MS, 0, 1));
  IS(JF_OK, jf_rapid_move_ue(control, 5 * MS, ue, 1));
  cell = cell_at(6 * MS);
  cell.offered = 1250;
  IS(JF_OK, jf_rapid_on_report(control, 6 * MS, ue, &cell, &own));
  CHANGED(7, 10, 20);

  /* Two handles of one UE: the flows of one handle join the flows of the other. */
  IS(JF_ERROR_UE, jf_rapid_merge_ues(control, 6 * MS, 0, ue));
  IS(JF_ERROR_UE, jf_rapid_merge_ues(control, 6 * MS, other, 0));
  IS(JF_OK, jf_rapid_merge_ues(control, 6 * MS, ue, ue));
  UNCHANGED();
  opening.tag = 9;
  IS(JF_OK, jf_rapid_open(control, 6 * MS, other, &opening, &second));
  while (jf_rapid_next_change(control, &windows) == JF_OK) {
  }
  IS(JF_OK, jf_rapid_merge_ues(control, 6 * MS, other, ue));
  IS(JF_ERROR_UE, jf_rapid_remove_ue(control, 6 * MS, other));
  for (int i = 0; i < 2; ++i) {
    IS(JF_OK, jf_rapid_next_change(control, &windows));
    HOLDS(windows.server == 5 * 1210 && windows.radio == 10 * 1210);
  }
  UNCHANGED();
  IS(JF_OK, jf_rapid_add_ue(control, 6 * MS, 1, &other));
  IS(JF_OK, jf_rapid_close(control, 6 * MS, second));
  CHANGED(7, 10, 20);
  IS(JF_ERROR_NULL, jf_rapid_next_timer(control, NULL));
  IS(JF_ERROR_NULL, jf_rapid_next_change(control, NULL));
  IS(JF_ERROR_NULL, jf_rapid_capacity(control, ue, NULL));
  IS(JF_OK, jf_rapid_next_timer(control, &due));
  HOLDS(due > 6 * MS && due < 100 * MS);
  IS(JF_OK, jf_rapid_on_timer(control, due));
  IS(JF_OK, jf_rapid_remove_ue(control, due, ue));
  IS(JF_ERROR_UE, jf_rapid_remove_ue(control, due, ue));
  IS(JF_ERROR_FLOW, jf_rapid_close(control, due, flow));
  IS(JF_OK, jf_rapid_destroy(control));
}

int main(void) {
  making();
  calling();
  puts("every call is answered");
  return 0;
}
