/* After an object is made, no call makes a system call: the kernel ends this program at the first
 * one but write and exit (seccomp's strict mode). */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "justfull.h"

static uint64_t entered, dropped_packets;
static jf_view held;

static void view(void *context, uint8_t drb, jf_view *out) {
  (void)context;
  (void)drb;
  *out = held;
}

static bool enqueue(void *context, uint64_t now, uint8_t drb, const jf_packet *sdu) {
  (void)context;
  (void)now;
  (void)drb;
  held.packets += 1;
  held.bytes += sdu->size;
  entered += 1;
  return true;
}

static void dropped(void *context, uint64_t now, const jf_packet *packet, uint8_t reason) {
  (void)context;
  (void)now;
  (void)packet;
  (void)reason;
  dropped_packets += 1;
}

static void end(const char *words, int status) {
  const ssize_t written = write(1, words, strlen(words));
  syscall(SYS_exit, status + (written < 0));
}

/* A UE with two flows, and a report each millisecond. */
static int rapid(jf_rapid *control) {
  const jf_rapid_opening opening = {1, 10000000, 20000000, 1448, 52};
  jf_cell_report cell = {0};
  jf_ue_report own = {0};
  jf_rapid_sample sample = {0};
  jf_rapid_change change;
  uint64_t ue = 0, flows[2] = {0, 0}, due = 0, changes = 0;
  int wrong = jf_rapid_add_ue(control, 0, 0, &ue) != JF_OK;
  cell.slot = 1000000;
  cell.slots = 1;
  cell.offered = 2500;
  for (uint64_t i = 1; i < 5000; ++i) {
    const uint64_t now = i * 1000000;
    if (i % 1000 == 1) {
      for (int j = 0; j < 2; ++j) wrong |= jf_rapid_open(control, now, ue, &opening, &flows[j]) != JF_OK;
    }
    cell.at = now;
    cell.offered = i % 100 < 50 ? 2500 : 1000;
    wrong |= jf_rapid_on_report(control, now, ue, &cell, &own) != JF_OK;
    sample.arrived = sample.delivered = i % 2 == 0 ? 12500 : 100;
    sample.wired_rtt = sample.radio_rtt = 10000000;
    if (i % 10 == 0) wrong |= jf_rapid_on_sample(control, now, flows[i / 10 % 2], &sample) != JF_OK;
    wrong |= jf_rapid_next_timer(control, &due) != JF_OK;
    wrong |= due <= now && jf_rapid_on_timer(control, now) != JF_OK;
    while (jf_rapid_next_change(control, &change) == JF_OK) changes += 1;
    if (i % 1000 == 0) {
      for (int j = 0; j < 2; ++j) wrong |= jf_rapid_close(control, now, flows[j]) != JF_OK;
    }
  }
  return wrong || changes < 100;
}

int main(void) {
  static const char settings[] =
      "limiter.kind = \"drql\"\n[sdap.queue]\nlimit = \"100 packets\"\n"
      "discipline.kind = \"fq_codel\"\n[[qos_flow]]\nqfi = 9\n";
  const jf_rlc rlc = {NULL, view, enqueue, dropped};
  jf_gate *gate = NULL;
  if (jf_gate_create(settings, sizeof settings - 1, &rlc, &gate, NULL) != JF_OK) return 1;
  jf_rapid *control = NULL;
  if (jf_rapid_create("", 0, &control, NULL) != JF_OK) return 1;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 1;
  int wrong = 0;
  for (uint64_t i = 1; i < 20000; ++i) {
    jf_packet packet = {0};
    packet.id = i;
    packet.size = 1400;
    packet.flow_hash = (uint32_t)(i % 5);
    wrong |= jf_gate_offer(gate, i * 1000000, 0, &packet) < JF_OK;
    wrong |= jf_gate_poll(gate, i * 1000000, NULL) != JF_OK;
    wrong |= jf_gate_offer(gate, i, 7, NULL) >= JF_OK;
    const uint64_t used = held.bytes < 1000 ? held.bytes : 1000;
    const jf_slot slot = {i * 1000000, 1000000, 1000, used, held.bytes - used, 1000, 0, {0}};
    held.bytes -= used;
    held.packets = (held.bytes + 1399) / 1400;
    wrong |= jf_gate_on_departed(gate, i * 1000000, 0, 1000) != JF_OK;
    wrong |= jf_gate_on_slot(gate, 0, &slot) != JF_OK;
  }
  wrong |= rapid(control);
  if (wrong || entered < 10000 || dropped_packets < 1000) end("nothing was at stake\n", 1);
  end("no system call\n", 0);
  return 0;
}
