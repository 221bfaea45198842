// SPDX-License-Identifier: MIT OR GPL-2.0
//
// The congestion control of the leg to the UE: its window is what the proxy's memory says.
//
// BPF struct_ops (kernel: net/ipv4/bpf_tcp_ca.c, Documentation/bpf/map_sk_storage.rst). The object
// beside this file is what the proxy contains; a build needs no clang, and a test compiles this
// again and compares:
//
//     clang -O2 -g -target bpf -mcpu=v3 -fdebug-compilation-dir=. -c radio_leg.bpf.c \
//         -o radio_leg.bpf.o
//
// The kernel's structures are declared here only as far as they are used. Their fields are found
// by name in the running kernel's BTF (preserve_access_index), wherever they are in it.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL __attribute__((preserve_access_index))
#define INLINE static inline __attribute__((always_inline))
#define SECTION(name) __attribute__((section(name), used))
// How a map's settings are written in BTF: the length of an array, or what a pointer points to.
#define NUMBER(name, value) int (*name)[value]
#define TYPE(name, type) type *name

// linux/bpf.h.
enum { ARRAY = 2, SK_STORAGE = 24, NO_PREALLOC = 1, MMAPABLE = 1024 };
static void *(*lookup)(void *map, const void *key) = (void *)1;
static void *(*storage)(void *map, void *socket, void *value, u64 flags) = (void *)107;
// linux/tcp.h: the states of loss, and the event that something is sent when nothing is in flight.
enum { CWR = 2, RECOVERY = 3, LOSS = 4, TX_START = 0 };

struct sock {
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
} KERNEL;

struct tcp_sock {
	u32 snd_cwnd;
	u32 packets_out;
	u32 retrans_out;
	u32 sacked_out;
	u32 lost_out;
	u32 delivered;
} KERNEL;

// What is kept of a socket; the proxy writes its slot, and zeros.
struct leg {
	// Its place among the windows.
	u32 slot;
	// Most that may be in flight since a loss, in segments; 0 without one that counts.
	u32 bound;
	// The bound before the last loss, for one that was none.
	u32 before;
	// Round trips since the last loss.
	u32 rounds;
	// `delivered` when this round trip ends, and at the last acknowledgement.
	u32 round_end;
	u32 delivered;
	// The state of loss.
	u32 state;
	// The next acknowledgement is the first after a loss.
	u32 fresh;
};

struct {
	NUMBER(type, SK_STORAGE);
	NUMBER(map_flags, NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct leg);
} legs SECTION(".maps");

// The windows in segments, in memory that the proxy writes; 0: no window is known. With the
// highest bit a loss changes nothing.
struct {
	NUMBER(type, ARRAY);
	NUMBER(map_flags, MMAPABLE);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} windows SECTION(".maps");

// A window whose leg takes no notice of a loss.
#define IGNORE (1ULL << 63)
// The least that a loss leaves (RFC 5681, equation 4), and the window of a leg without one
// (RFC 6928).
#define LEAST 2
#define INITIAL 10
// The most, 190 MB of segments of Ethernet. The kernel reads windows as signed numbers and
// multiplies them by what a segment takes of a send buffer (net/ipv4/tcp_input.c,
// tcp_sndbuf_expand).
#define MOST (1 << 17)
// After a loss the bound grows by an eighth in each of so many round trips, then twofold.
#define SLOW_ROUNDS 8

INLINE struct leg *leg_of(void *sk)
{
	return storage(&legs, sk, 0, 0);
}

INLINE u64 told(const struct leg *leg)
{
	u32 slot = leg->slot;
	u64 *window = lookup(&windows, &slot);

	return window ? *window : 0;
}

INLINE u32 window_of(const struct leg *leg)
{
	u64 window = told(leg) & ~IGNORE;

	if (!window)
		return INITIAL;
	return window < MOST ? window : MOST;
}

INLINE u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

INLINE u32 bounded(const struct leg *leg)
{
	u32 window = window_of(leg);

	return leg->bound && leg->bound < window ? leg->bound : window;
}

// The socket may have had another congestion control, which left its pace behind.
void leg_init(u64 *ctx)
{
	void *sk = (void *)ctx[0];
	struct tcp_sock *tp = sk;
	struct leg *leg = leg_of(sk);

	((struct sock *)sk)->sk_pacing_rate = ~0UL;
	((struct sock *)sk)->sk_pacing_status = 0;
	if (!leg)
		return;
	leg->delivered = tp->delivered;
	leg->round_end = tp->delivered;
	tp->snd_cwnd = bounded(leg);
}

// A window that changed while nothing was in flight.
void leg_event(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct leg *leg;

	if ((u32)ctx[1] != TX_START)
		return;
	leg = leg_of(tp);
	if (leg && leg->state < CWR)
		tp->snd_cwnd = bounded(leg);
}

void leg_state(u64 *ctx)
{
	struct leg *leg = leg_of((void *)ctx[0]);

	if (leg)
		leg->state = (u8)ctx[1];
}

// A loss: half of what was in flight (RFC 5681, equation 4), until it has grown again.
u32 leg_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct leg *leg = leg_of(tp);
	u32 flight = tp->packets_out < tp->snd_cwnd ? tp->packets_out : tp->snd_cwnd;
	u32 half = flight / 2 > LEAST ? flight / 2 : LEAST;

	if (!leg)
		return half;
	leg->fresh = 1;
	if (told(leg) & IGNORE)
		return window_of(leg);
	leg->before = leg->bound;
	leg->bound = half;
	leg->rounds = 0;
	leg->round_end = tp->delivered + tp->packets_out;
	return half;
}

// There was no loss: an acknowledgement was late (RFC 4015, RFC 8985 section 7.4).
u32 leg_undo(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct leg *leg = leg_of(tp);

	if (!leg)
		return tp->snd_cwnd;
	leg->bound = leg->before;
	return bounded(leg);
}

INLINE void grow(struct leg *leg, u32 window)
{
	leg->rounds++;
	if (!leg->bound)
		return;
	if (leg->rounds > SLOW_ROUNDS)
		leg->bound *= 2;
	else
		leg->bound += (leg->bound + 7) / 8;
	if (leg->bound >= window && leg->rounds > SLOW_ROUNDS)
		leg->bound = 0;
}

// At each acknowledgement.
void leg_control(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct leg *leg = leg_of(tp);
	u32 cwnd, window, acked;

	if (!leg)
		return;
	acked = tp->delivered - leg->delivered;
	leg->delivered = tp->delivered;
	window = window_of(leg);
	if (leg->state < CWR && (int)(tp->delivered - leg->round_end) >= 0) {
		grow(leg, window);
		leg->round_end = tp->delivered + tp->packets_out;
	}
	cwnd = bounded(leg);
	if (leg->state == LOSS) {
		// From the one segment that the kernel begins with, by slow start (RFC 5681, 3.1).
		u32 slow = tp->snd_cwnd + acked;

		cwnd = slow < cwnd ? slow : cwnd;
	} else if (leg->state == RECOVERY && leg->fresh) {
		// The first retransmission goes out whatever is in flight (RFC 6675, section 5).
		u32 one_more = in_flight(tp) + 1;

		cwnd = one_more > cwnd ? one_more : cwnd;
	}
	leg->fresh = 0;
	tp->snd_cwnd = cwnd;
}

const char _license[] SECTION("license") = "Dual MIT/GPL";
