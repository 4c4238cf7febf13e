"""What differs between two black boxes or automata: `seqray.diff`."""
