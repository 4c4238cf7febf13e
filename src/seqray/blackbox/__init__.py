"""Everything that can be asked: what a box can do, and one adapter a file.

Only `registry` names an adapter, by string, so that none is loaded before it is needed.
"""
