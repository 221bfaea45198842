"""Where the examples are, and Ctrl-C as a terminal has it."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

# What is started in the background ignores SIGINT, and so would Python.
signal.signal(signal.SIGINT, signal.default_int_handler)
