"""What notebooks show: drawings, tables and pages; see `seqray.util.display`."""
