/* The C library of justfull for base stations: queues, AQMs, limiters, pacers, EQP, RAPID.
 *
 * An object is a block of memory behind a handle: the caller's (jf_..._size, jf_..._init) or one
 * block of the heap (jf_..._create). Making one reads its settings and allocates. Afterwards no
 * call allocates, locks, makes a system call or unwinds. Time is the caller's, in nanoseconds since
 * any instant, and does not go back.
 *
 * A pointer is NULL or points to a value of its type; a handle comes from the library, and its
 * memory is still there. Every call with such pointers returns: a wrong argument, a wrong order, or
 * a call from within a callback gives an error and changes nothing. One thread at a time may use an
 * object; different objects may be used by any threads at once.
 *
 * Settings are TOML in the form of a scenario file's sections: docs/guide/in-a-gnb.md.
 *
 * Made by cbindgen from crates/c/src: do not edit.
 */

#ifndef JUSTFULL_H
#define JUSTFULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 `unit`: amounts are packets.
 */
#define JF_PACKETS 0

/*
 `unit`: amounts are bytes.
 */
#define JF_BYTES 1

/*
 The latest time of a call, in nanoseconds: 146 years after the first.
 */
#define JF_TIME_MAX 4611686018427387904

/*
 Objects begin at a multiple of this many bytes.
 */
#define JF_ALIGN 64

/*
 Largest amount in a call, in packets or bytes.
 */
#define JF_AMOUNT_MAX 1099511627776

/*
 Largest packet in bytes.
 */
#define JF_PACKET_MAX 65535

/*
 `ecn` of a packet that is not ECN-capable. These are the two bits of the IP header.
 */
#define JF_NOT_ECT 0

/*
 `ecn`: ECN-capable, codepoint 01.
 */
#define JF_ECT1 1

/*
 `ecn`: ECN-capable, codepoint 10.
 */
#define JF_ECT0 2

/*
 `ecn`: congestion experienced.
 */
#define JF_CE 3

/*
 `protocol`: TCP.
 */
#define JF_TCP 0

/*
 `protocol`: UDP.
 */
#define JF_UDP 1

/*
 `protocol`: ICMP and ICMPv6.
 */
#define JF_ICMP 2

/*
 `protocol`: any other.
 */
#define JF_OTHER 3

/*
 Why a packet was dropped: the queue was full, and it was the arriving one.
 */
#define JF_DROP_OVERFLOW 0

/*
 Dropped: the queue was full, and the discipline chose this waiting packet.
 */
#define JF_DROP_VICTIM 1

/*
 Dropped: the AQM signalled at its arrival.
 */
#define JF_DROP_AQM_ARRIVAL 2

/*
 Dropped: the AQM signalled at its departure.
 */
#define JF_DROP_AQM_DEPARTURE 3

/*
 Dropped: the AQM signalled at a timeout.
 */
#define JF_DROP_AQM_TIMEOUT 4

/*
 Dropped: it came while all places of `capacity` were taken. The queue does not count it.
 */
#define JF_DROP_CAPACITY 5

/*
 Not dropped by an algorithm: the object gives it back, since it is drained.
 */
#define JF_DROP_DRAINED 6

/*
 `kind` of a cell: a block is a byte that the UE could receive.
 */
#define JF_CELL_BYTES 0

/*
 `kind` of a cell: resource blocks of LTE (TS 36.213 section 7.1.7).
 */
#define JF_CELL_LTE 1

/*
 `kind` of a cell: resource blocks of NR (TS 38.214 section 5.1.3).
 */
#define JF_CELL_NR 2

/*
 `mcs`: unknown.
 */
#define JF_MCS_NONE 255

/*
 Bytes of a message, the zero at its end included.
 */
#define JF_MESSAGE_BYTES 512

/*
 Largest text of settings in bytes.
 */
#define JF_SETTINGS_BYTES 1048576

/*
 The status of a call. Negative: an error; the call has changed nothing unless it says so.
 */
enum jf_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   Done.
   */
  JF_OK = 0,
  /*
   Done: the packet was dropped.
   */
  JF_DROPPED = 1,
  /*
   Done: there is nothing to return.
   */
  JF_EMPTY = 2,
  /*
   A pointer is NULL that must not be.
   */
  JF_ERROR_NULL = -1,
  /*
   The handle is no object of this kind, or the object is destroyed.
   */
  JF_ERROR_HANDLE = -2,
  /*
   The object is in a call already: a callback has called it.
   */
  JF_ERROR_BUSY = -3,
  /*
   The time is before the time of an earlier call, or above JF_TIME_MAX.
   */
  JF_ERROR_TIME = -4,
  /*
   A packet's size is not 1 B to the MTU.
   */
  JF_ERROR_SIZE = -5,
  /*
   There is no such flow.
   */
  JF_ERROR_FLOW = -6,
  /*
   There is no such bearer.
   */
  JF_ERROR_BEARER = -7,
  /*
   A value is out of its bounds, such as an amount above JF_AMOUNT_MAX.
   */
  JF_ERROR_RANGE = -8,
  /*
   The memory is too small, or does not begin at a multiple of JF_ALIGN; or there is none.
   */
  JF_ERROR_MEMORY = -9,
  /*
   The settings are wrong: the message says which field.
   */
  JF_ERROR_SETTINGS = -10,
  /*
   The call does not fit the calls before it.
   */
  JF_ERROR_ORDER = -11,
  /*
   The object has found a fault in itself, now or before. Destroy it, and report the fault.
   */
  JF_ERROR_BROKEN = -12,
  /*
   There is no such cell.
   */
  JF_ERROR_CELL = -13,
  /*
   There is no such UE, or it was removed.
   */
  JF_ERROR_UE = -14,
  /*
   There are as many UEs or flows as the settings allow.
   */
  JF_ERROR_FULL = -15,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum jf_status jf_status;
#else
typedef int32_t jf_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 The scheduler of one cell.
 */
typedef struct jf_eqp jf_eqp;

/*
 The queues of one UE above its RLC: a queue for each QoS flow, the scheduler among them, a
 limiter for each bearer and a pacer for each queue.
 */
typedef struct jf_gate jf_gate;

/*
 The limiter of one bearer: how much more may enter its RLC.
 */
typedef struct jf_limiter jf_limiter;

/*
 The pacer of one queue.
 */
typedef struct jf_pacer jf_pacer;

/*
 A queue: a limit, an AQM and a discipline (`fifo`, or lanes).
 */
typedef struct jf_queue jf_queue;

/*
 The control of one proxy.
 */
typedef struct jf_rapid jf_rapid;

/*
 The reason of a refusal in words: the field, its value and the allowed values. Always ends with
 a zero; empty where the status alone is the reason.
 */
typedef struct jf_message {
  /*
   UTF-8.
   */
  char text[JF_MESSAGE_BYTES];
} jf_message;

/*
 A UE with something to send.
 */
typedef struct jf_eqp_ue {
  /*
   Bytes that n blocks carry at its MCS and layers, for n from 0 to all blocks of the slot:
   `rbs` + 1 numbers, the first 0, that never decrease.
   */
  const uint32_t *tbs;
  /*
   Its number in the cell.
   */
  uint32_t ue;
  /*
   Number of its bearers, at least one. In `bearers` they follow the bearers of the UEs before
   it.
   */
  uint32_t bearers;
  /*
   Its slice: an index into `shares`.
   */
  uint16_t slice;
  /*
   0.
   */
  uint16_t reserved[3];
} jf_eqp_ue;

/*
 A bearer with something to send.
 */
typedef struct jf_eqp_bearer {
  /*
   Bytes on the air of all waiting data, at least the bytes of the listed SDUs.
   */
  uint64_t backlog;
  /*
   How long its first SDU has waited, in ns.
   */
  uint64_t head_of_line;
  /*
   Number of its listed SDUs, the first ones. In `sdus` they follow the SDUs of the bearers
   before it. The list may stop at the capacity of the whole slot.
   */
  uint32_t sdus;
  /*
   Its number in the UE.
   */
  uint8_t drb;
  /*
   0.
   */
  uint8_t reserved[3];
} jf_eqp_bearer;

/*
 Everything that waits for a slot.
 */
typedef struct jf_eqp_demand {
  /*
   The UEs with something to send, in ascending order of `ue`.
   */
  const struct jf_eqp_ue *ues;
  /*
   How many.
   */
  size_t ues_length;
  /*
   Their bearers, UE by UE.
   */
  const struct jf_eqp_bearer *bearers;
  /*
   How many.
   */
  size_t bearers_length;
  /*
   Bytes on the air of each SDU, headers included, bearer by bearer. The first SDU of a bearer
   may be the rest of a segmented SDU.
   */
  const uint32_t *sdus;
  /*
   How many.
   */
  size_t sdus_length;
  /*
   Number of the slot since the start.
   */
  uint64_t slot;
  /*
   Resource blocks that are free for new data.
   */
  uint16_t rbs;
  /*
   Blocks of a unit of allocation: of a resource block group, or 1.
   */
  uint16_t unit;
  /*
   0.
   */
  uint32_t reserved;
} jf_eqp_demand;

/*
 The share of a UE.
 */
typedef struct jf_eqp_grant {
  /*
   Units of allocation, a short last one included.
   */
  uint16_t units;
  /*
   Resource blocks of these units.
   */
  uint16_t rbs;
} jf_eqp_grant;

/*
 The content of a bearer's RLC.
 */
typedef struct jf_view {
  /*
   SDUs waiting or partly sent.
   */
  uint64_t packets;
  /*
   Bytes still to be sent for the first time.
   */
  uint64_t bytes;
} jf_view;

/*
 One IP packet (an SDU). The content stays with the caller.
 */
typedef struct jf_packet {
  /*
   The caller's number of it.
   */
  uint64_t id;
  /*
   The caller's handle to its content, such as a pointer or an index. Passed on unread.
   */
  uint64_t content;
  /*
   When it entered the queue that it is in, in ns. The library writes it.
   */
  uint64_t enqueued;
  /*
   Hash of its 5-tuple: packets of one flow have the same. For disciplines with lanes.
   */
  uint32_t flow_hash;
  /*
   Size on the IP layer in bytes, 1 to the MTU.
   */
  uint32_t size;
  /*
   The caller's own. Passed on unread.
   */
  uint32_t user;
  /*
   JF_NOT_ECT, JF_ECT1, JF_ECT0 or JF_CE. The library writes JF_CE where it marks.
   */
  uint8_t ecn;
  /*
   JF_TCP, JF_UDP, JF_ICMP or JF_OTHER.
   */
  uint8_t protocol;
  /*
   0.
   */
  uint16_t reserved;
} jf_packet;

/*
 Called for each packet that an object drops or, drained, gives back: the caller frees its
 content. `reason` is one of JF_DROP_...
 */
typedef void (*jf_dropped)(void *context,
                           uint64_t now,
                           const struct jf_packet *packet,
                           uint8_t reason);

/*
 The caller's RLC. Its functions must return: no exception and no longjmp. A call of the same
 object from within them is refused with JF_ERROR_BUSY.
 */
typedef struct jf_rlc {
  /*
   Passed to each function, unread.
   */
  void *context;
  /*
   Writes the data that bearer `drb` has not sent yet. Must not be NULL.
   */
  void (*view)(void *context, uint8_t drb, struct jf_view *view);
  /*
   Bearer `drb` takes `sdu`, whose `ecn` is JF_CE where it was marked. False if there is no
   room: the caller has dropped it. Must not be NULL.
   */
  bool (*enqueue)(void *context, uint64_t now, uint8_t drb, const struct jf_packet *sdu);
  /*
   See jf_dropped. May be NULL.
   */
  jf_dropped dropped;
} jf_rlc;

/*
 The result of a poll.
 */
typedef struct jf_polled {
  /*
   Packets that left for the RLC.
   */
  uint32_t moved;
  /*
   Queues whose first packet a limiter held back.
   */
  uint32_t held;
} jf_polled;

/*
 A slot that served a bearer, for its limiter. Amounts are in the unit of the settings.
 */
typedef struct jf_slot {
  /*
   When the MAC pulled, in ns. It does not go back.
   */
  uint64_t pulled_at;
  /*
   Length of a slot in ns, 1 to 10^9.
   */
  uint64_t slot;
  /*
   The amount that the slot offered this bearer: its used amount and its share of the rest.
   */
  uint64_t granted;
  /*
   The amount that it sent.
   */
  uint64_t used;
  /*
   The amount still in its RLC.
   */
  uint64_t remaining;
  /*
   The most that a slot carries at the present MCS if the bearer has all of it.
   */
  uint64_t capacity;
  /*
   Not 0: the bearer could have sent more than it had.
   */
  uint8_t starved;
  /*
   0.
   */
  uint8_t reserved[7];
} jf_slot;

/*
 The fate of the packets of one queue.
 */
typedef struct jf_counts {
  /*
   Offered, taken or not.
   */
  uint64_t arrived_packets;
  /*
   Bytes of these.
   */
  uint64_t arrived_bytes;
  /*
   Left for the layer below.
   */
  uint64_t departed_packets;
  /*
   Bytes of these.
   */
  uint64_t departed_bytes;
  /*
   Dropped.
   */
  uint64_t dropped_packets;
  /*
   Bytes of these.
   */
  uint64_t dropped_bytes;
  /*
   Marked congestion experienced; they also count as departed, dropped or waiting.
   */
  uint64_t marked_packets;
  /*
   Bytes of these.
   */
  uint64_t marked_bytes;
  /*
   In the queue.
   */
  uint64_t waiting_packets;
  /*
   Bytes of these.
   */
  uint64_t waiting_bytes;
} jf_counts;

/*
 The grants below a limiter or a pacer.
 */
typedef struct jf_grants {
  /*
   Length of a slot in ns, 1 to 10^9.
   */
  uint64_t slot;
  /*
   Largest packet in bytes, 68 to 65535.
   */
  uint32_t mtu;
  /*
   JF_PACKETS or JF_BYTES.
   */
  uint8_t unit;
  /*
   0.
   */
  uint8_t reserved[3];
} jf_grants;

/*
 The effect of a poll on the queue. Amounts are in the unit of the grants.
 */
typedef struct jf_poll {
  /*
   Moved to the RLC by this poll.
   */
  uint64_t moved;
  /*
   Left in the queue.
   */
  uint64_t backlog;
  /*
   The room of the RLC after it; UINT64_MAX without a limit.
   */
  uint64_t room;
} jf_poll;

/*
 A flow that opens: a TCP connection that the proxy has split.
 */
typedef struct jf_rapid_opening {
  /*
   The caller's, returned with the windows of the flow.
   */
  uint64_t tag;
  /*
   Round trip of the leg to the server in ns, from its handshake; 0 when unknown.
   */
  uint64_t wired_rtt;
  /*
   Round trip of the leg to the UE in ns, from its handshake; 0 when unknown.
   */
  uint64_t radio_rtt;
  /*
   Payload bytes of a full segment, at least 1.
   */
  uint32_t mss;
  /*
   Bytes of its IP and TCP headers; with `mss` at most 65535.
   */
  uint32_t headers;
} jf_rapid_opening;

/*
 Events of a flow since its last sample. Amounts are payload in bytes, times ns.
 */
typedef struct jf_rapid_sample {
  /*
   Came from the server.
   */
  uint64_t arrived;
  /*
   Acknowledged by the UE.
   */
  uint64_t delivered;
  /*
   Waits in the proxy because the window of the leg to the UE is full; 0 if it waits for
   another reason.
   */
  uint64_t waiting;
  /*
   Smoothed round trip of the leg to the server; 0 when unknown.
   */
  uint64_t wired_rtt;
  /*
   Smallest round trip of the leg to the UE since the last sample; 0 when unknown.
   */
  uint64_t radio_rtt;
  /*
   Smoothed round trip of the leg to the UE; 0 when unknown.
   */
  uint64_t radio_smoothed;
  /*
   1 if the proxy had no room and offered the server less than its window, else 0.
   */
  uint8_t held;
  /*
   0.
   */
  uint8_t reserved[7];
} jf_rapid_sample;

/*
 A cell in a period: the part of a report that its UEs have in common.
 */
typedef struct jf_cell_report {
  /*
   End of the period in ns, by the cell's clock. It increases from report to report.
   */
  uint64_t at;
  /*
   Mean time between two downlink slots in ns, 1 to 10^9.
   */
  uint64_t slot;
  /*
   Blocks that the slots of the period offered in total.
   */
  uint64_t offered;
  /*
   Blocks given to all UEs.
   */
  uint64_t used;
  /*
   Downlink slots in the period.
   */
  uint32_t slots;
  /*
   UEs that were given blocks.
   */
  uint32_t active_ues;
  /*
   JF_CELL_BYTES, JF_CELL_LTE or JF_CELL_NR. `mcs_table` and `layers` are for LTE and NR,
   `symbols` and `dmrs_res` for NR.
   */
  uint8_t kind;
  /*
   Table of modulation and coding schemes: LTE 1 (64QAM) or 2 (256QAM), NR 1 to 3.
   */
  uint8_t mcs_table;
  /*
   Spatial layers, 1 to 4.
   */
  uint8_t layers;
  /*
   Symbols of a slot that carry data or its reference signals, 1 to 14.
   */
  uint8_t symbols;
  /*
   Resource elements of a block that reference signals take.
   */
  uint8_t dmrs_res;
  /*
   0.
   */
  uint8_t reserved[3];
} jf_cell_report;

/*
 A UE in the same period.
 */
typedef struct jf_ue_report {
  /*
   Blocks given to it.
   */
  uint64_t blocks;
  /*
   Blocks among these that carried HARQ retransmissions.
   */
  uint64_t repeats;
  /*
   Bytes sent to it in transport blocks, without retransmissions.
   */
  uint64_t bytes;
  /*
   Bytes in its RLC queues at the end.
   */
  uint64_t backlog;
  /*
   Its last modulation and coding scheme, or JF_MCS_NONE.
   */
  uint8_t mcs;
  /*
   0.
   */
  uint8_t reserved[7];
} jf_ue_report;

/*
 A flow with new windows, in payload bytes.
 */
typedef struct jf_rapid_change {
  /*
   The caller's, from jf_rapid_opening.
   */
  uint64_t tag;
  /*
   Receive window advertised to the server; UINT64_MAX without a limit.
   */
  uint64_t server;
  /*
   Congestion window of the leg to the UE; UINT64_MAX without a limit.
   */
  uint64_t radio;
  /*
   0 while the flow waits for its turn: read nothing from the server, so that its window
   closes. Else 1.
   */
  uint8_t reading;
  /*
   0.
   */
  uint8_t reserved[7];
} jf_rapid_change;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Writes to `size` how many bytes a scheduler with these settings needs.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_eqp_size(const char *settings,
                      size_t settings_length,
                      size_t *size,
                      struct jf_message *message);

/*
 Makes a scheduler in the caller's memory, as jf_gate_init does.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_eqp_init(void *memory,
                      size_t memory_size,
                      const char *settings,
                      size_t settings_length,
                      struct jf_eqp **eqp,
                      struct jf_message *message);

/*
 Makes a scheduler in memory from the heap, in one block.

 # Safety
 As for jf_eqp_init.
 */
jf_status jf_eqp_create(const char *settings,
                        size_t settings_length,
                        struct jf_eqp **eqp,
                        struct jf_message *message);

/*
 Ends `eqp`; NULL is allowed.

 # Safety
 `eqp` is NULL or a handle of this library whose memory is still there.
 */
jf_status jf_eqp_destroy(struct jf_eqp *eqp);

/*
 Schedules the slot of `demand` at `now` (ns). `grants` has `ues_length` places for the grants of
 the UEs, `bytes` has `bearers_length` places for the bytes of each bearer in its UE's transport
 block. `withheld`, which may be NULL, gets the blocks left unused although something waits.
 Slots without demand may be left out.

 # Safety
 As for jf_eqp_destroy; each pointer is NULL or points at as many items as said.
 */
jf_status jf_eqp_schedule(struct jf_eqp *eqp,
                          uint64_t now,
                          const struct jf_eqp_demand *demand,
                          struct jf_eqp_grant *grants,
                          uint32_t *bytes,
                          uint16_t *withheld);

/*
 Writes to `rbs` the resource blocks that slice `slice` has lent (positive) or borrowed so far.

 # Safety
 As for jf_eqp_destroy; `rbs` is NULL or points at a place for the result.
 */
jf_status jf_eqp_quantum(struct jf_eqp *eqp, uint16_t slice, double *rbs);

/*
 Writes to `size` how many bytes a gate with these settings needs (`settings_length` bytes of
 TOML at `settings`). An error goes to `message`, which may be NULL.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_gate_size(const char *settings,
                       size_t settings_length,
                       size_t *size,
                       struct jf_message *message);

/*
 Makes a gate in the `memory_size` bytes at `memory`, a multiple of JF_ALIGN, and writes its
 handle to `gate`. The memory stays the caller's; jf_gate_destroy ends its use.

 # Safety
 Each pointer is NULL or points to a value of its type. The functions of `rlc` may be called with
 its context until the gate is destroyed.
 */
jf_status jf_gate_init(void *memory,
                       size_t memory_size,
                       const char *settings,
                       size_t settings_length,
                       const struct jf_rlc *rlc,
                       struct jf_gate **gate,
                       struct jf_message *message);

/*
 Makes a gate in memory from the heap, in one block, and writes its handle to `gate`.

 # Safety
 As for jf_gate_init.
 */
jf_status jf_gate_create(const char *settings,
                         size_t settings_length,
                         const struct jf_rlc *rlc,
                         struct jf_gate **gate,
                         struct jf_message *message);

/*
 Ends `gate`; NULL is allowed. Waiting packets are lost: drain it before.

 # Safety
 `gate` is NULL or a handle of this library whose memory is still there.
 */
jf_status jf_gate_destroy(struct jf_gate *gate);

/*
 A packet of QoS flow `flow`, counted from 0 in the order of the settings, arrives at `now` (ns)
 and waits for jf_gate_poll. JF_DROPPED if its queue or AQM dropped it; `dropped` is called too.
 Other waiting packets may be dropped in its place.

 # Safety
 As for jf_gate_destroy; `packet` is NULL or points at a packet.
 */
jf_status jf_gate_offer(struct jf_gate *gate,
                        uint64_t now,
                        uint32_t flow,
                        const struct jf_packet *packet);

/*
 Lets packets that wait enter the RLC at `now`, up to the batch of a poll. `polled` may be NULL.

 # Safety
 As for jf_gate_destroy; `polled` is NULL or points at a place for the result.
 */
jf_status jf_gate_poll(struct jf_gate *gate, uint64_t now, struct jf_polled *polled);

/*
 `sdu` enters the RLC of bearer `drb` at `now` past queues, scheduler, AQM and limiter: for SDUs
 that PDCP sends again. The limiter counts it. JF_DROPPED if the RLC has not taken it.

 # Safety
 As for jf_gate_destroy; `sdu` is NULL or points at a packet.
 */
jf_status jf_gate_bypass(struct jf_gate *gate,
                         uint64_t now,
                         uint8_t drb,
                         const struct jf_packet *sdu);

/*
 A slot that served bearer `drb` has ended. Limiters need a report of each slot in which the
 bearer had something to send, and of the last slot before a poll.

 # Safety
 As for jf_gate_destroy; `slot` is NULL or points at a report.
 */
jf_status jf_gate_on_slot(struct jf_gate *gate, uint8_t drb, const struct jf_slot *slot);

/*
 The last byte of an SDU of bearer `drb` left for the radio at `now`, `sojourn` ns after it had
 entered the RLC.

 # Safety
 As for jf_gate_destroy.
 */
jf_status jf_gate_on_departed(struct jf_gate *gate, uint64_t now, uint8_t drb, uint64_t sojourn);

/*
 Writes to `room` how much more the queue of `flow` should take from above at `now`, in the unit
 of the settings; UINT64_MAX without a pacer. More is taken all the same.

 # Safety
 As for jf_gate_destroy; `room` is NULL or points at a place for the result.
 */
jf_status jf_gate_room(struct jf_gate *gate, uint64_t now, uint32_t flow, uint64_t *room);

/*
 Writes to `at` the time at which jf_gate_on_timeout must be called, in ns; UINT64_MAX for never.

 # Safety
 As for jf_gate_destroy; `at` is NULL or points at a place for the result.
 */
jf_status jf_gate_next_timeout(struct jf_gate *gate, uint64_t *at);

/*
 Runs the timeouts of AQMs that are due at `now`.

 # Safety
 As for jf_gate_destroy.
 */
jf_status jf_gate_on_timeout(struct jf_gate *gate, uint64_t now);

/*
 Writes to `paces` 1 if a limiter opens with time alone: then poll several times a slot, though
 nothing has happened. Else 0.

 # Safety
 As for jf_gate_destroy; `paces` is NULL or points at a place for the result.
 */
jf_status jf_gate_paces(struct jf_gate *gate, uint8_t *paces);

/*
 Writes the fates of the packets of `flow` to `counts`.

 # Safety
 As for jf_gate_destroy; `counts` is NULL or points at a place for the result.
 */
jf_status jf_gate_counts(struct jf_gate *gate, uint32_t flow, struct jf_counts *counts);

/*
 Gives all packets that wait back to `dropped`, with JF_DROP_DRAINED: the UE leaves.

 # Safety
 As for jf_gate_destroy.
 */
jf_status jf_gate_drain(struct jf_gate *gate, uint64_t now);

/*
 Writes to `size` how many bytes a limiter with these settings needs.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_limiter_size(const char *settings,
                          size_t settings_length,
                          const struct jf_grants *grants,
                          size_t *size,
                          struct jf_message *message);

/*
 Makes a limiter in the caller's memory, as jf_gate_init does.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_limiter_init(void *memory,
                          size_t memory_size,
                          const char *settings,
                          size_t settings_length,
                          const struct jf_grants *grants,
                          struct jf_limiter **limiter,
                          struct jf_message *message);

/*
 Makes a limiter in memory from the heap, in one block.

 # Safety
 As for jf_limiter_init.
 */
jf_status jf_limiter_create(const char *settings,
                            size_t settings_length,
                            const struct jf_grants *grants,
                            struct jf_limiter **limiter,
                            struct jf_message *message);

/*
 Ends `limiter`; NULL is allowed.

 # Safety
 `limiter` is NULL or a handle of this library whose memory is still there.
 */
jf_status jf_limiter_destroy(struct jf_limiter *limiter);

/*
 Writes to `room` how much more may enter at `now` (ns) an RLC that holds `view`; UINT64_MAX
 without a limit.

 # Safety
 As for jf_limiter_destroy; the other pointers are NULL or point to values of their types.
 */
jf_status jf_limiter_room(struct jf_limiter *limiter,
                          uint64_t now,
                          const struct jf_view *view,
                          uint64_t *room);

/*
 Writes to `overdraws` 1 if an SDU larger than the room may enter as long as there is any room,
 else 0.

 # Safety
 As for jf_limiter_destroy; `overdraws` is NULL or points at a place for the result.
 */
jf_status jf_limiter_overdraws(struct jf_limiter *limiter, uint8_t *overdraws);

/*
 An SDU of `used` (1 in packets, its bytes in bytes) entered the RLC, which holds `view` with it.

 # Safety
 As for jf_limiter_destroy; `view` is NULL or points at a view.
 */
jf_status jf_limiter_on_admitted(struct jf_limiter *limiter,
                                 uint64_t now,
                                 uint64_t used,
                                 const struct jf_view *view);

/*
 The last byte of an SDU left for the radio at `now`, `sojourn` ns after it had entered the RLC.

 # Safety
 As for jf_limiter_destroy.
 */
jf_status jf_limiter_on_departed(struct jf_limiter *limiter, uint64_t now, uint64_t sojourn);

/*
 A slot that served the bearer has ended.

 # Safety
 As for jf_limiter_destroy; `slot` is NULL or points at a report.
 */
jf_status jf_limiter_on_slot(struct jf_limiter *limiter, const struct jf_slot *slot);

/*
 Writes to `size` how many bytes a pacer with these settings needs.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_pacer_size(const char *settings,
                        size_t settings_length,
                        const struct jf_grants *grants,
                        size_t *size,
                        struct jf_message *message);

/*
 Makes a pacer in the caller's memory, as jf_gate_init does.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_pacer_init(void *memory,
                        size_t memory_size,
                        const char *settings,
                        size_t settings_length,
                        const struct jf_grants *grants,
                        struct jf_pacer **pacer,
                        struct jf_message *message);

/*
 Makes a pacer in memory from the heap, in one block.

 # Safety
 As for jf_pacer_init.
 */
jf_status jf_pacer_create(const char *settings,
                          size_t settings_length,
                          const struct jf_grants *grants,
                          struct jf_pacer **pacer,
                          struct jf_message *message);

/*
 Ends `pacer`; NULL is allowed.

 # Safety
 `pacer` is NULL or a handle of this library whose memory is still there.
 */
jf_status jf_pacer_destroy(struct jf_pacer *pacer);

/*
 Writes to `occupancy` the backlog that the queue should have at `now` (ns); UINT64_MAX without a
 limit. Call it once before the packets of an instant.

 # Safety
 As for jf_pacer_destroy; `occupancy` is NULL or points at a place for the result.
 */
jf_status jf_pacer_occupancy(struct jf_pacer *pacer, uint64_t now, uint64_t *occupancy);

/*
 Packets of `entered` in all entered the queue.

 # Safety
 As for jf_pacer_destroy.
 */
jf_status jf_pacer_on_enqueued(struct jf_pacer *pacer, uint64_t entered);

/*
 A poll of the queue that holds or held something has ended.

 # Safety
 As for jf_pacer_destroy; `poll` is NULL or points at a report.
 */
jf_status jf_pacer_on_poll(struct jf_pacer *pacer, uint64_t now, const struct jf_poll *poll);

/*
 Writes to `size` how many bytes a queue with these settings needs.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_queue_size(const char *settings,
                        size_t settings_length,
                        size_t *size,
                        struct jf_message *message);

/*
 Makes a queue in the caller's memory, as jf_gate_init does. `dropped` may be NULL.

 # Safety
 Each pointer is NULL or points to a value of its type. `dropped` may be called with `context`
 until the queue is destroyed.
 */
jf_status jf_queue_init(void *memory,
                        size_t memory_size,
                        const char *settings,
                        size_t settings_length,
                        void *context,
                        jf_dropped dropped,
                        struct jf_queue **queue,
                        struct jf_message *message);

/*
 Makes a queue in memory from the heap, in one block.

 # Safety
 As for jf_queue_init.
 */
jf_status jf_queue_create(const char *settings,
                          size_t settings_length,
                          void *context,
                          jf_dropped dropped,
                          struct jf_queue **queue,
                          struct jf_message *message);

/*
 Ends `queue`; NULL is allowed. Waiting packets are lost.

 # Safety
 `queue` is NULL or a handle of this library whose memory is still there.
 */
jf_status jf_queue_destroy(struct jf_queue *queue);

/*
 Offers `packet`, of 1 to JF_PACKET_MAX bytes, at `now` (ns). JF_DROPPED if it is dropped.

 # Safety
 As for jf_queue_destroy; `packet` is NULL or points at a packet.
 */
jf_status jf_queue_enqueue(struct jf_queue *queue, uint64_t now, const struct jf_packet *packet);

/*
 Takes the next packet that the AQM passes. JF_EMPTY without one; `packet` is then not written.

 # Safety
 As for jf_queue_destroy; `packet` is NULL or points at a place for a packet.
 */
jf_status jf_queue_dequeue(struct jf_queue *queue, uint64_t now, struct jf_packet *packet);

/*
 Writes to `packet` the packet that would be served next, which the AQM may still drop. JF_EMPTY
 without one.

 # Safety
 As for jf_queue_destroy; `packet` is NULL or points at a place for a packet.
 */
jf_status jf_queue_peek(struct jf_queue *queue, struct jf_packet *packet);

/*
 JF_OK if a waiting packet should leave before the rest of `begun`, a packet of this queue that
 is partly sent; JF_EMPTY without one. Steady lanes of the discipline `lanes` interrupt others.

 # Safety
 As for jf_queue_destroy; `begun` is NULL or points at a packet.
 */
jf_status jf_queue_goes_before(struct jf_queue *queue, const struct jf_packet *begun);

/*
 The layer below serves the queue at `bits_per_second`: for AQMs that need it (`ared`, `pdpc`).
 UINT64_MAX for unknown.

 # Safety
 As for jf_queue_destroy.
 */
jf_status jf_queue_set_rate(struct jf_queue *queue, uint64_t bits_per_second);

/*
 Writes to `at` the time at which jf_queue_on_timeout must be called, in ns; UINT64_MAX for
 never.

 # Safety
 As for jf_queue_destroy; `at` is NULL or points at a place for the result.
 */
jf_status jf_queue_next_timeout(struct jf_queue *queue, uint64_t *at);

/*
 Runs the AQM's timeout if it is due at `now`.

 # Safety
 As for jf_queue_destroy.
 */
jf_status jf_queue_on_timeout(struct jf_queue *queue, uint64_t now);

/*
 Writes the fates of its packets to `counts`.

 # Safety
 As for jf_queue_destroy; `counts` is NULL or points at a place for the result.
 */
jf_status jf_queue_counts(struct jf_queue *queue, struct jf_counts *counts);

/*
 Writes to `size` how many bytes a control with these settings needs.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_rapid_size(const char *settings,
                        size_t settings_length,
                        size_t *size,
                        struct jf_message *message);

/*
 Makes a control in the caller's memory, as jf_gate_init does.

 # Safety
 Each pointer is NULL or points to a value of its type.
 */
jf_status jf_rapid_init(void *memory,
                        size_t memory_size,
                        const char *settings,
                        size_t settings_length,
                        struct jf_rapid **rapid,
                        struct jf_message *message);

/*
 Makes a control in memory from the heap, in one block.

 # Safety
 As for jf_rapid_init.
 */
jf_status jf_rapid_create(const char *settings,
                          size_t settings_length,
                          struct jf_rapid **rapid,
                          struct jf_message *message);

/*
 Ends `rapid`; NULL is allowed.

 # Safety
 `rapid` is NULL or a handle of this library whose memory is still there.
 */
jf_status jf_rapid_destroy(struct jf_rapid *rapid);

/*
 A UE appears in the cell with number `cell`, from 0 on. Writes its handle, which is never 0, to
 `ue`. JF_ERROR_FULL with as many UEs as the settings allow.

 # Safety
 As for jf_rapid_destroy; `ue` is NULL or points at a place for the result.
 */
jf_status jf_rapid_add_ue(struct jf_rapid *rapid, uint64_t now, uint32_t cell, uint64_t *ue);

/*
 Closes the flows of `ue` and forgets it; its share of the cell becomes free.

 # Safety
 As for jf_rapid_destroy.
 */
jf_status jf_rapid_remove_ue(struct jf_rapid *rapid, uint64_t now, uint64_t ue);

/*
 `ue` moves with its flows to the cell with number `cell`: from now on its reports come from this
 cell.

 # Safety
 As for jf_rapid_destroy.
 */
jf_status jf_rapid_move_ue(struct jf_rapid *rapid, uint64_t now, uint64_t ue, uint32_t cell);

/*
 `from` and `into` turn out to be one UE: its flows belong to `into` from now on, and the handle
 `from` ends. Reports, cell and limit of `into` stay. JF_ERROR_FULL with more flows together than
 a UE may have. A UE merged with itself changes nothing.

 # Safety
 As for jf_rapid_destroy.
 */
jf_status jf_rapid_merge_ues(struct jf_rapid *rapid, uint64_t now, uint64_t from, uint64_t into);

/*
 All flows of `ue` together get at most `most` bytes a second from now on, headers included: the
 limit of its subscription. UINT64_MAX: no limit. JF_ERROR_RANGE for 0.

 # Safety
 As for jf_rapid_destroy.
 */
jf_status jf_rapid_limit_ue(struct jf_rapid *rapid, uint64_t now, uint64_t ue, uint64_t most);

/*
 A flow of `ue` opens. Writes its handle, which is never 0, to `flow`. JF_ERROR_FULL with as many
 flows as the settings allow.

 # Safety
 As for jf_rapid_destroy; `opening` and `flow` are NULL or point to values of their types.
 */
jf_status jf_rapid_open(struct jf_rapid *rapid,
                        uint64_t now,
                        uint64_t ue,
                        const struct jf_rapid_opening *opening,
                        uint64_t *flow);

/*
 `flow` closes; the others of its UE share its capacity.

 # Safety
 As for jf_rapid_destroy.
 */
jf_status jf_rapid_close(struct jf_rapid *rapid, uint64_t now, uint64_t flow);

/*
 From now on the proxy has no room and offers the server of `flow` less than its window. This
 ends with a sample whose `held` is 0.

 # Safety
 As for jf_rapid_destroy.
 */
jf_status jf_rapid_hold(struct jf_rapid *rapid, uint64_t flow);

/*
 A sample of `flow`, due once per round trip of the leg to its server.

 # Safety
 As for jf_rapid_destroy; `sample` is NULL or points at a sample.
 */
jf_status jf_rapid_on_sample(struct jf_rapid *rapid,
                             uint64_t now,
                             uint64_t flow,
                             const struct jf_rapid_sample *sample);

/*
 A report of the radio about `ue` arrives. JF_ERROR_ORDER if it is not newer than the last one;
 JF_ERROR_RANGE if a field is out of its bounds or contradicts another.

 # Safety
 As for jf_rapid_destroy; `cell` and `own` are NULL or point to values of their types.
 */
jf_status jf_rapid_on_report(struct jf_rapid *rapid,
                             uint64_t now,
                             uint64_t ue,
                             const struct jf_cell_report *cell,
                             const struct jf_ue_report *own);

/*
 Writes to `at` the time at which jf_rapid_on_timer is due, in ns; UINT64_MAX for never.

 # Safety
 As for jf_rapid_destroy; `at` is NULL or points at a place for the result.
 */
jf_status jf_rapid_next_timer(struct jf_rapid *rapid, uint64_t *at);

/*
 Does the work that is due by `now`: reports grow old, flows fall silent.

 # Safety
 As for jf_rapid_destroy.
 */
jf_status jf_rapid_on_timer(struct jf_rapid *rapid, uint64_t now);

/*
 Writes a flow whose windows have changed, and its windows, to `change`. JF_EMPTY without one;
 `change` is then not written. Call it until then after every other call.

 # Safety
 As for jf_rapid_destroy; `change` is NULL or points at a place for the result.
 */
jf_status jf_rapid_next_change(struct jf_rapid *rapid, struct jf_rapid_change *change);

/*
 Writes to `rate` the capacity of `ue` in bytes a second, headers included, that was last divided
 among its flows. JF_EMPTY while it is unknown; `rate` is then not written.

 # Safety
 As for jf_rapid_destroy; `rate` is NULL or points at a place for the result.
 */
jf_status jf_rapid_capacity(struct jf_rapid *rapid, uint64_t ue, double *rate);

/*
 The text of `status`, for people; never NULL. It is valid for ever.
 */
const char *jf_error_text(int32_t status);

/*
 The version of the library, such as "0.1.0". It is valid for ever.
 */
const char *jf_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* JUSTFULL_H */
