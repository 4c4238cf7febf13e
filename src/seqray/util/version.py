"""The version of seqray."""

__version__ = "0.2.0"
