"""Round trips with the real libraries, each in an environment of its own: `python -m tests.real_libraries`."""
