/* The least that a base station needs for justfull's gate: an RLC of one bearer, whose three
 * functions the gate calls, and the calls of each millisecond. Put your RLC in place of the ring.
 *
 * For 10 s 9.6 Mbit/s arrive at a radio of 14.4 and 7.2 Mbit/s in turn. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <justfull.h>

enum { PLACES = 1024, SLOT_NS = 1000000 };

struct rlc {
  jf_packet sdus[PLACES]; /* a ring */
  uint64_t entered[PLACES];
  uint32_t first, count;
  uint32_t sent; /* bytes of the first SDU */
  uint64_t bytes, most, delivered, dropped;
};

/* What the bearer has not sent yet, without headers. */
static void view(void *context, uint8_t drb, jf_view *view) {
  const struct rlc *rlc = context;
  (void)drb;
  view->packets = rlc->count;
  view->bytes = rlc->bytes;
}

/* An SDU leaves the gate. A real one is in sdu->content: if sdu->ecn is JF_CE, write it into the
 * IP header; then PDCP numbers and ciphers it. */
static bool enqueue(void *context, uint64_t now, uint8_t drb, const jf_packet *sdu) {
  struct rlc *rlc = context;
  (void)drb;
  if (rlc->count == PLACES) return false; /* it is gone: free sdu->content */
  const uint32_t at = (rlc->first + rlc->count) % PLACES;
  rlc->sdus[at] = *sdu;
  rlc->entered[at] = now;
  rlc->count += 1;
  rlc->bytes += sdu->size;
  if (rlc->bytes > rlc->most) rlc->most = rlc->bytes;
  return true;
}

/* The gate has dropped a packet, or gives it back when it is drained: free packet->content. */
static void dropped(void *context, uint64_t now, const jf_packet *packet, uint8_t reason) {
  struct rlc *rlc = context;
  (void)now, (void)packet, (void)reason;
  rlc->dropped += 1;
}

/* The MAC takes `grant` bytes, and reports to the gate. */
static jf_status pull(struct rlc *rlc, jf_gate *gate, uint64_t now, uint64_t grant) {
  uint64_t used = 0;
  while (used < grant && rlc->count > 0) {
    const jf_packet *sdu = &rlc->sdus[rlc->first];
    const uint64_t left = sdu->size - rlc->sent;
    const uint64_t part = left < grant - used ? left : grant - used;
    used += part;
    rlc->sent += (uint32_t)part;
    rlc->bytes -= part;
    if (rlc->sent < sdu->size) break;
    const jf_status status = jf_gate_on_departed(gate, now, 0, now - rlc->entered[rlc->first]);
    if (status < JF_OK) return status;
    rlc->delivered += sdu->size;
    rlc->first = (rlc->first + 1) % PLACES;
    rlc->count -= 1;
    rlc->sent = 0;
  }
  const jf_slot slot = {.pulled_at = now,
                        .slot = SLOT_NS,
                        .granted = grant,
                        .used = used,
                        .remaining = rlc->bytes,
                        .capacity = grant,
                        .starved = used < grant};
  return jf_gate_on_slot(gate, 0, &slot);
}

int main(void) {
  static const char settings[] =
      "unit = \"bytes\"\n"
      "slot = \"1ms\"\n"
      "limiter = { kind = \"bdp_5g\" }\n"
      "sdap.queue = { limit = \"1MB\", aqm = { kind = \"codel\" } }\n"
      "[[qos_flow]]\n"
      "qfi = 9\n";
  static struct rlc rlc;
  const jf_rlc below = {.context = &rlc, .view = view, .enqueue = enqueue, .dropped = dropped};
  jf_gate *gate = NULL;
  jf_message message;
  jf_status status = jf_gate_create(settings, strlen(settings), &below, &gate, &message);
  if (status < JF_OK) {
    fprintf(stderr, "rlc: %s: %s\n", jf_error_text(status), message.text);
    return 1;
  }
  for (uint64_t ms = 0; ms < 10000 && status >= JF_OK; ++ms) {
    const uint64_t now = ms * SLOT_NS;
    const jf_packet packet = {
        .id = ms, .size = 1200, .flow_hash = 7, .ecn = JF_ECT0, .protocol = JF_UDP};
    status = jf_gate_offer(gate, now, 0, &packet); /* JF_DROPPED is no error */
    if (status >= JF_OK) status = jf_gate_poll(gate, now, NULL);
    if (status >= JF_OK) status = pull(&rlc, gate, now, ms / 1000 % 2 == 0 ? 1800 : 900);
    if (status >= JF_OK) status = jf_gate_poll(gate, now, NULL);
  }
  jf_counts counts = {0};
  if (status >= JF_OK) status = jf_gate_counts(gate, 0, &counts);
  printf("delivered %" PRIu64 " B, marked %" PRIu64 ", dropped %" PRIu64
         "; at most %" PRIu64 " B in the RLC: %s\n",
         rlc.delivered, counts.marked_packets, rlc.dropped, rlc.most, jf_error_text(status));
  jf_gate_destroy(gate);
  return status < JF_OK;
}
