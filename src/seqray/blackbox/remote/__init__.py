"""Black boxes in another process: servers and programs."""
