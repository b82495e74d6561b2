"""A stand-in for the Hugging Face hub on 127.0.0.1: the part of its HTTP protocol that sharing an agent needs.

Its answers follow what `huggingface_hub` and `hf_xet` send and read; it has never been compared with the hub itself.
Files of nets are part of the commit, or, with `HubServer.lfs`, go to Xet or Git LFS as the client chooses. Files
are small, and stay in memory.
"""

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

from tests.dancfr.agents.xet_store import XetStore

TOKEN = "hf_writes"
"""The token of a user who may write to all repositories."""
Files = dict[str, bytes]
Refusal = tuple[int, str, str, Mapping[str, str]]


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
        renamed: New names of repositories by their old ones.
        refusals: Status, code, message and headers with which requests are refused, by a pattern of method and path.
        lfs: Whether files of nets are sent as large ones, by Git LFS or Xet; else they are part of the commit.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.asked: list[str] = []
        self.status: int | None = None
        self.renamed: dict[str, str] = {}
        self.refusals: dict[str, Refusal] = {}
        self.lfs = False
        self.objects: Files = {}
        self.xet = XetStore()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.elsewhere = f"http://localhost:{self._server.server_port}"  # large files come from another host
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
        for pattern, refusal in self.hub.refusals.items():
            if re.search(pattern, f"{self.command} {path}"):
                return self._refuse(*refusal)
        for old, new in self.hub.renamed.items():
            if (moved := path.replace(f"/{old}/", f"/{new}/")) != path:
                return self._send(b"", 307, Location=moved + self.path[len(path) :])
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

    def _refuse(
        self, status: int, code: str, message: str = "", headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        body = json.dumps({"error": message or code}).encode()
        self._send(body, status, X_Error_Code=code, X_Error_Message=message or code or "refused", **headers)

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
        if (found := self._found(name, revision)) is None:
            return
        there, answers = found[0].commits[found[1]], []
        for path in (each["path"] for each in json.loads(self.body)["files"]):
            large = self.hub.lfs and path.endswith(".safetensors")
            answer = {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
            if path in there:
                answer["oid"] = hashlib.sha256(there[path]).hexdigest() if large else _blob(there[path])
            answers.append(answer)
        self._json({"files": answers})

    def batch(self, name: str) -> None:
        asked = json.loads(self.body)
        wanted = asked["objects"]
        if "xet" in asked["transfers"]:  # as versions before 2 ask for Xet
            return self._json({"transfer": "xet", "objects": wanted})
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
                stored = self.hub.objects.get(value["oid"])
                files[value["path"]] = self.hub.xet.content(value["oid"]) if stored is None else stored
                repository.large.add(value["path"])
            else:
                assert key == "deletedFile", key
                del files[value["path"]]
        commit = repository.commit(files, message)
        self._json({"success": True, "commitOid": commit, "commitUrl": f"{self.hub.url}/{name}/commit/{commit}"})

    def xet_token(self, name: str, scope: str, revision: str) -> None:
        if self._found(name, revision) is None:
            return
        if scope == "write" and not self._writes:
            return self._refuse(403, "")
        expires = int(time.time()) + 3600
        headers = {"X_Xet_Cas_Url": self.hub.url, "X_Xet_Access_Token": scope, "X_Xet_Token_Expiration": str(expires)}
        answer = {"casUrl": self.hub.url, "accessToken": scope, "exp": expires}
        self._send(json.dumps(answer).encode(), Content_Type="application/json", **headers)

    def add_xorb(self, digest: str) -> None:
        new = digest not in self.hub.xet.xorbs
        self.hub.xet.xorbs[digest] = self.body
        self._json({"was_inserted": new})

    def add_shard(self) -> None:
        self.hub.xet.add_shard(self.body)
        self._json({"result": 1})

    def reconstruction(self, digest: str) -> None:
        self._json(self.hub.xet.reconstruction(digest, f"{self.hub.url}/xorbs/"))

    def xorb(self, digest: str) -> None:
        content = self.hub.xet.xorbs[digest]
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        part = content[first : last + 1]
        self._send(part, 206, Content_Range=f"bytes {first}-{first + len(part) - 1}/{len(content)}")

    def resolve(self, name: str, revision: str, path: str) -> None:
        if (found := self._found(name, revision)) is None:
            return
        repository, commit = found
        content = repository.commits[commit].get(path)
        if content is None:
            return self._refuse(404, "EntryNotFound")
        if path not in repository.large:
            return self._send(content, ETag=f'"{_blob(content)}"', X_Repo_Commit=commit, Accept_Ranges="none")
        digest = hashlib.sha256(content).hexdigest()
        self.hub.objects[digest] = content
        headers = {"X_Linked_Etag": f'"{digest}"', "X_Linked_Size": str(len(content)), "X_Repo_Commit": commit}
        if (stored := self.hub.xet.hashes.get(digest)) is not None:
            auth = f"{self.hub.url}/api/models/{name}/xet-read-token/{commit}"
            headers |= {"X_Xet_Hash": stored, "Link": f'<{auth}>; rel="xet-auth"'}
        self._send(b"", 302, Location=f"{self.hub.elsewhere}/objects/{digest}", **headers)

    def object(self, digest: str) -> None:
        self._send(self.hub.objects[digest], ETag=f'"{digest}"', Accept_Ranges="none")


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
    ("*", "/objects/([0-9a-f]+)", _Handler.object),
    ("GET", f"{_MODEL}/xet-(read|write)-token/([^/]+)", _Handler.xet_token),
    ("POST", "/v1/xorbs/default/([0-9a-f]{64})", _Handler.add_xorb),
    ("POST", "/v1/shards", _Handler.add_shard),
    ("GET", "/v1/reconstructions/([0-9a-f]{64})", _Handler.reconstruction),
    ("GET", "/xorbs/([0-9a-f]{64})", _Handler.xorb),
    ("*", "/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", _Handler.resolve),
)
