"""The list of jobs shows the parts of a command that `ray job submit` has sent."""

import pytest

from dancfr.cluster.entrypoint import Entrypoint, read_entrypoint


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (
            "python -m dancfr tune leduc-policy-gradient samples=200 --space s.toml --trials 2 --folder /data/tune",
            ("tune", "leduc-policy-gradient", "/data/tune"),
        ),
        ("dancfr tune --space 'my space.toml' --folder=/t leduc-dream --inline", ("tune", "leduc-dream", "/t")),
        (
            "cd /home/dancfr && exec /x/.venv/bin/dancfr train geister-quick --run-dir ~/a",
            ("train", "geister-quick", "~/a"),
        ),
        ("python -m dancfr train geister-depth-limited", ("train", "geister-depth-limited", "")),  # a former name
        ("python -m dancfr reproduce geister-fig4 --scale quick", ("reproduce", "", "")),
        ("python -m dancfr tune --folder", ("tune", "", "")),
        ("echo 'leduc-dream", ("", "", "")),
        ("python -m dancfr --help", ("", "", "")),
        ("python script.py leduc-dream --folder x", ("", "", "")),
    ],
)
def test_command_of_a_job_is_read(line: str, parts: tuple[str, str, str]) -> None:
    assert read_entrypoint(line) == Entrypoint(*parts)
