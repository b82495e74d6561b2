"""The bill of materials of a release, in CycloneDX: all that `dancfr[all]` needs, as constraints.txt pins it."""

import json
import os
import subprocess
import sys
from importlib.metadata import metadata
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from packaging.utils import canonicalize_name

from tests.packaging.dependencies import ROOT, locked_files, pinned_versions, required_by, stated_by

REPRODUCIBLE = ("--output-reproducible", "--spec-version", "1.6", "--no-validate")
"""It is validated after the changes that are made here."""


class Unusable(Exception):
    """This environment cannot describe the dependencies; its text has the cause and the remedy."""


LOCKS = ("requirements.txt", "torch-cuda.txt", "extras.txt")
"""Files of docker/ with the hashes of PyPI's files."""


def bill_of_materials(seconds: int) -> dict[str, Any]:
    """Describes each package: version, licence, the file on PyPI with its SHA-256, and dependencies.

    Packages of the core have the scope required. The same packages at the same time give the same bill, serial number
    included.

    cyclonedx-py describes the whole environment, in which packages need all that any of their extras would; here the
    packages that only developers have are left out. So are the NVIDIA packages of a CUDA build of torch, which are not
    pinned.

    Args:
        seconds: The time of the bill, in seconds since 1970.

    Raises:
        Unusable: cyclonedx-py fails, this environment has other versions than constraints.txt, or a package has no
            hash in docker/.
    """
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(seconds)}
    done = subprocess.run([*command, *REPRODUCIBLE, sys.executable], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise Unusable(f"cyclonedx-py failed: {done.stderr.strip()[-500:]}")
    bill: dict[str, Any] = json.loads(done.stdout)
    found = {canonicalize_name(component["name"]): component for component in bill["components"]}
    pins = pinned_versions()
    core, needs = required_by(stated_by()), required_by(stated_by("all"))
    files = {name: entry for lock in LOCKS for name, entry in locked_files(lock).items()}
    kept = sorted(needs.keys() & pins.keys())
    for name in kept:
        public = found[name]["version"].partition("+")[0]  # constraints.txt names no build of torch
        if public != str(pins[name]):
            raise Unusable(f".venv has {name} {public}, unlike constraints.txt with {pins[name]}: run make setup")
        scope = "required" if name in core else "optional"
        found[name] |= {"version": public, "purl": f"pkg:pypi/{name}@{public}", "bom-ref": name, "scope": scope}
        if "licenses" not in found[name]:
            found[name]["licenses"] = stated_licence(name)
        locked, hashes = files.get(name, ("", []))
        if locked != public:
            raise Unusable(f"docker/ has no hash of {name} {public}: run make hashes")
        found[name].setdefault("externalReferences", []).append(distribution(name, hashes))
    root = bill["metadata"]["component"]["bom-ref"]
    needs[root] = {canonicalize_name(requirement.name) for requirement in stated_by("all")}
    bill["components"] = [found[name] for name in kept]
    bill["dependencies"] = [{"ref": name, "dependsOn": sorted(needs[name] & pins.keys())} for name in [root, *kept]]
    bill["serialNumber"] = f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(bill, sort_keys=True))}"
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    if wrong is not None:
        raise Unusable(f"the bill of materials is not valid CycloneDX 1.6: {wrong}")
    return bill


def stated_licence(name: str) -> list[dict[str, Any]]:
    """The licence in an installed package's own words, which cyclonedx-py leaves out unless they are an SPDX id.

    Raises:
        Unusable: the metadata of the package have no such line.
    """
    words = metadata(name)["License"]
    if not words or "\n" in words:
        raise Unusable(f"the metadata of {name} name no licence: write it down in stated_licence of {__file__}")
    return [{"license": {"acknowledgement": "declared", "name": words}}]


def distribution(name: str, hashes: list[str]) -> dict[str, Any]:
    """Where a package comes from, with the hash of the file that pip chooses on the image's platform."""
    return {
        "type": "distribution",
        "url": f"https://pypi.org/simple/{name}/",
        "comment": "hash of the file for CPython 3.11 on Linux x86_64",
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
    }
