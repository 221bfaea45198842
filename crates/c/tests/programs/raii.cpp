// Objects in C++ end with their scope, move, and give the reason if they were not made.
#include "justfull.hpp"

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

namespace {

void holds(bool condition, const char *words) {
  if (condition) return;
  std::fprintf(stderr, "%s does not hold\n", words);
  std::exit(1);
}

struct Rlc {
  std::vector<uint64_t> entered, dropped_ids;

  jf_view view(uint8_t) { return {entered.size(), 100 * entered.size()}; }
  bool enqueue(uint64_t, uint8_t, const jf_packet &sdu) {
    entered.push_back(sdu.id);
    return true;
  }
  void dropped(uint64_t, const jf_packet &packet, uint8_t) { dropped_ids.push_back(packet.id); }
};

constexpr const char *kSettings =
    "unit = \"packets\"\nlimiter = { kind = \"fixed\", limit = \"2 packets\" }\n"
    "sdap.queue.limit = \"3 packets\"\n[[qos_flow]]\nqfi = 1\n";

// A report of a cell of 20 Mbit/s, and a flow of 10 and 20 ms.
void rapid() {
  constexpr const char *settings = "ues = 1\nflows = 1\n";
  alignas(JF_ALIGN) static unsigned char block[16384];
  holds(jf::rapid::size(settings) <= sizeof block, "the block is large enough for a control");
  jf::rapid control(jf::memory{block, sizeof block}, settings);
  uint64_t ue = 0, flow = 0, due = 0;
  jf_cell_report cell{};
  jf_ue_report own{};
  cell.at = 1000000;
  cell.slot = 1000000;
  cell.slots = 1;
  cell.offered = 2500;
  jf_rapid_opening opening{};
  opening.mss = 1210;
  opening.headers = 40;
  opening.wired_rtt = 10000000;
  opening.radio_rtt = 19000000;
  jf_rapid_change change{};
  holds(control.add_ue(0, 0, ue) == JF_OK, "a UE appears");
  holds(control.on_report(1, ue, cell, own) == JF_OK, "a report is taken");
  holds(control.open(2, ue, opening, flow) == JF_OK, "a flow opens");
  holds(control.open(2, ue, opening, flow) == JF_ERROR_FULL, "a second one finds no room");
  holds(control.next_change(change) == JF_OK, "it has windows");
  holds(change.server == 20 * 1210 && change.radio == 40 * 1210, "of rate times round trip");
  holds(control.next_timer(due) == JF_OK && control.on_timer(due) == JF_OK, "a timer is due");
  holds(control.on_sample(due, flow, jf_rapid_sample{}) == JF_OK, "a sample is taken");
  holds(control.close(due, flow) == JF_OK && control.remove_ue(due, ue) == JF_OK, "all go");
}

}  // namespace

int main() {
  static_assert(!std::is_copy_constructible_v<jf::gate> && std::is_move_constructible_v<jf::gate>);
  Rlc rlc;
  jf::gate first(kSettings, rlc);
  jf::gate gate = std::move(first);
  jf_packet packet{};
  packet.size = 100;
  for (packet.id = 1; packet.id <= 4; ++packet.id) {
    const jf_status status = gate.offer(5, 0, packet);
    holds(status == (packet.id == 4 ? JF_DROPPED : JF_OK), "the fourth of three is dropped");
  }
  jf_polled polled{};
  holds(gate.poll(6, &polled) == JF_OK && polled.moved == 2, "two of three enter");
  holds(gate.drain(7) == JF_OK, "a gate drains");
  holds(rlc.entered == std::vector<uint64_t>{1, 2}, "in their order");
  holds(rlc.dropped_ids == std::vector<uint64_t>{4, 3}, "each packet comes back once");
  holds(first.poll(8) == JF_ERROR_NULL, "a gate that has moved is answered");

  alignas(JF_ALIGN) static unsigned char block[16384];
  holds(jf::gate::size(kSettings) <= sizeof block, "the block is large enough");
  jf::gate placed(jf::memory{block, sizeof block}, kSettings, rlc);
  holds(placed.offer(1, 0, packet) == JF_OK, "a gate works in the caller's memory");

  try {
    jf::limiter none("kind = \"fixed\"\nlimit = \"0 packets\"\n", jf_grants{1000000, 1500, JF_PACKETS, {}});
    holds(false, "wrong settings throw");
  } catch (const jf::error &error) {
    holds(error.status() == JF_ERROR_SETTINGS, "the error has the status");
    holds(std::string(error.what()).find("limit") != std::string::npos, "and names the field");
  }
  holds(!jf::version().empty(), "the library has a version");
  jf_counts counts{};
  uint64_t number = 0;
  uint8_t flag = 0;
  holds(placed.counts(0, counts) == JF_OK && counts.waiting_packets == 1, "a gate counts");
  holds(placed.room(1, 0, number) == JF_OK && placed.paces(flag) == JF_OK, "a gate has room");
  jf::queue queue("queue.aqm.kind = \"pie\"\n");
  holds(queue.enqueue(1, packet) == JF_OK && queue.dequeue(2, packet) == JF_OK, "a queue works");
  jf::pacer pacer("kind = \"usp\"", jf_grants{1000000, 1500, JF_BYTES, {}});
  uint64_t wanted = 0;
  holds(pacer.occupancy(1, wanted) == JF_OK && wanted > 0, "a pacer works");
  const jf_grants grants{1000000, 1500, JF_BYTES, {}};
  alignas(JF_ALIGN) static unsigned char place[4096];
  holds(jf::limiter::size("kind = \"drql\"", grants) <= sizeof place, "a limiter is small");
  jf::limiter limiter(jf::memory{place, sizeof place}, "kind = \"drql\"", grants);
  holds(limiter.room(1, jf_view{}, number) == JF_OK, "a limiter works in the caller's memory");
  holds(limiter.on_admitted(1, 1500, jf_view{1, 1500}) == JF_OK, "a limiter counts");
  jf::eqp eqp("shares = [1.0]");
  jf_eqp_demand nothing{};
  nothing.unit = 1;
  holds(eqp.schedule(1, nothing, nullptr, nullptr) == JF_OK, "EQP schedules an empty slot");
  rapid();
  std::puts("objects end with their scope");
  return 0;
}
