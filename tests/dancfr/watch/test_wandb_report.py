"""A report in W&B, saved by its own package on the stand-in, has panels for the metrics of a real run."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("wandb_workspaces")

from dancfr.errors import UsageError
from dancfr.watch.wandb_report import SECTIONS, TABLES, save_report
from tests.wandb_server import ENTITY, Server

RUN = ("leduc-dream-quick", "iterations=2", "traversals=50", "chunk=50", "evaluation.every=2", "evaluation.games=20")
PROJECT = f"{ENTITY}/dancfr"
ONLY_ON_FAULTS = {"Recoveries"}


def run_module(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dancfr.watch.wandb_report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def panels(spec: dict[str, Any]) -> list[dict[str, Any]]:
    grids = [block["metadata"]["panelBankSectionConfig"] for block in spec["blocks"] if block["type"] == "panel-grid"]
    return [panel for grid in grids for panel in grid["panels"]]


def test_report_of_a_real_run_has_its_metrics_in_panels(tmp_path: Path, server: Server) -> None:
    command = [sys.executable, "-m", "dancfr", "train", *RUN, "--wandb", "online", "--run-dir", str(tmp_path / "run")]
    trained = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert trained.returncode == 0, trained.stderr
    done = run_module(PROJECT, "My runs")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{server.address}/{PROJECT}/reports/My-runs--view-1\n"

    (view,) = server.views
    assert (view["entityName"], view["projectName"], view["displayName"]) == (ENTITY, "dancfr", "My runs")
    shown = panels(json.loads(view["spec"]))
    (run,) = server.runs.values()
    sent = {key for row in run.rows() for key in row}
    lines = [panel["config"] for panel in shown if panel["viewType"] == "Run History Line Plot"]
    assert [line["chartTitle"] for line in lines] == [title for section in SECTIONS for title in section.panels]
    for line in lines:
        matching = {key for key in sent if re.fullmatch(line["metricRegex"], key)}
        assert matching or line["chartTitle"] in ONLY_ON_FAULTS, line
        assert line["xAxis"] in sent
    named = json.dumps([panel for panel in shown if panel not in lines])
    assert [table for table in TABLES if table not in named] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "write ENTITY/PROJECT, and a title if you like"),
        (("--help",), "write ENTITY/PROJECT, and a title if you like"),
        ((f"{ENTITY}/elsewhere",), f"no project of {ENTITY} named 'elsewhere'"),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_made(arguments: tuple[str, ...], says: str, server: Server) -> None:
    """In processes of their own: W&B's service would outlive the test."""
    done = run_module(*arguments)
    (line,) = done.stderr.strip().splitlines()
    assert (done.returncode, line.startswith(f"dancfr: {says}")) == (2, True), line
    assert not server.views


def test_incomplete_names_are_refused() -> None:
    for project in ("dancfr", f"{ENTITY}/", "/dancfr", f"{ENTITY}/dancfr/x"):
        with pytest.raises(UsageError, match=re.escape(f"write the project as ENTITY/PROJECT, got {project!r}")):
            save_report(project)
    with pytest.raises(UsageError, match="a title has 1 to 128 characters"):
        save_report(PROJECT, "x" * 129)


def test_refusal_of_the_server_is_told_in_one_line(server: Server) -> None:
    server.refusals["GetProjects"] = (403, {"errors": [{"message": "permission denied"}]})
    done = run_module(PROJECT)
    (line,) = done.stderr.strip().splitlines()
    assert done.returncode == 1
    assert line.startswith("dancfr: ")
    assert server.address in line
    assert "permission denied" in line
