"""Round trips with real libraries, each in a separate environment: `python -m tests.real_libraries`."""
