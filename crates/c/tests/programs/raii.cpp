// Objects in C++ end with their scope, move, and say why they were not made.
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
  jf::queue queue("queue.aqm.kind = \"pie\"\n");
  holds(queue.enqueue(1, packet) == JF_OK && queue.dequeue(2, packet) == JF_OK, "a queue works");
  jf::pacer pacer("kind = \"usp\"", jf_grants{1000000, 1500, JF_BYTES, {}});
  uint64_t wanted = 0;
  holds(jf_pacer_occupancy(pacer.get(), 1, &wanted) == JF_OK && wanted > 0, "a pacer works");
  jf::eqp eqp("shares = [1.0]");
  jf_eqp_demand nothing{};
  nothing.unit = 1;
  holds(eqp.schedule(1, nothing, nullptr, nullptr) == JF_OK, "EQP schedules an empty slot");
  std::puts("objects end with their scope");
  return 0;
}
