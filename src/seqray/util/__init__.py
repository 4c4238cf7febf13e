"""What every room uses: errors, arrays, files, progress. It knows nothing of automata."""
