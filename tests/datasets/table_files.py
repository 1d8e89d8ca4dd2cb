"""Tables as files."""


def written(folder, content, name="table.csv"):
    """The path of a file with this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
