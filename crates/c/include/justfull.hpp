// The C library of justfull in C++17: objects that end with their scope. A constructor throws
// jf::error with the reason; every other call returns a jf_status, as in C.
#ifndef JUSTFULL_HPP
#define JUSTFULL_HPP

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "justfull.h"

namespace jf {

// The version of the library, such as "0.1.0".
inline std::string_view version() noexcept { return jf_version(); }

// Why an object was not made.
class error : public std::runtime_error {
 public:
  error(jf_status status, const jf_message &message)
      : std::runtime_error(words(status, message)), status_(status) {}

  jf_status status() const noexcept { return status_; }

 private:
  static std::string words(jf_status status, const jf_message &message) {
    const std::string text = jf_error_text(status);
    return message.text[0] == '\0' ? text : text + ": " + message.text;
  }

  jf_status status_;
};

// The caller's memory for an object: `size` bytes at a multiple of JF_ALIGN.
struct memory {
  void *at;
  size_t size;
};

namespace detail {

template <class Handle, jf_status (*Destroy)(Handle *)>
struct ended {
  void operator()(Handle *handle) const noexcept { (void)Destroy(handle); }
};

template <class Handle, jf_status (*Destroy)(Handle *)>
using owned = std::unique_ptr<Handle, ended<Handle, Destroy>>;

// The handle that `make` writes.
template <class Handle, class Make>
Handle *made(Make make) {
  jf_message message{};
  Handle *handle = nullptr;
  const jf_status status = make(&handle, &message);
  if (status != JF_OK) throw error(status, message);
  return handle;
}

template <class Size>
size_t sized(Size size) {
  jf_message message{};
  size_t bytes = 0;
  const jf_status status = size(&bytes, &message);
  if (status != JF_OK) throw error(status, message);
  return bytes;
}

}  // namespace detail

// The functions of an RLC with
//   jf_view view(uint8_t drb);
//   bool enqueue(uint64_t now, uint8_t drb, const jf_packet &sdu);
//   void dropped(uint64_t now, const jf_packet &packet, uint8_t reason);
// none of which may throw.
template <class Rlc>
jf_rlc functions(Rlc &rlc) noexcept {
  jf_rlc made{};
  made.context = &rlc;
  made.view = [](void *context, uint8_t drb, jf_view *view) noexcept {
    *view = static_cast<Rlc *>(context)->view(drb);
  };
  made.enqueue = [](void *context, uint64_t now, uint8_t drb, const jf_packet *sdu) noexcept {
    return static_cast<Rlc *>(context)->enqueue(now, drb, *sdu);
  };
  made.dropped = [](void *context, uint64_t now, const jf_packet *packet, uint8_t reason) noexcept {
    static_cast<Rlc *>(context)->dropped(now, *packet, reason);
  };
  return made;
}

// The queues of one UE above its RLC, which must live longer.
class gate {
 public:
  template <class Rlc>
  gate(std::string_view settings, Rlc &rlc)
      : handle_(detail::made<jf_gate>([&](jf_gate **out, jf_message *message) {
          const jf_rlc below = functions(rlc);
          return jf_gate_create(settings.data(), settings.size(), &below, out, message);
        })) {}

  template <class Rlc>
  gate(memory place, std::string_view settings, Rlc &rlc)
      : handle_(detail::made<jf_gate>([&](jf_gate **out, jf_message *message) {
          const jf_rlc below = functions(rlc);
          return jf_gate_init(place.at, place.size, settings.data(), settings.size(), &below, out,
                              message);
        })) {}

  static size_t size(std::string_view settings) {
    return detail::sized([&](size_t *bytes, jf_message *message) {
      return jf_gate_size(settings.data(), settings.size(), bytes, message);
    });
  }

  jf_status offer(uint64_t now, uint32_t flow, const jf_packet &packet) noexcept {
    return jf_gate_offer(handle_.get(), now, flow, &packet);
  }
  jf_status poll(uint64_t now, jf_polled *polled = nullptr) noexcept {
    return jf_gate_poll(handle_.get(), now, polled);
  }
  jf_status bypass(uint64_t now, uint8_t drb, const jf_packet &sdu) noexcept {
    return jf_gate_bypass(handle_.get(), now, drb, &sdu);
  }
  jf_status on_slot(uint8_t drb, const jf_slot &slot) noexcept {
    return jf_gate_on_slot(handle_.get(), drb, &slot);
  }
  jf_status on_departed(uint64_t now, uint8_t drb, uint64_t sojourn) noexcept {
    return jf_gate_on_departed(handle_.get(), now, drb, sojourn);
  }
  jf_status on_timeout(uint64_t now) noexcept { return jf_gate_on_timeout(handle_.get(), now); }
  jf_status next_timeout(uint64_t &at) noexcept {
    return jf_gate_next_timeout(handle_.get(), &at);
  }
  jf_status room(uint64_t now, uint32_t flow, uint64_t &room) noexcept {
    return jf_gate_room(handle_.get(), now, flow, &room);
  }
  jf_status paces(uint8_t &paces) noexcept { return jf_gate_paces(handle_.get(), &paces); }
  jf_status counts(uint32_t flow, jf_counts &counts) noexcept {
    return jf_gate_counts(handle_.get(), flow, &counts);
  }
  jf_status drain(uint64_t now) noexcept { return jf_gate_drain(handle_.get(), now); }
  jf_gate *get() const noexcept { return handle_.get(); }

 private:
  detail::owned<jf_gate, jf_gate_destroy> handle_;
};

// A queue with its AQM and lanes. `dropped` may be null.
class queue {
 public:
  explicit queue(std::string_view settings, void *context = nullptr, jf_dropped dropped = nullptr)
      : handle_(detail::made<jf_queue>([&](jf_queue **out, jf_message *message) {
          return jf_queue_create(settings.data(), settings.size(), context, dropped, out, message);
        })) {}

  queue(memory place, std::string_view settings, void *context = nullptr,
        jf_dropped dropped = nullptr)
      : handle_(detail::made<jf_queue>([&](jf_queue **out, jf_message *message) {
          return jf_queue_init(place.at, place.size, settings.data(), settings.size(), context,
                               dropped, out, message);
        })) {}

  static size_t size(std::string_view settings) {
    return detail::sized([&](size_t *bytes, jf_message *message) {
      return jf_queue_size(settings.data(), settings.size(), bytes, message);
    });
  }

  jf_status enqueue(uint64_t now, const jf_packet &packet) noexcept {
    return jf_queue_enqueue(handle_.get(), now, &packet);
  }
  jf_status dequeue(uint64_t now, jf_packet &packet) noexcept {
    return jf_queue_dequeue(handle_.get(), now, &packet);
  }
  jf_status peek(jf_packet &packet) noexcept { return jf_queue_peek(handle_.get(), &packet); }
  jf_status goes_before(const jf_packet &begun) noexcept {
    return jf_queue_goes_before(handle_.get(), &begun);
  }
  jf_status set_rate(uint64_t bits_per_second) noexcept {
    return jf_queue_set_rate(handle_.get(), bits_per_second);
  }
  jf_status next_timeout(uint64_t &at) noexcept {
    return jf_queue_next_timeout(handle_.get(), &at);
  }
  jf_status on_timeout(uint64_t now) noexcept { return jf_queue_on_timeout(handle_.get(), now); }
  jf_status counts(jf_counts &counts) noexcept { return jf_queue_counts(handle_.get(), &counts); }
  jf_queue *get() const noexcept { return handle_.get(); }

 private:
  detail::owned<jf_queue, jf_queue_destroy> handle_;
};

// The limiter of one bearer.
class limiter {
 public:
  limiter(std::string_view settings, const jf_grants &grants)
      : handle_(detail::made<jf_limiter>([&](jf_limiter **out, jf_message *message) {
          return jf_limiter_create(settings.data(), settings.size(), &grants, out, message);
        })) {}

  limiter(memory place, std::string_view settings, const jf_grants &grants)
      : handle_(detail::made<jf_limiter>([&](jf_limiter **out, jf_message *message) {
          return jf_limiter_init(place.at, place.size, settings.data(), settings.size(), &grants, out,
                            message);
        })) {}

  static size_t size(std::string_view settings, const jf_grants &grants) {
    return detail::sized([&](size_t *bytes, jf_message *message) {
      return jf_limiter_size(settings.data(), settings.size(), &grants, bytes, message);
    });
  }

  jf_status room(uint64_t now, const jf_view &view, uint64_t &room) noexcept {
    return jf_limiter_room(handle_.get(), now, &view, &room);
  }
  jf_status overdraws(uint8_t &overdraws) noexcept {
    return jf_limiter_overdraws(handle_.get(), &overdraws);
  }
  jf_status on_admitted(uint64_t now, uint64_t used, const jf_view &view) noexcept {
    return jf_limiter_on_admitted(handle_.get(), now, used, &view);
  }
  jf_status on_departed(uint64_t now, uint64_t sojourn) noexcept {
    return jf_limiter_on_departed(handle_.get(), now, sojourn);
  }
  jf_status on_slot(const jf_slot &slot) noexcept {
    return jf_limiter_on_slot(handle_.get(), &slot);
  }
  jf_limiter *get() const noexcept { return handle_.get(); }

 private:
  detail::owned<jf_limiter, jf_limiter_destroy> handle_;
};

// The pacer of one queue.
class pacer {
 public:
  pacer(std::string_view settings, const jf_grants &grants)
      : handle_(detail::made<jf_pacer>([&](jf_pacer **out, jf_message *message) {
          return jf_pacer_create(settings.data(), settings.size(), &grants, out, message);
        })) {}

  pacer(memory place, std::string_view settings, const jf_grants &grants)
      : handle_(detail::made<jf_pacer>([&](jf_pacer **out, jf_message *message) {
          return jf_pacer_init(place.at, place.size, settings.data(), settings.size(), &grants, out,
                            message);
        })) {}

  static size_t size(std::string_view settings, const jf_grants &grants) {
    return detail::sized([&](size_t *bytes, jf_message *message) {
      return jf_pacer_size(settings.data(), settings.size(), &grants, bytes, message);
    });
  }

  jf_status occupancy(uint64_t now, uint64_t &occupancy) noexcept {
    return jf_pacer_occupancy(handle_.get(), now, &occupancy);
  }
  jf_status on_enqueued(uint64_t entered) noexcept {
    return jf_pacer_on_enqueued(handle_.get(), entered);
  }
  jf_status on_poll(uint64_t now, const jf_poll &poll) noexcept {
    return jf_pacer_on_poll(handle_.get(), now, &poll);
  }
  jf_pacer *get() const noexcept { return handle_.get(); }

 private:
  detail::owned<jf_pacer, jf_pacer_destroy> handle_;
};

// The scheduler of one cell's resource blocks.
class eqp {
 public:
  explicit eqp(std::string_view settings)
      : handle_(detail::made<jf_eqp>([&](jf_eqp **out, jf_message *message) {
          return jf_eqp_create(settings.data(), settings.size(), out, message);
        })) {}

  eqp(memory place, std::string_view settings)
      : handle_(detail::made<jf_eqp>([&](jf_eqp **out, jf_message *message) {
          return jf_eqp_init(place.at, place.size, settings.data(), settings.size(), out, message);
        })) {}

  static size_t size(std::string_view settings) {
    return detail::sized([&](size_t *bytes, jf_message *message) {
      return jf_eqp_size(settings.data(), settings.size(), bytes, message);
    });
  }

  jf_status schedule(uint64_t now, const jf_eqp_demand &demand, jf_eqp_grant *grants,
                     uint32_t *bytes, uint16_t *withheld = nullptr) noexcept {
    return jf_eqp_schedule(handle_.get(), now, &demand, grants, bytes, withheld);
  }
  jf_status quantum(uint16_t slice, double &rbs) noexcept {
    return jf_eqp_quantum(handle_.get(), slice, &rbs);
  }
  jf_eqp *get() const noexcept { return handle_.get(); }

 private:
  detail::owned<jf_eqp, jf_eqp_destroy> handle_;
};

// RAPID's control of a proxy that splits TCP.
class rapid {
 public:
  explicit rapid(std::string_view settings)
      : handle_(detail::made<jf_rapid>([&](jf_rapid **out, jf_message *message) {
          return jf_rapid_create(settings.data(), settings.size(), out, message);
        })) {}

  rapid(memory place, std::string_view settings)
      : handle_(detail::made<jf_rapid>([&](jf_rapid **out, jf_message *message) {
          return jf_rapid_init(place.at, place.size, settings.data(), settings.size(), out,
                               message);
        })) {}

  static size_t size(std::string_view settings) {
    return detail::sized([&](size_t *bytes, jf_message *message) {
      return jf_rapid_size(settings.data(), settings.size(), bytes, message);
    });
  }

  jf_status add_ue(uint64_t now, uint32_t cell, uint64_t &ue) noexcept {
    return jf_rapid_add_ue(handle_.get(), now, cell, &ue);
  }
  jf_status remove_ue(uint64_t now, uint64_t ue) noexcept {
    return jf_rapid_remove_ue(handle_.get(), now, ue);
  }
  jf_status move_ue(uint64_t now, uint64_t ue, uint32_t cell) noexcept {
    return jf_rapid_move_ue(handle_.get(), now, ue, cell);
  }
  jf_status merge_ues(uint64_t now, uint64_t from, uint64_t into) noexcept {
    return jf_rapid_merge_ues(handle_.get(), now, from, into);
  }
  jf_status limit_ue(uint64_t now, uint64_t ue, uint64_t most) noexcept {
    return jf_rapid_limit_ue(handle_.get(), now, ue, most);
  }
  jf_status hold(uint64_t flow) noexcept { return jf_rapid_hold(handle_.get(), flow); }
  jf_status capacity(uint64_t ue, double &rate) noexcept {
    return jf_rapid_capacity(handle_.get(), ue, &rate);
  }
  jf_status open(uint64_t now, uint64_t ue, const jf_rapid_opening &opening,
                 uint64_t &flow) noexcept {
    return jf_rapid_open(handle_.get(), now, ue, &opening, &flow);
  }
  jf_status close(uint64_t now, uint64_t flow) noexcept {
    return jf_rapid_close(handle_.get(), now, flow);
  }
  jf_status on_sample(uint64_t now, uint64_t flow, const jf_rapid_sample &sample) noexcept {
    return jf_rapid_on_sample(handle_.get(), now, flow, &sample);
  }
  jf_status on_report(uint64_t now, uint64_t ue, const jf_cell_report &cell,
                      const jf_ue_report &own) noexcept {
    return jf_rapid_on_report(handle_.get(), now, ue, &cell, &own);
  }
  jf_status next_timer(uint64_t &at) noexcept { return jf_rapid_next_timer(handle_.get(), &at); }
  jf_status on_timer(uint64_t now) noexcept { return jf_rapid_on_timer(handle_.get(), now); }
  jf_status next_change(jf_rapid_change &change) noexcept {
    return jf_rapid_next_change(handle_.get(), &change);
  }
  jf_rapid *get() const noexcept { return handle_.get(); }

 private:
  detail::owned<jf_rapid, jf_rapid_destroy> handle_;
};

}  // namespace jf

#endif  // JUSTFULL_HPP
