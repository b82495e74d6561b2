"""The folder of a user's own project whose packages have the names of ours."""

from pathlib import Path


def make_project(folder: Path) -> Path:
    """Its packages fail when they are imported, but for the module `envs.mine`."""
    for name in ("actors", "envs", "learners"):
        package = folder / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"raise RuntimeError('{name} of the project was imported')\n")
    (folder / "envs" / "mine.py").write_text("")
    return folder
