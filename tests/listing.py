"""What is in a folder."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())
