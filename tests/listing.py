"""What is in a folder."""


def names(folder):
    """Return the names of all files but checksums."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".sha256")
