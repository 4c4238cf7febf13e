"""Black boxes: what a box can do, its queries, and one adapter per file.

Only `registry` names an adapter, by string, so that none is loaded before it is needed.
"""
