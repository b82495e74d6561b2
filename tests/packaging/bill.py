"""The bill of materials of a release, in CycloneDX: all that `dancfr[all]` needs, as constraints.txt pins it."""

import json
import subprocess
import sys
from typing import Any

from packaging.utils import canonicalize_name

from tests.packaging.dependencies import ROOT, pinned_versions, required_by, stated_by

REPRODUCIBLE = ("--output-reproducible", "--spec-version", "1.6", "--no-validate")
"""It is validated after the changes that are made here."""


class Unusable(Exception):
    """This environment cannot describe the dependencies; its text has the cause and the remedy."""


def bill_of_materials() -> dict[str, Any]:
    """Describes each package with its version, licence and dependencies; those of the core have the scope required.

    cyclonedx-py describes the whole environment, in which packages need all that any of their extras would; here the
    packages that only developers have are left out. So are the NVIDIA packages of a CUDA build of torch, which are not
    pinned.

    Raises:
        Unusable: cyclonedx-py fails, or this environment has other versions than constraints.txt.
    """
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    done = subprocess.run([*command, *REPRODUCIBLE, sys.executable], capture_output=True, text=True)
    if done.returncode:
        raise Unusable(f"cyclonedx-py failed: {done.stderr.strip()[-500:]}")
    bill: dict[str, Any] = json.loads(done.stdout)
    found = {canonicalize_name(component["name"]): component for component in bill["components"]}
    pins = pinned_versions()
    core, needs = required_by(stated_by()), required_by(stated_by("all"))
    kept = sorted(needs.keys() & pins.keys())
    for name in kept:
        public = found[name]["version"].partition("+")[0]  # constraints.txt names no build of torch
        if public != str(pins[name]):
            raise Unusable(f".venv has {name} {public}, unlike constraints.txt with {pins[name]}: run make setup")
        scope = "required" if name in core else "optional"
        found[name] |= {"version": public, "purl": f"pkg:pypi/{name}@{public}", "bom-ref": name, "scope": scope}
    root = bill["metadata"]["component"]["bom-ref"]
    needs[root] = {canonicalize_name(requirement.name) for requirement in stated_by("all")}
    bill["components"] = [found[name] for name in kept]
    bill["dependencies"] = [{"ref": name, "dependsOn": sorted(needs[name] & pins.keys())} for name in [root, *kept]]
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    if wrong is not None:
        raise Unusable(f"the bill of materials is not valid CycloneDX 1.6: {wrong}")
    return bill
