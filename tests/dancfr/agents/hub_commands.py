"""Commands of dancfr in processes of their own, which ask the stand-in of the Hugging Face hub."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.dancfr.agents.hub_server import TOKEN, HubServer

ROOT = Path(__file__).resolve().parents[3]


def run_command(hub: HubServer, home: Path, *arguments: str, **more: str) -> tuple[int, dict[str, Any], str]:
    """Runs a command with ``--json`` beside a cache of the hub.

    Args:
        hub: The stand-in.
        home: Folder of the client's cache; the command runs in the folder above.
        arguments: Words of the command.
        more: Variables of its environment.

    Returns:
        Its exit code, its result, and what it wrote to standard error.
    """
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    own = {"HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_TOKEN": TOKEN, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-m", "dancfr", *arguments, "--json"],
        cwd=home.parent,
        env=os.environ | own | more,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr
