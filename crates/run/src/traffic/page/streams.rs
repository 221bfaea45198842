//! Streams of HTTP/2 (RFC 9113) and HTTP/3 (RFC 9114) on one connection: the server interleaves its
//! answers.
//!
//! Over HTTP/2 an answer is complete when the connection has delivered its last byte in order. Over
//! HTTP/3 it is complete when all its bytes are there, whatever other streams lack: a lost packet
//! holds up the streams that have bytes in it.

use justfull_base::Instant;
use std::collections::VecDeque;

/// Most bytes of an answer before the next answer has its turn: the initial SETTINGS_MAX_FRAME_SIZE
/// of HTTP/2 (RFC 9113 section 6.5.2).
const FRAME: u64 = 16_384;

/// An answer that the server sends and that is not complete.
#[derive(Clone, Copy, Debug)]
struct Answer {
    requested: Instant,
    /// Bytes that have no place in the connection.
    left: u64,
    /// Bytes that have not arrived.
    missing: u64,
}

/// Bytes of an answer in the connection.
#[derive(Clone, Copy, Debug)]
struct Frame {
    end: u64,
    size: u64,
    /// Bytes that have not arrived.
    missing: u64,
    answer: u64,
}

/// The streams of a connection. Frames of all open streams follow each other in turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    /// Requests that have not reached the server: bytes of the answer, time of the request.
    asked: VecDeque<(u64, Instant)>,
    /// Answers from number `first` on.
    answers: VecDeque<Answer>,
    first: u64,
    /// Answers that have bytes without a place, in the order of their turns.
    open: VecDeque<u64>,
    /// Frames that have not been delivered in order.
    frames: VecDeque<Frame>,
    /// Bytes of the connection that belong to a frame.
    placed: u64,
    /// Bytes that the server has given to the connection.
    written: u64,
    /// Times of the requests of answers that are complete.
    complete: VecDeque<Instant>,
}

impl Streams {
    /// The browser requests an answer of `bytes` at `now`.
    pub(super) fn ask(&mut self, now: Instant, bytes: u64) {
        self.asked.push_back((bytes, now));
    }

    /// The request for `bytes` reaches the server, which has not sent the last `unsent` bytes of
    /// the other answers: they share the rest of the connection with the new one.
    pub(super) fn open(&mut self, bytes: u64, unsent: u64) {
        self.place_until(self.written - unsent);
        let asked = self.asked.iter().position(|asked| asked.0 == bytes);
        if let Some((bytes, requested)) = asked.and_then(|i| self.asked.remove(i)) {
            self.open.push_back(self.first + self.answers.len() as u64);
            self.answers.push_back(Answer { requested, left: bytes, missing: bytes });
            self.written += bytes;
        }
    }

    /// Gives the bytes of the connection up to `end` to answers; a frame that is begun is given
    /// whole.
    fn place_until(&mut self, end: u64) {
        while self.placed < end
            && let Some(number) = self.open.pop_front()
        {
            let answer = &mut self.answers[(number - self.first) as usize];
            let size = answer.left.min(FRAME);
            answer.left -= size;
            if answer.left > 0 {
                self.open.push_back(number);
            }
            self.placed += size;
            self.frames.push_back(Frame { end: self.placed, size, missing: size, answer: number });
        }
    }

    /// The bytes from `from` to `to` of the connection have arrived for the first time; streams do
    /// not wait for each other.
    pub(super) fn arrived_apart(&mut self, from: u64, to: u64) {
        self.place_until(to);
        let first = self.frames.partition_point(|frame| frame.end <= from);
        for i in first..self.frames.len() {
            let frame = &mut self.frames[i];
            let begin = frame.end - frame.size;
            if begin >= to {
                break;
            }
            let bytes = (to.min(frame.end) - from.max(begin)).min(frame.missing);
            frame.missing -= bytes;
            let answer = frame.answer;
            self.arrived_of(answer, bytes);
        }
    }

    /// The connection has `delivered` bytes in order.
    pub(super) fn delivered(&mut self, delivered: u64) {
        self.place_until(delivered);
        while let Some(frame) = self.frames.front().copied().filter(|f| f.end <= delivered) {
            self.frames.pop_front();
            self.arrived_of(frame.answer, frame.missing);
        }
        while self.answers.front().is_some_and(|answer| answer.missing == 0) {
            self.answers.pop_front();
            self.first += 1;
        }
    }

    fn arrived_of(&mut self, answer: u64, bytes: u64) {
        // An answer before the first is complete.
        let Some(at) = answer.checked_sub(self.first) else { return };
        let answer = &mut self.answers[at as usize];
        answer.missing -= bytes;
        if bytes > 0 && answer.missing == 0 {
            self.complete.push_back(answer.requested);
        }
    }

    /// The time of the request of the next answer that is complete.
    pub(super) fn next_complete(&mut self) -> Option<Instant> {
        self.complete.pop_front()
    }

    /// True if no answer is to come.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.answers.iter().all(|answer| answer.missing == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    /// Answers a, b and c of three, one and two frames, requested at 1, 2 and 3: a b a a c c, since
    /// c is requested when the third frame has begun.
    fn streams() -> Streams {
        let mut streams = Streams::default();
        for (now, frames) in [(1, 3), (2, 1), (3, 2)] {
            streams.ask(at(now), frames * FRAME);
        }
        streams.open(3 * FRAME, 0);
        streams.open(FRAME, 3 * FRAME);
        streams.open(2 * FRAME, 2 * FRAME - 1);
        streams
    }

    fn complete(streams: &mut Streams) -> Vec<Instant> {
        std::iter::from_fn(|| streams.next_complete()).collect()
    }

    #[test]
    fn answers_share_the_connection_from_the_frame_after_their_request_arrives() {
        let mut streams = streams();
        streams.delivered(2 * FRAME - 1);
        assert_eq!(complete(&mut streams), []);
        streams.delivered(2 * FRAME);
        assert_eq!(complete(&mut streams), [at(2)]);
        // After the third frame the turns are a, c, c.
        streams.delivered(4 * FRAME);
        assert_eq!(complete(&mut streams), [at(1)]);
        assert!(!streams.is_idle());
        streams.delivered(6 * FRAME);
        assert_eq!(complete(&mut streams), [at(3)]);
        assert!(streams.is_idle());
    }

    #[test]
    fn a_gap_holds_up_the_answers_with_bytes_in_it_over_http_3_and_all_over_http_2() {
        let mut apart = streams();
        // All but the last 100 bytes of the first frame, which is a's.
        apart.arrived_apart(0, FRAME - 100);
        apart.arrived_apart(FRAME, 6 * FRAME);
        apart.delivered(FRAME - 100);
        assert_eq!(complete(&mut apart), [at(2), at(3)]);
        assert!(!apart.is_idle());
        apart.arrived_apart(FRAME - 100, FRAME);
        apart.delivered(6 * FRAME);
        assert_eq!((complete(&mut apart), apart.is_idle()), (vec![at(1)], true));
        let mut in_order = streams();
        in_order.delivered(FRAME - 100);
        assert_eq!(complete(&mut in_order), []);
        in_order.delivered(6 * FRAME);
        assert_eq!(complete(&mut in_order), [at(2), at(1), at(3)]);
    }
}
