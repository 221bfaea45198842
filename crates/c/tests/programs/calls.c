/* Every function returns an error for every wrong call, and changes nothing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "justfull.h"

static const size_t HUGE_SIZE = (size_t)1 << 63;
static const uint64_t HUGE_AMOUNT = (uint64_t)1 << 63;

/* An RLC that counts, and calls back where a test sets it to. */
struct rlc {
  jf_view view;
  jf_gate *calls;
  jf_status heard;
  unsigned entered, dropped;
  uint8_t reason;
};

static void view(void *context, uint8_t drb, jf_view *out) {
  (void)drb;
  *out = ((struct rlc *)context)->view;
}

static bool enqueue(void *context, uint64_t now, uint8_t drb, const jf_packet *sdu) {
  struct rlc *rlc = context;
  (void)drb;
  rlc->entered += 1;
  rlc->view.packets += 1;
  rlc->view.bytes += sdu->size;
  if (rlc->calls != NULL) {
    rlc->heard = jf_gate_poll(rlc->calls, now, NULL);
    if (rlc->heard == JF_ERROR_BUSY) rlc->heard = jf_gate_destroy(rlc->calls);
  }
  return true;
}

static void dropped(void *context, uint64_t now, const jf_packet *packet, uint8_t reason) {
  struct rlc *rlc = context;
  (void)now;
  (void)packet;
  rlc->dropped += 1;
  rlc->reason = reason;
}

static jf_rlc functions(struct rlc *rlc) {
  const jf_rlc made = {rlc, view, enqueue, dropped};
  return made;
}

static const char *GATE =
    "unit = \"packets\"\ncapacity = 8\nlimiter = { kind = \"fixed\", limit = \"4 packets\" }\n"
    "sdap.queue.limit = \"unlimited\"\n[[qos_flow]]\nqfi = 9\n";

static jf_packet packet_of(uint32_t size) {
  jf_packet packet;
  memset(&packet, 0, sizeof packet);
  packet.size = size;
  return packet;
}

static void making(void) {
  struct rlc rlc = {0};
  const jf_rlc below = functions(&rlc);
  jf_rlc half = below;
  jf_gate *gate = NULL;
  jf_message message;
  size_t size = 0;
  half.view = NULL;
  IS(JF_ERROR_NULL, jf_gate_create(NULL, 5, &below, &gate, &message));
  IS(JF_ERROR_NULL, jf_gate_create(TEXT(GATE), NULL, &gate, &message));
  IS(JF_ERROR_NULL, jf_gate_create(TEXT(GATE), &half, &gate, &message));
  IS(JF_ERROR_NULL, jf_gate_create(TEXT(GATE), &below, NULL, &message));
  IS(JF_ERROR_SETTINGS, jf_gate_create(GATE, 0, &below, &gate, &message));
  HOLDS(strstr(message.text, "qos_flow") != NULL);
  IS(JF_ERROR_SETTINGS, jf_gate_create(GATE, HUGE_SIZE, &below, &gate, &message));
  IS(JF_ERROR_SETTINGS, jf_gate_create(TEXT("\xff\xfe"), &below, &gate, NULL));
  IS(JF_ERROR_SETTINGS, jf_gate_create(TEXT("mtu = 5\n[[qos_flow]]\nqfi = 9\n"), &below, &gate, &message));
  HOLDS(strcmp(message.text, "field `mtu`: found 5, allowed is 68 to 65535 (RFC 791 section 3.2)") == 0);
  IS(JF_ERROR_SETTINGS, jf_gate_create(TEXT("capacity = 9999999\n[[qos_flow]]\nqfi = 9\n"), &below, &gate, &message));
  HOLDS(strstr(message.text, "capacity") != NULL && gate == NULL);
  IS(JF_ERROR_SETTINGS,
     jf_gate_create(TEXT("limiter.kind = \"clairvoyant\"\n[[qos_flow]]\nqfi = 9\n"), &below, &gate, &message));
  IS(JF_ERROR_SETTINGS,
     jf_gate_create(TEXT("sdap.poll.period = \"1ms\"\n[[qos_flow]]\nqfi = 9\n"), &below, &gate, &message));

  IS(JF_ERROR_NULL, jf_gate_size(TEXT(GATE), NULL, &message));
  IS(JF_OK, jf_gate_size(TEXT(GATE), &size, &message));
  HOLDS(size > 0 && size < 65536 && size % JF_ALIGN == 0);
  char *memory = aligned_alloc(JF_ALIGN, size);
  HOLDS(memory != NULL);
  IS(JF_ERROR_NULL, jf_gate_init(NULL, size, TEXT(GATE), &below, &gate, &message));
  IS(JF_ERROR_MEMORY, jf_gate_init(memory + 8, size, TEXT(GATE), &below, &gate, &message));
  IS(JF_ERROR_MEMORY, jf_gate_init(memory, 0, TEXT(GATE), &below, &gate, &message));
  IS(JF_ERROR_MEMORY, jf_gate_init(memory, size - 1, TEXT(GATE), &below, &gate, &message));
  HOLDS(strstr(message.text, "needed are") != NULL && gate == NULL);
  IS(JF_OK, jf_gate_init(memory, size, TEXT(GATE), &below, &gate, &message));
  HOLDS((char *)gate == memory);
  const jf_packet packet = packet_of(100);
  IS(JF_OK, jf_gate_offer(gate, 1, 0, &packet));
  IS(JF_OK, jf_gate_poll(gate, 1, NULL));
  HOLDS(rlc.entered == 1);
  IS(JF_OK, jf_gate_destroy(gate));
  IS(JF_ERROR_HANDLE, jf_gate_destroy(gate));
  IS(JF_ERROR_HANDLE, jf_gate_poll(gate, 2, NULL));
  free(memory);
  IS(JF_OK, jf_gate_destroy(NULL));
}

static void calling(void) {
  struct rlc rlc = {0};
  const jf_rlc below = functions(&rlc);
  jf_gate *gate = NULL;
  jf_slot slot = {0};
  uint64_t number = 0;
  uint8_t flag = 0;
  jf_counts counts;
  jf_polled polled = {0, 0};
  jf_packet packet = packet_of(1500);
  IS(JF_OK, jf_gate_create(TEXT(GATE), &below, &gate, NULL));
  IS(JF_ERROR_NULL, jf_gate_offer(NULL, 1, 0, &packet));
  IS(JF_ERROR_NULL, jf_gate_offer(gate, 1, 0, NULL));
  IS(JF_ERROR_FLOW, jf_gate_offer(gate, 1, 1, &packet));
  IS(JF_ERROR_FLOW, jf_gate_offer(gate, 1, UINT32_MAX, &packet));
  packet.size = 0;
  IS(JF_ERROR_SIZE, jf_gate_offer(gate, 1, 0, &packet));
  packet.size = 1501;
  IS(JF_ERROR_SIZE, jf_gate_offer(gate, 1, 0, &packet));
  packet = packet_of(1500);
  packet.ecn = 4;
  IS(JF_ERROR_RANGE, jf_gate_offer(gate, 1, 0, &packet));
  packet.ecn = JF_ECT0;
  packet.protocol = 255;
  IS(JF_ERROR_RANGE, jf_gate_offer(gate, 1, 0, &packet));
  packet.protocol = JF_TCP;
  IS(JF_ERROR_TIME, jf_gate_offer(gate, HUGE_AMOUNT, 0, &packet));
  IS(JF_OK, jf_gate_offer(gate, 5, 0, &packet));
  IS(JF_ERROR_TIME, jf_gate_offer(gate, 4, 0, &packet));
  for (int i = 1; i < 8; ++i) IS(JF_OK, jf_gate_offer(gate, 5, 0, &packet));
  IS(JF_DROPPED, jf_gate_offer(gate, 5, 0, &packet));
  HOLDS(rlc.dropped == 1 && rlc.reason == JF_DROP_CAPACITY);
  IS(JF_ERROR_NULL, jf_gate_counts(gate, 0, NULL));
  IS(JF_ERROR_FLOW, jf_gate_counts(gate, 7, &counts));
  IS(JF_OK, jf_gate_counts(gate, 0, &counts));
  HOLDS(counts.arrived_packets == 8 && counts.waiting_packets == 8 && counts.waiting_bytes == 12000);

  rlc.calls = gate;
  IS(JF_OK, jf_gate_poll(gate, 6, &polled));
  HOLDS(polled.moved == 4 && polled.held == 1 && rlc.heard == JF_ERROR_BUSY);
  rlc.calls = NULL;
  IS(JF_OK, jf_gate_bypass(gate, 6, 0, &packet));
  HOLDS(rlc.entered == 5);
  IS(JF_ERROR_BEARER, jf_gate_bypass(gate, 6, 1, &packet));

  IS(JF_ERROR_NULL, jf_gate_on_slot(gate, 0, NULL));
  IS(JF_ERROR_RANGE, jf_gate_on_slot(gate, 0, &slot));
  slot.slot = 1000000;
  IS(JF_ERROR_BEARER, jf_gate_on_slot(gate, 1, &slot));
  IS(JF_ERROR_BEARER, jf_gate_on_slot(gate, 255, &slot));
  slot.granted = HUGE_AMOUNT;
  IS(JF_ERROR_RANGE, jf_gate_on_slot(gate, 0, &slot));
  slot.granted = 4;
  slot.pulled_at = 10;
  IS(JF_OK, jf_gate_on_slot(gate, 0, &slot));
  slot.pulled_at = 9;
  IS(JF_ERROR_TIME, jf_gate_on_slot(gate, 0, &slot));
  IS(JF_ERROR_RANGE, jf_gate_on_departed(gate, 10, 0, HUGE_AMOUNT));
  IS(JF_ERROR_BEARER, jf_gate_on_departed(gate, 10, 3, 1));
  IS(JF_OK, jf_gate_on_departed(gate, 10, 0, 4));
  IS(JF_ERROR_NULL, jf_gate_room(gate, 10, 0, NULL));
  IS(JF_ERROR_FLOW, jf_gate_room(gate, 10, 1, &number));
  IS(JF_OK, jf_gate_room(gate, 10, 0, &number));
  HOLDS(number == UINT64_MAX);
  IS(JF_ERROR_NULL, jf_gate_next_timeout(gate, NULL));
  IS(JF_OK, jf_gate_next_timeout(gate, &number));
  HOLDS(number == UINT64_MAX);
  IS(JF_OK, jf_gate_on_timeout(gate, 11));
  IS(JF_ERROR_NULL, jf_gate_paces(gate, NULL));
  IS(JF_OK, jf_gate_paces(gate, &flag));
  HOLDS(flag == 0);
  rlc.dropped = 0;
  IS(JF_OK, jf_gate_drain(gate, 12));
  HOLDS(rlc.dropped == 4 && rlc.reason == JF_DROP_DRAINED);
  IS(JF_ERROR_HANDLE, jf_queue_dequeue((jf_queue *)(void *)gate, 12, &packet));
  IS(JF_ERROR_HANDLE, jf_gate_poll((jf_gate *)(void *)((char *)gate + 8), 12, NULL));
  IS(JF_OK, jf_gate_destroy(gate));
}

static void queue(void) {
  jf_queue *queue = NULL;
  jf_packet packet = packet_of(1000), out;
  jf_message message;
  jf_counts counts;
  uint64_t at = 0;
  size_t size = 0;
  struct rlc rlc = {0};
  const char *settings = "queue.limit = \"2 packets\"\nqueue.aqm.kind = \"codel\"\n";
  IS(JF_ERROR_SETTINGS, jf_queue_create(TEXT("queue.limit = \"0 packets\""), NULL, NULL, &queue, &message));
  IS(JF_ERROR_SETTINGS, jf_queue_create(TEXT("queue.aqm.kind = \"blue\""), NULL, NULL, &queue, &message));
  HOLDS(strstr(message.text, "blue") != NULL);
  IS(JF_OK, jf_queue_size(TEXT(settings), &size, &message));
  HOLDS(size > 0);
  IS(JF_ERROR_NULL, jf_queue_init(NULL, size, TEXT(settings), NULL, NULL, &queue, &message));
  IS(JF_OK, jf_queue_create(TEXT(settings), &rlc, dropped, &queue, &message));
  IS(JF_EMPTY, jf_queue_dequeue(queue, 0, &out));
  IS(JF_EMPTY, jf_queue_peek(queue, &out));
  packet.id = 7;
  packet.content = 77;
  packet.user = 777;
  IS(JF_OK, jf_queue_enqueue(queue, 1, &packet));
  IS(JF_OK, jf_queue_enqueue(queue, 1, &packet));
  IS(JF_DROPPED, jf_queue_enqueue(queue, 1, &packet));
  HOLDS(rlc.reason == JF_DROP_OVERFLOW && rlc.dropped == 1);
  packet.size = JF_PACKET_MAX + 1;
  IS(JF_ERROR_SIZE, jf_queue_enqueue(queue, 1, &packet));
  IS(JF_ERROR_NULL, jf_queue_enqueue(queue, 1, NULL));
  IS(JF_ERROR_NULL, jf_queue_dequeue(queue, 1, NULL));
  IS(JF_OK, jf_queue_peek(queue, &out));
  IS(JF_OK, jf_queue_dequeue(queue, 2, &out));
  HOLDS(out.id == 7 && out.content == 77 && out.user == 777 && out.enqueued == 1 && out.size == 1000);
  IS(JF_OK, jf_queue_set_rate(queue, 1000000));
  IS(JF_OK, jf_queue_set_rate(queue, UINT64_MAX));
  IS(JF_ERROR_RANGE, jf_queue_set_rate(queue, HUGE_AMOUNT));
  IS(JF_OK, jf_queue_next_timeout(queue, &at));
  HOLDS(at == UINT64_MAX);
  IS(JF_OK, jf_queue_on_timeout(queue, 3));
  IS(JF_OK, jf_queue_counts(queue, &counts));
  HOLDS(counts.arrived_packets == 3 && counts.departed_packets == 1 && counts.dropped_bytes == 1000 &&
        counts.waiting_packets == 1);
  IS(JF_OK, jf_queue_destroy(queue));
  /* A flow whose packets wait for 60 ms is not steady, and a new flow is. */
  IS(JF_OK, jf_queue_create(TEXT("queue.discipline.kind = \"lanes\""), NULL, NULL, &queue, &message));
  IS(JF_ERROR_NULL, jf_queue_goes_before(queue, NULL));
  packet.size = 1500;
  for (at = 0; at <= 60000000; at += 60000000) IS(JF_OK, jf_queue_enqueue(queue, at, &packet));
  IS(JF_OK, jf_queue_dequeue(queue, at, &out));
  IS(JF_EMPTY, jf_queue_goes_before(queue, &out));
  packet.flow_hash = 7;
  IS(JF_OK, jf_queue_enqueue(queue, at, &packet));
  IS(JF_OK, jf_queue_goes_before(queue, &out));
  IS(JF_EMPTY, jf_queue_goes_before(queue, &packet));
  IS(JF_OK, jf_queue_destroy(queue));
}

static void parts(void) {
  jf_limiter *limiter = NULL;
  jf_pacer *pacer = NULL;
  jf_grants grants = {1000000, 1500, JF_PACKETS, {0, 0, 0}};
  jf_message message;
  jf_view view = {3, 3000};
  jf_slot slot = {10, 1000000, 4, 2, 1, 4, 0, {0}};
  jf_poll poll = {1, 2, UINT64_MAX};
  uint64_t number = 0;
  uint8_t flag = 0;
  size_t size = 0;
  const char *fixed = "kind = \"fixed\"\nlimit = \"10 packets\"\n";
  IS(JF_ERROR_NULL, jf_limiter_create(TEXT(fixed), NULL, &limiter, &message));
  IS(JF_ERROR_SETTINGS, jf_limiter_create(TEXT("kind = \"clairvoyant\""), &grants, &limiter, &message));
  grants.unit = 9;
  IS(JF_ERROR_SETTINGS, jf_limiter_create(TEXT(fixed), &grants, &limiter, &message));
  HOLDS(strstr(message.text, "`unit`") != NULL);
  grants.unit = JF_PACKETS;
  IS(JF_OK, jf_limiter_size(TEXT(fixed), &grants, &size, &message));
  IS(JF_OK, jf_limiter_create(TEXT(fixed), &grants, &limiter, &message));
  IS(JF_ERROR_NULL, jf_limiter_room(limiter, 1, NULL, &number));
  IS(JF_ERROR_NULL, jf_limiter_room(limiter, 1, &view, NULL));
  IS(JF_OK, jf_limiter_room(limiter, 1, &view, &number));
  HOLDS(number == 7);
  view.bytes = HUGE_AMOUNT;
  IS(JF_ERROR_RANGE, jf_limiter_room(limiter, 1, &view, &number));
  view.bytes = 3000;
  IS(JF_ERROR_TIME, jf_limiter_room(limiter, 0, &view, &number));
  IS(JF_OK, jf_limiter_overdraws(limiter, &flag));
  IS(JF_ERROR_RANGE, jf_limiter_on_admitted(limiter, 1, HUGE_AMOUNT, &view));
  IS(JF_OK, jf_limiter_on_admitted(limiter, 1, 1, &view));
  IS(JF_OK, jf_limiter_on_departed(limiter, 2, 1));
  IS(JF_OK, jf_limiter_on_slot(limiter, &slot));
  IS(JF_ERROR_HANDLE, jf_pacer_destroy((jf_pacer *)(void *)limiter));
  IS(JF_OK, jf_limiter_destroy(limiter));

  IS(JF_OK, jf_pacer_size(TEXT("kind = \"usp\""), &grants, &size, &message));
  IS(JF_ERROR_SETTINGS, jf_pacer_create(TEXT("kind = \"clairvoyant\""), &grants, &pacer, &message));
  IS(JF_OK, jf_pacer_create(TEXT("kind = \"usp\""), &grants, &pacer, &message));
  IS(JF_ERROR_NULL, jf_pacer_occupancy(pacer, 1, NULL));
  IS(JF_OK, jf_pacer_occupancy(pacer, 1, &number));
  HOLDS(number > 0);
  IS(JF_ERROR_RANGE, jf_pacer_on_enqueued(pacer, HUGE_AMOUNT));
  IS(JF_OK, jf_pacer_on_enqueued(pacer, 2));
  IS(JF_ERROR_NULL, jf_pacer_on_poll(pacer, 2, NULL));
  IS(JF_OK, jf_pacer_on_poll(pacer, 2, &poll));
  poll.moved = HUGE_AMOUNT;
  IS(JF_ERROR_RANGE, jf_pacer_on_poll(pacer, 3, &poll));
  IS(JF_OK, jf_pacer_destroy(pacer));
}

static void eqp(void) {
  const char *settings = "shares = [0.5, 0.5]\nrbs = 4\nues = 2\nbearers = 3\nsdus = 4\n";
  const uint32_t tbs[5] = {0, 100, 200, 300, 400}, falls[5] = {0, 100, 50, 300, 400};
  const uint32_t sizes[4] = {90, 100, 80, 1};
  jf_eqp *eqp = NULL;
  jf_message message;
  jf_eqp_ue ues[2] = {{tbs, 3, 1, 0, {0}}, {tbs, 5, 1, 1, {0}}};
  jf_eqp_bearer bearers[2] = {{190, 0, 2, 0, {0}}, {500, 7, 1, 4, {0}}};
  jf_eqp_demand demand = {ues, 2, bearers, 2, sizes, 3, 1, 4, 1, 0};
  jf_eqp_grant grants[2];
  uint32_t bytes[2];
  uint16_t withheld = 9;
  double quantum = 0;
  size_t size = 0;
  IS(JF_ERROR_SETTINGS, jf_eqp_create(TEXT("shares = []"), &eqp, &message));
  IS(JF_ERROR_SETTINGS, jf_eqp_create(TEXT("shares = [0.7, 0.7]"), &eqp, &message));
  HOLDS(strstr(message.text, "slice[1].share") != NULL);
  IS(JF_ERROR_SETTINGS, jf_eqp_create(TEXT("shares = [1.0]\nsdus = 0"), &eqp, &message));
  IS(JF_OK, jf_eqp_size(TEXT(settings), &size, &message));
  IS(JF_OK, jf_eqp_create(TEXT(settings), &eqp, &message));
  IS(JF_ERROR_NULL, jf_eqp_schedule(eqp, 1, NULL, grants, bytes, NULL));
  IS(JF_ERROR_NULL, jf_eqp_schedule(eqp, 1, &demand, NULL, bytes, NULL));
  demand.ues = NULL;
  IS(JF_ERROR_NULL, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  demand.ues = ues;
  demand.ues_length = HUGE_SIZE;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  demand.ues_length = 2;
  demand.sdus_length = 4;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  demand.sdus_length = 3;
  demand.unit = 0;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  demand.unit = 1;
  demand.rbs = 5;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  demand.rbs = 4;
  ues[1].ue = 3;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  ues[1].ue = 5;
  ues[1].slice = 2;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  ues[1].slice = 1;
  ues[1].tbs = falls;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  ues[1].tbs = NULL;
  IS(JF_ERROR_NULL, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  ues[1].tbs = tbs;
  bearers[0].backlog = 189;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  bearers[0].backlog = 190;
  bearers[0].sdus = UINT32_MAX;
  IS(JF_ERROR_RANGE, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, NULL));
  bearers[0].sdus = 2;
  IS(JF_OK, jf_eqp_schedule(eqp, 1, &demand, grants, bytes, &withheld));
  /* Three whole SDUs: 90 and 100 B in two blocks, 80 B in one; the last block to the one that
   * has more to send. */
  HOLDS(grants[0].rbs == 2 && grants[1].rbs == 2 && bytes[0] == 190 && bytes[1] == 200);
  HOLDS(withheld == 0);
  IS(JF_ERROR_RANGE, jf_eqp_quantum(eqp, 2, &quantum));
  IS(JF_ERROR_NULL, jf_eqp_quantum(eqp, 0, NULL));
  IS(JF_OK, jf_eqp_quantum(eqp, 0, &quantum));
  HOLDS(quantum > -0.001 && quantum < 0.001);
  demand.ues_length = demand.bearers_length = demand.sdus_length = 0;
  IS(JF_OK, jf_eqp_schedule(eqp, 2, &demand, NULL, NULL, NULL));
  IS(JF_ERROR_TIME, jf_eqp_schedule(eqp, 1, &demand, NULL, NULL, NULL));
  IS(JF_OK, jf_eqp_destroy(eqp));
}

int main(void) {
  for (int32_t status = -40; status < 40; ++status) HOLDS(strlen(jf_error_text(status)) > 3);
  HOLDS(jf_version()[0] != '\0');
  making();
  calling();
  queue();
  parts();
  eqp();
  puts("every call is answered");
  return 0;
}
