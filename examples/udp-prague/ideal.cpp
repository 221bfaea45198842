// The congestion control of udp_prague (L4STeam/udp_prague, e8e3435) over an ideal path: each
// packet is marked with a probability, none is lost, nothing is late, and the clock is simulated.
// The sender's loop is that of udp_prague_sender.cpp without its waits.
//
//   git clone https://github.com/L4STeam/udp_prague
//   g++ -O2 -I udp_prague -o ideal examples/udp-prague/ideal.cpp udp_prague/prague_cc.cpp
//   ./ideal 0.1 25            mean goodput of 100 runs of 40 s at p = 0.1 and 25 ms
//   ./ideal 0.1 25 20 60      the same from 20 to 60 s
//   ./ideal 0.1 25 0 5 trace  each acknowledgement of the first run
//
// An RTT of 0 stands for that of a loopback, 0.2 ms. A line of the trace has, in microseconds and
// bytes: when the acknowledgement comes, when its packet left, 1 if it was marked, the smoothed
// RTT; and after it the rate in bytes a second, the window in packets and the size of a packet.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "prague_cc.h"

static int64_t clock_us;

struct Control : PragueCC {
  time_tp Now() override { return time_tp(clock_us); }
};

struct Packet {
  int64_t arrival, sent;
  time_tp timestamp, echo;
  count_tp number;
  size_tp size;
};

struct Answer {
  int64_t arrival, sent;
  time_tp timestamp, echo;
  count_tp received, marked, lost;
  bool error, ce;
};

struct Run {
  double p;
  int64_t rtt, from, to;
  bool trace;
  std::mt19937_64 chance;
  Control sender, receiver;
  std::deque<Packet> forward;
  std::deque<Answer> back;
  double delivered = 0;

  Run(double p, int64_t rtt, int64_t from, int64_t to, bool trace, unsigned seed)
      : p(p), rtt(rtt), from(from), to(to), trace(trace), chance(seed) {}

  // The receiver answers each packet that arrives by `limit`.
  void receive(int64_t limit) {
    for (; !forward.empty() && forward.front().arrival <= limit; forward.pop_front()) {
      const Packet &packet = forward.front();
      const int64_t now = clock_us;
      clock_us = packet.arrival;
      if (clock_us >= from && clock_us < to)
        delivered += double(packet.size);
      const bool ce = std::uniform_real_distribution<double>(0, 1)(chance) < p;
      receiver.PacketReceived(packet.timestamp, packet.echo);
      receiver.DataReceivedSequence(ce ? ecn_ce : ecn_l4s_id, packet.number);
      Answer answer;
      ecn_tp ecn;
      receiver.GetTimeInfo(answer.timestamp, answer.echo, ecn);
      receiver.GetACKInfo(answer.received, answer.marked, answer.lost, answer.error);
      answer.arrival = packet.arrival + rtt - rtt / 2;
      answer.sent = packet.sent;
      answer.ce = ce;
      back.push_back(answer);
      clock_us = now;
    }
  }

  void print(const Answer &answer, count_tp window) {
    const PragueState *state = sender.GetStatePtr();
    std::printf("%lld %lld %d %d %llu %d %llu\n", (long long)clock_us, (long long)answer.sent,
                answer.ce, state->m_srtt, (unsigned long long)state->m_pacing_rate, window,
                (unsigned long long)state->m_packet_size);
  }

  // Goodput in Mbit/s.
  double goodput() {
    clock_us = 1;
    time_tp next = time_tp(clock_us);
    count_tp number = 0, in_flight = 0, window, burst;
    rate_tp rate;
    size_tp size;
    sender.GetCCInfo(rate, window, burst, size);
    while (clock_us < to) {
      const time_tp now = time_tp(clock_us);
      count_tp sent = 0;
      while (in_flight < window && sent < burst && next - now <= 0) {
        Packet packet;
        ecn_tp ecn;
        sender.GetTimeInfo(packet.timestamp, packet.echo, ecn);
        packet.number = ++number;
        packet.size = size;
        packet.sent = clock_us;
        packet.arrival = clock_us + rtt / 2;
        forward.push_back(packet);
        sent++;
        in_flight++;
      }
      if (sent > 0)
        next = time_tp(now + size * sent * 1000000 / rate);
      // Waits for the next packet's time, or only for an answer if the window is full.
      int64_t limit = clock_us + (in_flight >= window ? 1000000 : next - now > 0 ? next - now : 1);
      receive(limit);
      if (back.empty() || back.front().arrival > limit) {
        clock_us = limit;
        continue;
      }
      const Answer answer = back.front();
      back.pop_front();
      if (answer.arrival > clock_us)
        clock_us = answer.arrival;
      sender.PacketReceived(answer.timestamp, answer.echo);
      sender.ACKReceived(answer.received, answer.marked, answer.lost, number, answer.error,
                         in_flight);
      sender.GetCCInfo(rate, window, burst, size);
      if (trace)
        print(answer, window);
    }
    return delivered * 8 / double(to - from);
  }
};

int main(int count, char **words) {
  if (count < 3 || count == 4) {
    std::fprintf(stderr, "usage: ideal PROBABILITY RTT_MS [FROM_S TO_S [trace]]\n");
    return 2;
  }
  const double p = std::atof(words[1]);
  const int64_t rtt = std::atoll(words[2]) > 0 ? std::atoll(words[2]) * 1000 : 200;
  const int64_t from = count > 4 ? std::atoll(words[3]) * 1000000 : 0;
  const int64_t to = count > 4 ? std::atoll(words[4]) * 1000000 : 40000000;
  if (count > 5)
    return Run(p, rtt, from, to, true, 1).goodput() > 0 ? 0 : 1;
  const int runs = 100;
  double sum = 0, squares = 0;
  for (int seed = 1; seed <= runs; seed++) {
    const double goodput = Run(p, rtt, from, to, false, seed).goodput();
    sum += goodput;
    squares += goodput * goodput;
  }
  const double mean = sum / runs;
  // Half of the 95 % interval of a hundred runs: t = 1.984.
  const double half = 1.984 * std::sqrt((squares - sum * mean) / (runs - 1) / runs);
  std::printf("p = %g, RTT %g ms: %.3f +- %.3f Mbit/s\n", p, double(rtt) / 1000, mean, half);
  return 0;
}
