"""An idea in 20 lines: a limiter of one's own, run beside the shipped methods."""

import math

import justfull as jf


class MyDrql(jf.Limiter):
    """DRQL (T20, Algorithm 1): grow when the radio starved at the limit, shrink by the rest that
    remained."""

    overdraws = True

    def __init__(self, unit: str, slot: int, mtu: int) -> None:
        super().__init__(unit, slot, mtu)
        self.packet = mtu if unit == "bytes" else 1
        self.limit = 1024 * self.packet
        self.reached = False
        self.since, self.least = 0, math.inf

    def room(self, now: int, backlog: int) -> int:
        return max(self.limit - backlog, 0)

    def on_admitted(self, now: int, amount: int, backlog: int) -> None:
        self.reached = self.reached or backlog >= self.limit

    def on_slot(self, report: jf.SlotReport) -> None:
        now, remaining = report.pulled_at, report.remaining
        restart = True
        if remaining == 0 and self.reached:
            self.limit = min(math.ceil(1.2 * self.limit), 1024 * self.packet)
        elif remaining > 0:
            self.least = min(self.least, remaining)
            restart = now - self.since >= self.slot
            if restart:
                self.limit = max(self.limit - int(self.least), self.packet)
        if restart:
            self.since, self.least = now, math.inf
        self.reached = remaining >= self.limit


if __name__ == "__main__":
    print(jf.scenario("voip-over-lte").run(["Vanilla", "DRQL", MyDrql], seeds=3))
