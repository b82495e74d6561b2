"""Whether the Ray node in this container is well: exit code 0 or 1, and a word on why.

A container that was not started with `ray start`, but trains by itself, is well as long as its process lives.
The two addresses are those that Ray keeps open without a token; both are on this machine.
"""

import sys
import urllib.request

import psutil

NODE = "http://127.0.0.1:52365/api/local_raylet_healthz"
HEAD = "http://127.0.0.1:8265/api/gcs_healthz"


def find_node() -> list[str] | None:
    """The arguments of `ray start` in this container; None if it was not called."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        for place, word in enumerate(words[:-1]):
            if word.rpartition("/")[2] == "ray" and words[place + 1] == "start":
                return words[place + 2 :]
    return None


def answers(url: str) -> bool:
    """Whether what serves there says of itself that it is well."""
    try:
        with urllib.request.urlopen(url, timeout=4) as reply:
            return bool(reply.read(100).strip() == b"success")
    except OSError:
        return False


def main() -> int:
    """The exit code."""
    options = find_node()
    if options is None:
        print("no node of Ray here")
        return 0
    wanted = {"node": NODE} | ({"head": HEAD} if "--head" in options else {})
    silent = [what for what, url in wanted.items() if not answers(url)]
    print(f"no answer of the {' and the '.join(silent)}" if silent else "well")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
