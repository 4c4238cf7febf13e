"""The version of seqray."""

__version__ = "0.1.0"
