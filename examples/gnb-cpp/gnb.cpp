// A base station of one UE and one bearer: justfull's gate above an RLC and a MAC of its own.
//
//   gnb SETTINGS SLOTS POLL_NS UNIT ARRIVALS    packets and slots from files; decisions to stdout
//   gnb SETTINGS SLOTS POLL_NS UNIT --tun NAME  packets from the TUN device NAME, in real time; one
//                                               line a second to stderr, until the slots end
//
// SETTINGS is TOML for the gate. SLOTS has a line `TIME AMOUNT` for each slot: when it is, in ns,
// and how much it carries, in UNIT (packets or bytes). ARRIVALS has a line
// `TIME FLOW ID SIZE ECN PROTOCOL HASH` for each packet. A decision is `TIME enters ID ECN` when a
// packet enters the RLC, or `TIME dropped ID REASON`.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "justfull.hpp"

namespace {

constexpr uint64_t kSlot = 1'000'000;

// A packet and what is left of it.
struct Sdu {
  jf_packet packet;
  uint64_t entered;
  uint32_t left;
};

// The RLC: a first-in-first-out queue that cuts SDUs at the end of a grant.
class Rlc {
 public:
  explicit Rlc(bool prints) : prints_(prints) {}

  jf_view view(uint8_t) { return {queue_.size(), bytes_}; }

  bool enqueue(uint64_t now, uint8_t, const jf_packet &sdu) {
    if (prints_) std::printf("%" PRIu64 " enters %" PRIu64 " %u\n", now, sdu.id, unsigned{sdu.ecn});
    queue_.push_back({sdu, now, sdu.size});
    bytes_ += sdu.size;
    return true;
  }

  void dropped(uint64_t now, const jf_packet &packet, uint8_t reason) {
    if (prints_) {
      std::printf("%" PRIu64 " dropped %" PRIu64 " %u\n", now, packet.id, unsigned{reason});
    }
    drops_ += 1;
  }

  // The MAC takes `grant` packets or bytes at `now`, and reports to the gate.
  void pull(uint64_t now, uint64_t grant, bool packets, jf::gate &gate) {
    uint64_t used = 0;
    while (used < grant && !queue_.empty()) {
      Sdu &sdu = queue_.front();
      const uint64_t part = packets ? sdu.left : std::min<uint64_t>(sdu.left, grant - used);
      used += packets ? 1 : part;
      bytes_ -= part;
      sdu.left -= static_cast<uint32_t>(part);
      if (sdu.left == 0) {
        check(gate.on_departed(now, 0, now - sdu.entered));
        delivered_ += sdu.packet.size;
        queue_.pop_front();
      }
    }
    jf_slot slot{};
    slot.pulled_at = now;
    slot.slot = kSlot;
    slot.granted = slot.capacity = grant;
    slot.used = used;
    slot.remaining = packets ? queue_.size() : bytes_;
    slot.starved = used < grant;
    check(gate.on_slot(0, slot));
  }

  static void check(jf_status status) {
    if (status < JF_OK) throw std::runtime_error(jf_error_text(status));
  }

  uint64_t delivered() const { return delivered_; }
  uint64_t drops() const { return drops_; }

 private:
  std::deque<Sdu> queue_;
  uint64_t bytes_ = 0, delivered_ = 0, drops_ = 0;
  bool prints_;
};

struct Slot {
  uint64_t at, amount;
};

// What happens at one instant: packets, timeouts of AQMs, SDAP's poll, the slot.
class Cell {
 public:
  Cell(jf::gate &gate, Rlc &rlc, std::vector<Slot> slots, uint64_t period, bool packets)
      : gate_(gate), rlc_(rlc), slots_(std::move(slots)), period_(period), packets_(packets) {}

  // Everything that is due before `now`, and at `now` too with `also`.
  void run(uint64_t now, bool also) {
    while (!ended()) {
      uint64_t timeout = UINT64_MAX;
      Rlc::check(jf_gate_next_timeout(gate_.get(), &timeout));
      const uint64_t at = std::min({timeout, poll_, slots_[next_].at});
      if (at > now || (at == now && !also)) return;
      if (timeout == at) {
        Rlc::check(gate_.on_timeout(at));
      } else if (poll_ == at) {
        Rlc::check(gate_.poll(at));
        poll_ += period_;
      } else {
        rlc_.pull(at, slots_[next_].amount, packets_, gate_);
        next_ += 1;
      }
    }
  }

  void arrive(uint64_t now, uint32_t flow, const jf_packet &packet) {
    run(now, false);
    Rlc::check(gate_.offer(now, flow, packet));
  }

  bool ended() const { return next_ == slots_.size(); }

 private:
  jf::gate &gate_;
  Rlc &rlc_;
  std::vector<Slot> slots_;
  uint64_t period_, poll_ = 0;
  size_t next_ = 0;
  bool packets_;
};

// A packet as a TUN device gives it, with a hash of its 5-tuple.
bool read_ip(const uint8_t *ip, size_t length, jf_packet &packet) {
  const bool v4 = length >= 20 && ip[0] >> 4 == 4, v6 = length >= 40 && ip[0] >> 4 == 6;
  if (!v4 && !v6) return false;
  const size_t header = v4 ? (ip[0] & 15U) * 4U : 40U;
  const uint8_t protocol = v4 ? ip[9] : ip[6];
  packet.ecn = v4 ? ip[1] & 3U : ip[1] >> 4 & 3U;
  packet.protocol = protocol == 6 ? JF_TCP : protocol == 17 ? JF_UDP : JF_OTHER;
  packet.size = static_cast<uint32_t>(length);
  uint32_t hash = 2166136261U ^ protocol;
  const auto mix = [&](size_t from, size_t to) {
    for (size_t i = from; i < to && i < length; ++i) hash = (hash ^ ip[i]) * 16777619U;
  };
  mix(v4 ? 12 : 8, v4 ? 20 : 40);
  if (packet.protocol != JF_OTHER) mix(header, header + 4);
  packet.flow_hash = hash;
  return true;
}

std::ifstream opened(const std::string &path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return file;
}

// Calls `row` for each line of a file; `row` reads the fields of `form`.
template <class Row>
void each_line(const std::string &path, const char *form, Row row) {
  std::ifstream file = opened(path);
  std::string line;
  for (unsigned number = 1; std::getline(file, line); ++number) {
    std::istringstream fields(line);
    if (!row(fields) || !(fields >> std::ws).eof()) {
      throw std::runtime_error(path + ", line " + std::to_string(number) + ": found \"" + line +
                               "\", allowed is " + form);
    }
  }
}

void from_file(const char *path, Cell &cell) {
  each_line(path, "TIME FLOW ID SIZE ECN PROTOCOL HASH", [&](std::istream &fields) {
    uint64_t at = 0;
    uint32_t flow = 0;
    unsigned ecn = 0, protocol = 0;
    jf_packet packet{};
    const bool whole = fields >> at >> flow >> packet.id >> packet.size >> ecn >> protocol >>
                           packet.flow_hash && ecn <= JF_CE && protocol <= JF_OTHER;
    packet.ecn = static_cast<uint8_t>(ecn);
    packet.protocol = static_cast<uint8_t>(protocol);
    if (whole) cell.arrive(at, flow, packet);
    return whole;
  });
  cell.run(UINT64_MAX, true);
}

uint64_t clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

void from_tun(const char *name, Cell &cell, const Rlc &rlc) {
  const int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (tun < 0 || ioctl(tun, TUNSETIFF, &request) < 0) throw std::runtime_error(std::strerror(errno));
  std::array<uint8_t, 65536> buffer{};
  const uint64_t start = clock_ns();
  uint64_t printed = 0;
  jf_packet packet{};
  while (!cell.ended()) {
    const uint64_t now = clock_ns() - start;
    const ssize_t length = read(tun, buffer.data(), buffer.size());
    if (length > 0 && read_ip(buffer.data(), static_cast<size_t>(length), packet)) {
      packet.id += 1;
      cell.arrive(now, 0, packet);
      continue;
    }
    cell.run(now, true);
    if (now / 1'000'000'000U > printed) {
      printed = now / 1'000'000'000U;
      std::fprintf(stderr, "%" PRIu64 " s: %" PRIu64 " B delivered, %" PRIu64 " dropped\n", printed,
                   rlc.delivered(), rlc.drops());
    }
    usleep(50);
  }
  close(tun);
}

std::string text_of(const char *path) {
  std::stringstream text;
  text << opened(path).rdbuf();
  return text.str();
}

std::vector<Slot> slots_of(const char *path) {
  std::vector<Slot> slots;
  each_line(path, "TIME AMOUNT", [&](std::istream &fields) {
    Slot slot{};
    const bool whole = static_cast<bool>(fields >> slot.at >> slot.amount);
    if (whole) slots.push_back(slot);
    return whole;
  });
  return slots;
}

uint64_t period_of(const char *word) {
  char *end = nullptr;
  const uint64_t period = std::strtoull(word, &end, 10);
  if (*end != '\0' || period == 0 || period > 1'000'000'000) {
    throw std::runtime_error(std::string("POLL_NS: found ") + word + ", allowed is 1 to 1000000000");
  }
  return period;
}

bool in_packets(const std::string &unit) {
  if (unit != "packets" && unit != "bytes") {
    throw std::runtime_error("UNIT: found " + unit + ", allowed are packets, bytes");
  }
  return unit == "packets";
}

}  // namespace

int main(int count, char **words) try {
  const bool live = count == 7 && std::string(words[5]) == "--tun";
  if (count != 6 && !live) {
    std::fprintf(stderr, "usage: gnb SETTINGS SLOTS POLL_NS UNIT (ARRIVALS | --tun NAME)\n");
    return 2;
  }
  Rlc rlc(!live);
  jf::gate gate(text_of(words[1]), rlc);
  Cell cell(gate, rlc, slots_of(words[2]), period_of(words[3]), in_packets(words[4]));
  if (live) {
    from_tun(words[6], cell, rlc);
  } else {
    from_file(words[5], cell);
  }
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "gnb: %s\n", error.what());
  return 2;
}
