"""The Ray that `dancfr train` starts by itself, with its dashboard: nothing of it is open to others."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

from tests.cluster.nodes import ROOT

SCRIPT = """
import json, psutil, requests
from actors.remote import RayRuntime
from tests.cluster.nodes import listening
runtime = RayRuntime(workers=1, dashboard=True)
runtime.get(runtime.start(list, (1, 2)).ready())
url = runtime.dashboard_url
answers = {path: requests.get(url + path, timeout=20).status_code for path in ("/api/jobs/", "/nodes?view=summary")}
heard = sorted(listening(psutil.Process().children(recursive=True)))
runtime.shutdown()
print(json.dumps({"url": url, "answers": answers, "heard": heard}))
"""


def test_every_port_of_a_local_ray_is_on_the_loopback_interface_and_asks_for_a_token(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT, env={**kept, "HOME": str(tmp_path)}, umask=0, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["url"].startswith("http://127.0.0.1:")
    assert set(found["answers"].values()) == {401}
    assert len(found["heard"]) > 5
    open_to_others = [(ip, port) for ip, port in found["heard"] if ip not in ("127.0.0.1", "::1")]
    assert not open_to_others
    token = tmp_path / ".ray" / "auth_token"
    assert len(token.read_text()) >= 32, "made at the first start, for this user"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (token.parent, token)] == [0o700, 0o600]
