"""Commands that obey the modes of files, as those of all users but root do."""

import os
import shutil

import pytest


def obeying_modes() -> list[str]:
    """Returns the words before such a command; skips the test if root cannot give up its privileges."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may read and write everywhere, and setpriv is not there to take that away")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
