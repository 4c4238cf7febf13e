"""Files: automata, words, and the layouts of PAutomaC, SPiCe and OpenFst."""
