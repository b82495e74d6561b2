"""A stand-in of the server of Weights & Biases on 127.0.0.1, which keeps all that a client sends.

It answers the calls that the client makes for a run: GraphQL for runs and artifacts, the stream of rows, and uploads of
files. Rows are kept by their place in the stream, so a client that sends a place twice replaces the row. It knows one
user, and has no pages.
"""

import asyncio
import json
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

ENTITY = "stand-in"
KEY = "5a" * 20
"""The key of the one user; others are refused."""

FEATURES = (
    "ARTIFACT_DIGEST_ALGORITHM",
    "ARTIFACT_TAGS",
    "CLIENT_IDS",
    "EVAL_TABLES_CES",
    "FILESTREAM_GZIP",
    "LARGE_FILENAMES",
    "MARK_RUN_FILES_UPLOADED",
    "PROJECT_ARTIFACT_COLLECTION_MEMBERSHIP",
    "STRUCTURED_CONSOLE_LOGS",
    "SWEEPS_LOCAL_SCHEDULER",
    "TOTAL_COUNT_IN_FILE_CONNECTION",
    "USE_ARTIFACT_WITH_ENTITY_AND_PROJECT_INFORMATION",
)
"""Abilities of a server that the client asks for. Servers differ in them, and so may the calls that follow."""

Answer = dict[str, Any]


@dataclass
class SentRun:
    """A run as the server has it.

    Attributes:
        settings: Arguments of the first call for the run, such as ``groupName``, ``displayName`` and ``tags``.
        lines: Lines of the streams by file, ``wandb-history.jsonl`` being the rows.
        starts: How often a client has started or resumed the run.
        files: Contents of its files by name.
        exit_code: Exit code of the training; None while it runs.
    """

    settings: Answer
    config: Answer = field(default_factory=dict)
    lines: dict[str, dict[int, str]] = field(default_factory=dict)
    starts: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    exit_code: int | None = None

    def rows(self) -> list[Answer]:
        """Returns the rows without W&B's own keys, in the order of their places."""
        parsed = [json.loads(line) for _, line in sorted(self.lines.get("wandb-history.jsonl", {}).items())]
        return [{key: value for key, value in row.items() if not key.startswith("_")} for row in parsed]

    def summary(self) -> Answer:
        """Returns the newest summary."""
        lines = self.lines.get("wandb-summary.json", {})
        found: Answer = json.loads(lines[max(lines)]) if lines else {}
        return found


@dataclass
class Sweep:
    """A sweep, whose agents get one set of parameters after another, and then the word to end.

    Attributes:
        config: The sweep as its author has written it.
        waiting: Parameters of the runs to come, by id.
        begun: Ids of the runs that an agent has been given.
    """

    config: str
    waiting: dict[str, Answer]
    begun: list[str] = field(default_factory=list)

    def commands(self, busy: bool) -> list[Answer]:
        """Returns the next commands of an agent; `busy` says whether its last run has not ended."""
        if busy:
            return []
        if not self.waiting:
            return [{"type": "exit"}]
        name = next(iter(self.waiting))
        given = {key: {"value": value} for key, value in self.waiting.pop(name).items()}
        self.begun.append(name)
        return [{"type": "run", "run_id": name, "program": "dancfr", "args": given}]


@dataclass
class SentArtifact:
    """An artifact: its name, type and aliases, its files by path, and whether it is complete."""

    name: str
    type: str
    run: str
    aliases: list[str]
    manifest: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)
    committed: bool = False


class Server:
    """The stand-in; `serving` starts one.

    Attributes:
        runs: Runs by id.
        artifacts: Artifacts in the order in which they were made.
        unknown: GraphQL calls that it has no answer for, which is an error for the client.
        sweep: The sweep that agents ask for.
        away: Whether it answers every call with an error of the server (503).
        features: The `FEATURES` that it says to have.
        refusals: Status and body with which GraphQL calls are refused, by their name.
        views: Reports, as their clients have sent them.
    """

    def __init__(self) -> None:
        self.runs: dict[str, SentRun] = {}
        self.artifacts: list[SentArtifact] = []
        self.unknown: set[str] = set()
        self.sweep = Sweep("", {})
        self.away = False
        self.features: tuple[str, ...] = ()
        self.refusals: dict[str, tuple[int, Answer]] = {}
        self.views: list[Answer] = []
        self._calls: dict[str, Callable[[Answer], Answer]] = {
            "ServerFeaturesQuery": lambda _: {"serverInfo": {"features": self._features()}},
            "Viewer": self._viewer,
            "RunResumeStatus": self._resume_status,
            "UpsertBucket": self._upsert,
            "CreateRunFiles": self._run_files,
            "ArtifactType": lambda _: {"project": None},
            "CreateArtifact": self._create_artifact,
            "ArtifactByID": self._artifact,
            "CreateArtifactManifest": self._artifact_manifest,
            "CreateArtifactFiles": self._artifact_files,
            "CommitArtifact": self._commit,
            "SweepWithRuns": lambda _: {"project": {"sweep": {"config": self.sweep.config, "runs": {"edges": []}}}},
            "CreateAgent": lambda _: {"createAgent": {"agent": {"id": "agent"}}},
            "Heartbeat": self._heartbeat,
            "OrganizationCoreWeaveOrganizationID": lambda _: {"entity": None},
            "ProjectInternalId": lambda given: {"project": {"internalId": f"project-{given['projectName']}"}},
            "GetProjects": self._projects,
            "upsertView": self._view,
        }
        self.address = ""

    def app(self) -> web.Application:
        """Returns the server as an application of aiohttp."""
        app = web.Application(client_max_size=2**28, middlewares=[self._guard])
        app.router.add_post("/graphql", self._graphql)
        app.router.add_post("/files/{entity}/{project}/{run}/file_stream", self._stream)
        app.router.add_put("/storage/{kind}/{of}/{name:.*}", self._store)
        app.router.add_post("/sdk/{rest:.*}", self._ignore)  # figures about the client itself
        return app

    def of_type(self, kind: str) -> list[SentArtifact]:
        """Returns the complete artifacts of a type, oldest first."""
        return [artifact for artifact in self.artifacts if artifact.type == kind and artifact.committed]

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.away:
            return web.Response(status=503)
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _graphql(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") not in (_basic(KEY), f"Bearer {KEY}"):
            return web.Response(status=401)
        body = await request.json()
        name = body["query"].split("(")[0].split("{")[0].split()[1]
        if name in self.refusals:
            status, refusal = self.refusals[name]
            return web.json_response(refusal, status=status)
        call = self._calls.get(name)
        if call is None:
            self.unknown.add(name)
            return web.json_response({"errors": [{"message": f"the stand-in does not know {name}"}]})
        return web.json_response({"data": call(body.get("variables") or {})})

    async def _stream(self, request: web.Request) -> web.Response:
        run = self.runs[request.match_info["run"]]
        body = await request.json()
        for name, part in (body.get("files") or {}).items():
            run.lines.setdefault(name, {}).update(enumerate(part["content"], part["offset"]))
        if body.get("complete"):
            run.exit_code = body["exitcode"]
        return web.json_response({"limits": {}})

    async def _store(self, request: web.Request) -> web.Response:
        kind, of, name = (request.match_info[key] for key in ("kind", "of", "name"))
        data = await request.read()
        if kind == "run":
            self.runs[of].files[name] = data
        elif kind == "manifest":
            self.artifacts[int(of)].manifest = data
        else:
            self.artifacts[int(of)].files[name] = data
        return web.Response()

    async def _ignore(self, _: web.Request) -> web.Response:
        return web.Response()

    def _features(self) -> list[Answer]:
        return [{"__typename": "ServerFeature", "name": name, "isEnabled": True} for name in self.features]

    def _viewer(self, _: Answer) -> Answer:
        user = {"id": "user", "entity": ENTITY, "username": ENTITY, "email": "", "flags": "{}", "teams": {"edges": []}}
        return {"viewer": user}

    def _resume_status(self, given: Answer) -> Answer:
        run = self.runs.get(given["name"])
        if run is None:
            return {"model": None}
        history = run.lines.get("wandb-history.jsonl", {})
        events = run.lines.get("wandb-events.jsonl", {})
        bucket = self._bucket(given["name"], run) | {
            "summaryMetrics": json.dumps(run.summary()),
            "logLineCount": len(run.lines.get("output.log", {})),
            "eventsLineCount": len(events),
            "historyTail": json.dumps([history[max(history)]] if history else []),
            "eventsTail": json.dumps([events[max(events)]] if events else []),
            "tags": run.settings["tags"],
            "notes": None,
            "wandbConfig": json.dumps({"t": 1}),
        }
        return {"model": {**_project(run.settings["project"]), "bucket": bucket}}

    def _upsert(self, given: Answer) -> Answer:
        name = given["name"] or given["id"].removeprefix("id-")
        inserted = name not in self.runs
        run = self.runs.setdefault(name, SentRun(given))
        if given["config"]:
            run.config = {key: entry["value"] for key, entry in json.loads(given["config"]).items()}
        if given["displayName"]:
            run.starts += 1
        return {"upsertBucket": {"bucket": self._bucket(name, run), "inserted": inserted}}

    def _bucket(self, name: str, run: SentRun) -> Answer:
        return {
            "id": f"id-{name}",
            "name": name,
            "displayName": run.settings["displayName"],
            "description": None,
            "config": json.dumps({key: {"value": value} for key, value in run.config.items()}),
            "sweepName": None,
            "project": _project(run.settings["project"]),
            "historyLineCount": len(run.lines.get("wandb-history.jsonl", {})),
        }

    def _heartbeat(self, given: Answer) -> Answer:
        commands = self.sweep.commands(busy=bool(json.loads(given["runState"])))
        return {"agentHeartbeat": {"agent": {"id": given["id"]}, "commands": json.dumps(commands)}}

    def _projects(self, given: Answer) -> Answer:
        rest = {"entityName": given["entity"], "createdAt": "2026-01-01T00:00:00", "isBenchmark": False, "user": None}
        names = sorted({run.settings["project"] for run in self.runs.values()})
        nodes = [{"node": {"id": f"project-{name}", "name": name, **rest}} for name in names]
        return {"models": {"pageInfo": {"endCursor": None, "hasNextPage": False}, "edges": nodes}}

    def _view(self, given: Answer) -> Answer:
        self.views.append(given)
        project = {"id": "project", "name": given["projectName"], "entityName": given["entityName"]}
        kept = {key: given[key] for key in ("name", "displayName", "description", "type", "spec")}
        view = kept | {"id": f"view-{len(self.views)}", "project": project, "updatedAt": None}
        return {"upsertView": {"view": view, "inserted": True}}

    def _run_files(self, given: Answer) -> Answer:
        files = [{"name": name, "uploadUrl": self._place("run", given["run"], name)} for name in given["files"]]
        return {"createRunFiles": {"runID": f"id-{given['run']}", "uploadHeaders": [], "files": files}}

    def _create_artifact(self, given: Answer) -> Answer:
        about = given["input"]
        aliases = [alias["alias"] for alias in about.get("aliases") or []]
        made = SentArtifact(about["artifactCollectionName"], about["artifactTypeName"], about["runName"], aliases)
        self.artifacts.append(made)
        number = str(len(self.artifacts) - 1)
        artifact = {"id": number, "state": "PENDING", "artifactSequence": {"latestArtifact": None}}
        return {"createArtifact": {"artifact": artifact}}

    def _artifact(self, given: Answer) -> Answer:
        found = self.artifacts[int(given["id"])]
        collection = {"id": "collection", "name": found.name, "project": _project("dancfr") | {"internalId": "1"}}
        about = {"description": None, "metadata": None, "historyStep": None, "commitHash": None, "updatedAt": None}
        return {
            "artifact": {
                **about,
                "id": given["id"],
                "artifactSequence": {"__typename": "ArtifactSequence", **collection},
                "versionIndex": 0,
                "artifactType": {"name": found.type},
                "ttlDurationSeconds": -2,
                "ttlIsInherited": True,
                "tags": [],
                "state": "COMMITTED" if found.committed else "PENDING",
                "size": sum(map(len, found.files.values())),
                "digest": "",
                "digestAlgorithm": None,
                "fileCount": len(found.files),
                "createdAt": "2026-01-01T00:00:00",
                "aliases": [],
            }
        }

    def _artifact_manifest(self, given: Answer) -> Answer:
        place = self._place("manifest", given["artifactID"], "manifest.json")
        file = {"id": f"file-{given['artifactID']}", "uploadUrl": place, "uploadHeaders": []}
        return {"createArtifactManifest": {"artifactManifest": {"id": given["artifactID"], "file": file}}}

    def _artifact_files(self, given: Answer) -> Answer:
        nodes = [
            {
                "storagePath": wanted["name"],
                "uploadUrl": self._place("artifact", wanted["artifactID"], wanted["name"]),
                "uploadHeaders": [],
                "uploadMultipartUrls": None,
                "artifact": {"id": wanted["artifactID"]},
            }
            for wanted in given["input"]["artifactFiles"]
        ]
        return {"createArtifactFiles": {"files": {"edges": [{"node": node} for node in nodes]}}}

    def _commit(self, given: Answer) -> Answer:
        self.artifacts[int(given["artifactID"])].committed = True
        return {"commitArtifact": {"artifact": {"id": given["artifactID"], "digest": ""}}}

    def _place(self, kind: str, of: str, name: str) -> str:
        return f"{self.address}/storage/{kind}/{of}/{name}"


def _project(name: str) -> Answer:
    return {"id": f"project-{name}", "name": name, "entity": {"id": "entity", "name": ENTITY}}


def _basic(key: str) -> str:
    return f"Basic {b64encode(f'api:{key}'.encode()).decode()}"


@contextmanager
def serving() -> Iterator[Server]:
    """A stand-in in a thread of this process, on a free port."""
    server = Server()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = web.AppRunner(server.app())

    async def start() -> str:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    try:
        server.address = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
