"""Progress of runs, where somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[int, float], None]
# A bar or none, or a function that shows it; None for a bar if the output is a terminal.
Progress = bool | Tell | None


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


@contextmanager
def shown(wanted: bool | Tell | None, runs: int, total_s: float) -> Iterator[Tell | None]:
    """A function of finished runs and simulated seconds that shows them; None for no progress."""
    if callable(wanted):
        yield wanted
        return
    if wanted is False or (wanted is None and not _is_watched()):
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield _line(runs, total_s)
        print(file=sys.stderr)
        return
    with tqdm(total=round(total_s, 3), unit="s", unit_scale=True, desc="simulated") as bar:

        def tell(finished: int, simulated_s: float) -> None:
            bar.set_postfix_str(f"{finished}/{runs} runs", refresh=False)
            bar.update(round(simulated_s - bar.n, 3))

        yield tell


def _line(runs: int, total_s: float) -> Tell:
    def tell(finished: int, simulated_s: float) -> None:
        print(f"\r{finished}/{runs} runs, {simulated_s:.0f} of {total_s:.0f} s", end="",
              file=sys.stderr, flush=True)

    return tell
