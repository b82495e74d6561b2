"""Health check of the Ray node in this container: prints the state and exits with 0 (healthy) or 1.

A container that was not started with `ray start` trains by itself and is healthy as long as its process runs. The two
URLs are on this machine, and Ray answers them without a token.
"""

import sys
import urllib.request

import psutil

NODE = "http://127.0.0.1:52365/api/local_raylet_healthz"
HEAD = "http://127.0.0.1:8265/api/gcs_healthz"


def find_node() -> list[str] | None:
    """The arguments of `ray start` in this container; None without one."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        for index, word in enumerate(words[:-1]):
            if word.rpartition("/")[2] == "ray" and words[index + 1] == "start":
                return words[index + 2 :]
    return None


def answers(url: str) -> bool:
    """Whether the service at a URL reports that it is healthy."""
    try:
        with urllib.request.urlopen(url, timeout=4) as reply:
            return bool(reply.read(100).strip() == b"success")
    except OSError:
        return False


def main() -> int:
    """Checks the node and returns the exit code."""
    options = find_node()
    if options is None:
        print("no Ray node in this container")
        return 0
    wanted = {"node": NODE} | ({"head": HEAD} if "--head" in options else {})
    failed = [service for service, url in wanted.items() if not answers(url)]
    print(f"no answer from the {' and the '.join(failed)}" if failed else "healthy")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
