"""What an automaton says, for people: named states, words explained, facts about the whole."""
