"""File formats, PAutomaC machines, generators."""
