"""A stand-in for the Hugging Face hub on 127.0.0.1: the part of its HTTP protocol that sharing an agent needs.

Its answers follow what `huggingface_hub` sends and reads; it has never been compared with the hub itself. Files are
small, and stay in memory.
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

TOKEN = "hf_writes"
"""The token of a user who may write to all repositories."""
Files = dict[str, bytes]


@dataclass
class Repository:
    """A repository: the files of each commit, and the commit of each branch and tag."""

    private: bool = False
    commits: dict[str, Files] = field(default_factory=lambda: {"0" * 40: {".gitattributes": b""}})
    refs: dict[str, str] = field(default_factory=lambda: {"main": "0" * 40})
    messages: list[str] = field(default_factory=list)
    large: set[str] = field(default_factory=set)

    def commit(self, files: Mapping[str, bytes], message: str = "") -> str:
        """Makes a commit on the branch main with these files and no others, and returns its name."""
        content = repr(sorted(files.items())) + self.refs["main"] + str(len(self.commits))
        name = hashlib.sha1(content.encode()).hexdigest()
        self.commits[name], self.refs["main"] = dict(files), name
        self.messages.append(message)
        return name

    def files(self) -> Files:
        return self.commits[self.refs["main"]]


class HubServer:
    """The server.

    Attributes:
        url: Its address.
        repositories: Repositories by ``OWNER/NAME``.
        asked: Method and path of each request.
        status: Status with which all requests are refused; None: none.
        lfs: Whether files of nets are sent as those of Git LFS; else they are part of the commit.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.asked: list[str] = []
        self.status: int | None = None
        self.lfs = False
        self.objects: Files = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fetched(self) -> set[str]:
        """Paths of all files whose content was asked for."""
        gets = (re.fullmatch(r"GET /[^/]+/[^/]+/resolve/[^/]+/(.+)", line) for line in self.asked)
        return {unquote(found[1]) for found in gets if found}


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = urlsplit(self.path).path
        self.hub.asked.append(f"{self.command} {path}")
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.hub.status is not None:
            return self._refuse(self.hub.status, "")
        for method, pattern, answer in _ROUTES:
            if method in (self.command, "*") and (found := re.fullmatch(pattern, path)):
                return answer(self, *map(unquote, found.groups()))
        return self._refuse(404, "EntryNotFound")

    def _send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _json(self, value: object, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), status, Content_Type="application/json")

    def _refuse(self, status: int, code: str) -> None:
        self._send(json.dumps({"error": code}).encode(), status, X_Error_Code=code, X_Error_Message=code or "refused")

    @property
    def _writes(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _found(self, name: str, revision: str = "main") -> tuple[Repository, str] | None:
        """The repository and the commit of a revision; else refuses."""
        repository = self.hub.repositories.get(name)
        if repository is None or (repository.private and not self._writes):
            return self._refuse(404 if self._writes else 401, "RepoNotFound")
        commit = repository.refs.get(revision, revision)
        if commit not in repository.commits:
            return self._refuse(404, "RevisionNotFound")
        return repository, commit

    def create(self) -> None:
        wanted = json.loads(self.body)
        if not self._writes:
            return self._refuse(401, "")
        name = f"{wanted['organization']}/{wanted['name']}"
        if name in self.hub.repositories:
            return self._json({"error": "You already created this model repo", "url": f"{self.hub.url}/{name}"}, 409)
        private = wanted.get("private") or wanted.get("visibility") == "private"
        self.hub.repositories[name] = Repository(bool(private))
        self._json({"url": f"{self.hub.url}/{name}"})

    def validate(self) -> None:
        _, front, _ = json.loads(self.body)["content"].split("---\n", 2)
        fields = yaml.safe_load(front)
        if all(isinstance(tag, str) for tag in fields["tags"]) and isinstance(fields["license"], str):
            return self._json({"errors": [], "warnings": []})
        self._json({"errors": [{"message": "tags must be texts"}], "warnings": []}, 400)

    def info(self, name: str, revision: str = "main") -> None:
        if (found := self._found(name, revision)) is not None:
            repository, commit = found
            files = [self._entry(repository, commit, path) for path in repository.commits[commit]]
            about = {"id": name, "sha": commit, "private": repository.private, "tags": []}
            self._json({**about, "siblings": [{"rfilename": each["path"], **each} for each in files]})

    def tree(self, name: str, revision: str) -> None:
        if (found := self._found(name, revision)) is not None:
            repository, commit = found
            self._json([self._entry(repository, commit, path) for path in repository.commits[commit]])

    def _entry(self, repository: Repository, commit: str, path: str) -> dict[str, Any]:
        content = repository.commits[commit][path]
        entry: dict[str, Any] = {"type": "file", "path": path, "size": len(content), "oid": _blob(content)}
        if path in repository.large:
            digest = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"oid": digest, "sha256": digest, "size": len(content), "pointerSize": 130}
        return entry | {"blobId": entry["oid"]}

    def preupload(self, name: str, revision: str) -> None:
        if self._found(name, revision) is None:
            return
        files = [each["path"] for each in json.loads(self.body)["files"]]
        modes = ["lfs" if self.hub.lfs and path.endswith(".safetensors") else "regular" for path in files]
        answers = zip(files, modes, strict=True)
        self._json({"files": [{"path": path, "uploadMode": mode, "shouldIgnore": False} for path, mode in answers]})

    def batch(self, name: str) -> None:
        wanted = json.loads(self.body)["objects"]
        place = f"{self.hub.url}/objects/"
        actions = [each | {"actions": {"upload": {"href": place + each["oid"]}}} for each in wanted]
        self._json({"transfer": "basic", "objects": actions})

    def store(self, digest: str) -> None:
        assert hashlib.sha256(self.body).hexdigest() == digest
        self.hub.objects[digest] = self.body
        self._send(b"")

    def commit(self, name: str, revision: str) -> None:
        if (found := self._found(name, revision)) is None:
            return
        if not self._writes:
            return self._refuse(403, "")
        repository, _ = found
        files, message = dict(repository.files()), ""
        for line in map(json.loads, self.body.splitlines()):
            key, value = line["key"], line["value"]
            if key == "header":
                message = value["summary"]
            elif key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.hub.objects[value["oid"]]
                repository.large.add(value["path"])
            else:
                assert key == "deletedFile", key
                del files[value["path"]]
        commit = repository.commit(files, message)
        self._json({"success": True, "commitOid": commit, "commitUrl": f"{self.hub.url}/{name}/commit/{commit}"})

    def resolve(self, name: str, revision: str, path: str) -> None:
        if (found := self._found(name, revision)) is None:
            return
        repository, commit = found
        content = repository.commits[commit].get(path)
        if content is None:
            return self._refuse(404, "EntryNotFound")
        tag = hashlib.sha256(content).hexdigest() if path in repository.large else _blob(content)
        self._send(content, ETag=f'"{tag}"', X_Repo_Commit=commit, Accept_Ranges="none")


def _blob(content: bytes) -> str:
    """Git's name of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


_MODEL = "/api/models/([^/]+/[^/]+)"
_ROUTES: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/api/repos/create", _Handler.create),
    ("POST", "/api/validate-yaml", _Handler.validate),
    ("GET", _MODEL, _Handler.info),
    ("GET", f"{_MODEL}/revision/([^/]+)", _Handler.info),
    ("GET", f"{_MODEL}/tree/([^/]+)", _Handler.tree),
    ("POST", f"{_MODEL}/preupload/([^/]+)", _Handler.preupload),
    ("POST", f"{_MODEL}/commit/([^/]+)", _Handler.commit),
    ("POST", r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch", _Handler.batch),
    ("PUT", "/objects/([0-9a-f]+)", _Handler.store),
    ("*", "/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", _Handler.resolve),
)
