/* Reads golden vectors (docs/vectors.md) and compares the library's output with them: FILE... */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "justfull.h"

static const char *file_name;
static unsigned line_number;

static void differs(unsigned line, const char *what) {
  fprintf(stderr, "%s:%u: %s\n", file_name, line, what);
  exit(1);
}

static void must(jf_status status) {
  if (status < JF_OK) differs(line_number, jf_error_text(status));
}

/* Reads the numbers of a line into `out`; returns their number, or -1 if the line holds
 * anything else. */
static int numbers(const char *text, uint64_t *out, int most) {
  int count = 0;
  while (*text != '\0' && *text != '\n') {
    char *end = NULL;
    if (count == most) return -1;
    out[count++] = strtoull(text, &end, 10);
    if (end == text) return -1;
    text = end;
    while (*text == ' ') ++text;
  }
  return count;
}

/* Packets that the library has dropped and no line has named yet. */
static struct {
  uint64_t now, id;
  uint8_t reason;
} drops[4096];
static unsigned first_drop, last_drop;

static void dropped(void *context, uint64_t now, const jf_packet *packet, uint8_t reason) {
  (void)context;
  if (last_drop == 4096) differs(line_number, "too many drops");
  drops[last_drop].now = now;
  drops[last_drop].id = packet->id;
  drops[last_drop++].reason = reason;
}

/* The slot of EQP whose lines are read. */
static struct {
  jf_eqp_ue ues[16];
  jf_eqp_bearer bearers[64];
  uint32_t tbs[16][32], sdus[256];
  uint64_t units[16], rbs[16];
  unsigned lines[16];
  jf_eqp_demand demand;
  uint64_t now, withheld;
} slot_;

static struct {
  jf_limiter *limiter;
  jf_pacer *pacer;
  jf_queue *queue;
  jf_eqp *eqp;
  jf_rapid *rapid;
} object;

/* Handles by the numbers of a file. */
static uint64_t ues[8], flows[64];

static void limiter_line(const char *word, const uint64_t *n, int count) {
  const jf_view view = {n[1], n[2]}, entered = {n[2], n[3]};
  if (strcmp(word, "room") == 0 && count == 4) {
    uint64_t room = 0;
    must(jf_limiter_room(object.limiter, n[0], &view, &room));
    if (room != n[3]) differs(line_number, "another room");
  } else if (strcmp(word, "admitted") == 0 && count == 4) {
    must(jf_limiter_on_admitted(object.limiter, n[0], n[1], &entered));
  } else if (strcmp(word, "departed") == 0 && count == 2) {
    must(jf_limiter_on_departed(object.limiter, n[0], n[1]));
  } else if (strcmp(word, "slot") == 0 && count == 7) {
    const jf_slot slot = {n[0], n[1], n[2], n[3], n[4], n[5], n[6] != 0, {0}};
    must(jf_limiter_on_slot(object.limiter, &slot));
  } else {
    differs(line_number, "no line of a limiter");
  }
}

static void pacer_line(const char *word, const uint64_t *n, int count) {
  if (strcmp(word, "occupancy") == 0 && count == 2) {
    uint64_t occupancy = 0;
    must(jf_pacer_occupancy(object.pacer, n[0], &occupancy));
    if (occupancy != n[1]) differs(line_number, "another occupancy");
  } else if (strcmp(word, "enqueued") == 0 && count == 1) {
    must(jf_pacer_on_enqueued(object.pacer, n[0]));
  } else if (strcmp(word, "poll") == 0 && count == 4) {
    const jf_poll poll = {n[1], n[2], n[3]};
    must(jf_pacer_on_poll(object.pacer, n[0], &poll));
  } else {
    differs(line_number, "no line of a pacer");
  }
}

static void queue_line(const char *word, const uint64_t *n, int count) {
  jf_packet packet;
  memset(&packet, 0, sizeof packet);
  if (strcmp(word, "dropped") == 0 && count == 3) {
    if (first_drop == last_drop) differs(line_number, "nothing was dropped");
    const unsigned i = first_drop++;
    if (drops[i].now != n[0] || drops[i].id != n[1] || drops[i].reason != n[2]) {
      differs(line_number, "another drop");
    }
    return;
  }
  if (first_drop != last_drop) differs(line_number, "a packet was dropped before");
  first_drop = last_drop = 0;
  if (strcmp(word, "enqueue") == 0 && count == 7) {
    packet.id = n[1];
    packet.size = (uint32_t)n[2];
    packet.ecn = (uint8_t)n[3];
    packet.protocol = (uint8_t)n[4];
    packet.flow_hash = (uint32_t)n[5];
    const jf_status status = jf_queue_enqueue(object.queue, n[0], &packet);
    must(status);
    if ((uint64_t)status != n[6]) differs(line_number, "another fate");
  } else if (strcmp(word, "dequeue") == 0 && count == 3) {
    must(jf_queue_dequeue(object.queue, n[0], &packet));
    if (packet.id != n[1] || packet.ecn != n[2]) differs(line_number, "another packet");
  } else if (strcmp(word, "empty") == 0 && count == 1) {
    const jf_status status = jf_queue_dequeue(object.queue, n[0], &packet);
    if (status != JF_EMPTY) differs(line_number, "it is not empty");
  } else if (strcmp(word, "rate") == 0 && count == 1) {
    must(jf_queue_set_rate(object.queue, n[0]));
  } else if (strcmp(word, "timeout") == 0 && count == 1) {
    must(jf_queue_on_timeout(object.queue, n[0]));
  } else {
    differs(line_number, "no line of a queue");
  }
}

static void schedule(const uint64_t *bytes, int count) {
  jf_eqp_grant grants[16];
  uint32_t found[64];
  uint16_t withheld = 0;
  must(jf_eqp_schedule(object.eqp, slot_.now, &slot_.demand, grants, found, &withheld));
  for (size_t i = 0; i < slot_.demand.ues_length; ++i) {
    if (grants[i].units != slot_.units[i] || grants[i].rbs != slot_.rbs[i]) {
      differs(slot_.lines[i], "another grant");
    }
  }
  if ((size_t)count != slot_.demand.bearers_length) differs(line_number, "another number of bearers");
  for (int i = 0; i < count; ++i) {
    if (found[i] != bytes[i]) differs(line_number, "other bytes");
  }
  if (withheld != slot_.withheld) differs(line_number, "another number of blocks is withheld");
}

static void eqp_line(const char *word, const uint64_t *n, int count) {
  jf_eqp_demand *demand = &slot_.demand;
  if (strcmp(word, "slot") == 0 && count == 6) {
    memset(&slot_, 0, sizeof slot_);
    slot_.now = n[0];
    slot_.withheld = n[5];
    demand->slot = n[1];
    demand->rbs = (uint16_t)n[2];
    demand->unit = (uint16_t)n[3];
    demand->ues = slot_.ues;
    demand->bearers = slot_.bearers;
    demand->sdus = slot_.sdus;
  } else if (strcmp(word, "ue") == 0 && count == 6) {
    const size_t i = demand->ues_length++;
    slot_.lines[i] = line_number;
    slot_.units[i] = n[4];
    slot_.rbs[i] = n[5];
    slot_.ues[i].tbs = slot_.tbs[i];
    slot_.ues[i].ue = (uint32_t)n[0];
    slot_.ues[i].slice = (uint16_t)n[1];
    slot_.ues[i].bearers = (uint32_t)n[3];
    for (uint32_t rbs = 0; rbs <= demand->rbs; ++rbs) slot_.tbs[i][rbs] = rbs * (uint32_t)n[2];
  } else if (strcmp(word, "bearer") == 0 && count >= 4 && (uint64_t)count == 4 + n[3]) {
    jf_eqp_bearer *bearer = &slot_.bearers[demand->bearers_length++];
    bearer->drb = (uint8_t)n[0];
    bearer->backlog = n[1];
    bearer->head_of_line = n[2];
    bearer->sdus = (uint32_t)n[3];
    for (uint64_t i = 0; i < n[3]; ++i) slot_.sdus[demand->sdus_length++] = (uint32_t)n[4 + i];
  } else if (strcmp(word, "bytes") == 0) {
    schedule(n, count);
  } else {
    differs(line_number, "no line of EQP");
  }
}

static void report_line(const uint64_t *n) {
  jf_cell_report cell;
  jf_ue_report own;
  memset(&cell, 0, sizeof cell);
  memset(&own, 0, sizeof own);
  cell.at = n[2];
  cell.kind = (uint8_t)n[3];
  cell.mcs_table = (uint8_t)n[4];
  cell.layers = (uint8_t)n[5];
  cell.symbols = (uint8_t)n[6];
  cell.dmrs_res = (uint8_t)n[7];
  cell.slot = n[8];
  cell.slots = (uint32_t)n[9];
  cell.offered = n[10];
  cell.used = n[11];
  cell.active_ues = (uint32_t)n[12];
  own.blocks = n[13];
  own.repeats = n[14];
  own.bytes = n[15];
  own.mcs = (uint8_t)n[16];
  own.backlog = n[17];
  must(jf_rapid_on_report(object.rapid, n[0], ues[n[1] % 8], &cell, &own));
}

static void rapid_line(const char *word, const uint64_t *n, int count) {
  jf_rapid_change change;
  const jf_status status = jf_rapid_next_change(object.rapid, &change);
  must(status);
  if (strcmp(word, "windows") == 0 && count == 4) {
    if (status == JF_EMPTY || change.tag != n[0] || change.server != n[1] || change.radio != n[2] ||
        change.reading != n[3]) {
      differs(line_number, "other windows");
    }
    return;
  }
  if (status != JF_EMPTY) differs(line_number, "windows have changed before");
  if (strcmp(word, "ue") == 0 && count == 3) {
    must(jf_rapid_add_ue(object.rapid, n[0], (uint32_t)n[2], &ues[n[1] % 8]));
  } else if (strcmp(word, "open") == 0 && count == 7) {
    const jf_rapid_opening opening = {n[1], n[5], n[6], (uint32_t)n[3], (uint32_t)n[4]};
    must(jf_rapid_open(object.rapid, n[0], ues[n[2] % 8], &opening, &flows[n[1] % 64]));
  } else if (strcmp(word, "close") == 0 && count == 2) {
    must(jf_rapid_close(object.rapid, n[0], flows[n[1] % 64]));
  } else if (strcmp(word, "move") == 0 && count == 3) {
    must(jf_rapid_move_ue(object.rapid, n[0], ues[n[1] % 8], (uint32_t)n[2]));
  } else if (strcmp(word, "limit") == 0 && count == 3) {
    must(jf_rapid_limit_ue(object.rapid, n[0], ues[n[1] % 8], n[2]));
  } else if (strcmp(word, "sample") == 0 && count == 9) {
    const jf_rapid_sample sample = {n[2], n[3], n[4], n[5], n[6], n[7], (uint8_t)n[8], {0}};
    must(jf_rapid_on_sample(object.rapid, n[0], flows[n[1] % 64], &sample));
  } else if (strcmp(word, "report") == 0 && count == 18) {
    report_line(n);
  } else if (strcmp(word, "timer") == 0 && count == 1) {
    must(jf_rapid_on_timer(object.rapid, n[0]));
  } else if (strcmp(word, "end") != 0) {
    differs(line_number, "no line of RAPID");
  }
}

/* Makes the object of `kind`; the line `grants` is next for some. */
static void make(const char *kind, const char *settings, const jf_grants *grants) {
  jf_message message;
  const size_t length = strlen(settings);
  jf_status made = JF_ERROR_RANGE;
  message.text[0] = '\0';
  if (strcmp(kind, "limiter") == 0) {
    made = jf_limiter_create(settings, length, grants, &object.limiter, &message);
  } else if (strcmp(kind, "pacer") == 0) {
    made = jf_pacer_create(settings, length, grants, &object.pacer, &message);
  } else if (strcmp(kind, "queue") == 0) {
    made = jf_queue_create(settings, length, NULL, dropped, &object.queue, &message);
  } else if (strcmp(kind, "eqp") == 0) {
    made = jf_eqp_create(settings, length, &object.eqp, &message);
  } else if (strcmp(kind, "rapid") == 0) {
    made = jf_rapid_create(settings, length, &object.rapid, &message);
  }
  if (made != JF_OK) differs(line_number, message.text);
}

static void read_file(FILE *file) {
  static char line[8192], settings[8192];
  char kind[32], unit[32], word[32];
  jf_grants grants = {0, 0, 0, {0, 0, 0}};
  uint64_t n[64];
  int made = 0, ended = 0, start = 0;
  unsigned mtu = 0;
  settings[0] = '\0';
  memset(&object, 0, sizeof object);
  first_drop = last_drop = 0;
  if (fgets(line, sizeof line, file) == NULL ||
      sscanf(line, "justfull-vectors 1 %31s", kind) != 1) {
    differs(1, "no vectors");
  }
  for (line_number = 2; !ended && fgets(line, sizeof line, file) != NULL; ++line_number) {
    if (line[0] == '|') {
      strcat(settings, line + 1);
      continue;
    }
    if (sscanf(line, "grants %31s %" SCNu64 " %u", unit, &grants.slot, &mtu) == 3) {
      grants.mtu = mtu;
      grants.unit = strcmp(unit, "bytes") == 0 ? JF_BYTES : JF_PACKETS;
      continue;
    }
    if (!made) make(kind, settings, &grants);
    made = 1;
    if (sscanf(line, "%31s %n", word, &start) != 1) differs(line_number, "an empty line");
    ended = strcmp(word, "end") == 0;
    memset(n, 0, sizeof n);
    if (object.rapid != NULL && ended) rapid_line(word, n, 0);
    if (ended) break;
    const int count = numbers(line + start, n, 64);
    if (object.limiter != NULL) limiter_line(word, n, count);
    if (object.pacer != NULL) pacer_line(word, n, count);
    if (object.queue != NULL) queue_line(word, n, count);
    if (object.eqp != NULL) eqp_line(word, n, count);
    if (object.rapid != NULL) rapid_line(word, n, count);
  }
  if (!ended || first_drop != last_drop) differs(line_number, "it ends too early");
  must(jf_limiter_destroy(object.limiter));
  must(jf_pacer_destroy(object.pacer));
  must(jf_queue_destroy(object.queue));
  must(jf_eqp_destroy(object.eqp));
  must(jf_rapid_destroy(object.rapid));
}

int main(int count, char **names) {
  for (int i = 1; i < count; ++i) {
    file_name = names[i];
    line_number = 1;
    FILE *file = fopen(file_name, "r");
    if (file == NULL) differs(0, "cannot be read");
    read_file(file);
    fclose(file);
  }
  printf("%d files agree\n", count - 1);
  return 0;
}
