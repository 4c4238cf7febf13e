import tracemalloc

from seqray.util.arrays import hold_memory


def peak_bytes(call):
    """Return how much memory a call takes at most."""
    hold_memory()  # else a first walk counts the block that it frees at once
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
