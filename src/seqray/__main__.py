"""``python -m seqray``."""

from seqray.cli import main

main()
