"""Where the examples are, and Ctrl-C as a terminal has it."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

# A program started in the background ignores SIGINT, and Python inherits this.
signal.signal(signal.SIGINT, signal.default_int_handler)
