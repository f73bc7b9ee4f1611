"""What spanhook costs: CPU per operation, memory over many calls, import time. Run ``python -m benchmarks``."""
