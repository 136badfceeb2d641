"""JSON-RPC and MCP without a transport: a message goes in, its answer comes out.

Supports protocol version 2026-07-28, in which every request carries its version, and the earlier ones with a
handshake.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol

from anamnesis.errors import AnamnesisError, explained
from anamnesis.mcp.arguments import Schema, checked, parameters
from anamnesis.plain import escaped

MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
# Lists change only with a new release: a client may cache them for an hour.
_CACHEABLE = ("tools/list", "prompts/list", "resources/templates/list", "server/discover")
_CACHED_MS = 3_600_000

# The answer to a batch of zeros would be a hundred times as large as the batch.
_MOST_IN_BATCH = 1_000

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NO_VERSION, _NO_RESOURCE = -32022, -32002

Message = dict[str, Any]
Report = Callable[[str], None]


class ProtocolError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Work(Enum):
    """The kind of work that a message needs. A transport with several threads runs each kind separately."""

    NONE = auto()
    READ = auto()
    WRITE = auto()
    GIT = auto()
    NETWORK = auto()


class ServerTool(Protocol):
    """A tool of either dialect, as the server sees it."""

    @property
    def name(self) -> str: ...

    @property
    def work(self) -> Work: ...

    def declaration(self) -> Message: ...

    def result(self, arguments: object) -> Message: ...


@dataclass(frozen=True, slots=True)
class Part:
    """A page of a list of `total` notes that starts at `offset`, and a notice about all of them."""

    values: Sequence[Message]
    offset: int
    total: int
    notice: str = ""

    @property
    def end(self) -> int:
        return self.offset + len(self.values)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that agents may call; its docstring is its description.

    `open_world` tools wait for a network, and `runs_git` tools for local git commands.
    """

    call: Callable[..., Any]
    title: str
    input: Schema = field(default_factory=parameters)
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    runs_git: bool = False

    @property
    def name(self) -> str:
        return self.call.__name__

    @property
    def work(self) -> Work:
        if self.open_world:
            return Work.NETWORK
        if self.runs_git:
            return Work.GIT
        return Work.READ if self.read_only else Work.WRITE

    def declaration(self) -> Message:
        annotations: Message = {
            "title": self.title,
            "readOnlyHint": self.read_only,
            "openWorldHint": self.open_world,
        }
        if not self.read_only:
            annotations |= {"destructiveHint": self.destructive, "idempotentHint": self.idempotent}
        return {
            "name": self.name,
            "title": self.title,
            "description": unwrapped(self.call.__doc__),
            "inputSchema": self.input,
            "annotations": annotations,
        }

    def result(self, arguments: object) -> Message:
        try:
            value = self.call(**checked(self.name, self.input, arguments))
        except AnamnesisError as error:
            return text_result(str(error), is_error=True)
        except OSError as error:
            return text_result(str(explained(error)), is_error=True)
        part = value if isinstance(value, Part) else None
        shown = part.values if part else value
        structured = shown if isinstance(shown, dict) else {"result": shown}
        text = shown if isinstance(shown, str) else escaped(as_json(shown))
        answer = {**text_result(text), "structuredContent": structured, "isError": False}
        if part and part.notice:
            answer["content"].append({"type": "text", "text": part.notice})
            structured["notice"] = part.notice
        if part and part.end < part.total:
            shows = f"{part.offset + 1} to {part.end}" if part.values else "0"
            notice = f"{shows} of {part.total} notes. The next: {self.name} with offset={part.end}."
            answer["content"].append({"type": "text", "text": notice})
            structured |= {"total": part.total, "next_offset": part.end}
        return answer


@dataclass(frozen=True, slots=True)
class McpPrompt:
    """A text that a user can request by name; arguments are (name, description) and optional."""

    make: Callable[..., str]
    title: str
    arguments: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.make.__name__

    def declaration(self) -> Message:
        arguments = [
            {"name": name, "description": description, "required": False} for name, description in self.arguments
        ]
        description = unwrapped(self.make.__doc__)
        return {"name": self.name, "title": self.title, "description": description, "arguments": arguments}


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources, which are read by URI: the template of URIs, a list of some, and the reader."""

    template: Message
    listed: Callable[[], list[Message]]
    read: Callable[[str], Message]


class McpServer:
    """The tools, resources and prompts of one server, for any number of clients at once."""

    def __init__(
        self,
        *,
        name: str,
        version: str,
        instructions: str,
        tools: Sequence[ServerTool],
        prompts: Sequence[McpPrompt] = (),
        resources: Resources | None = None,
    ) -> None:
        self._info = {"name": name, "title": name.capitalize(), "version": version}
        self._instructions = instructions
        self._tools = {tool.name: tool for tool in tools}
        self._prompts = {prompt.name: prompt for prompt in prompts}
        self._resources = resources
        self._methods: dict[str, Callable[[Message], Message]] = {
            "tools/list": lambda _: {"tools": [tool.declaration() for tool in self._tools.values()]},
            "tools/call": self._call_tool,
        }
        if prompts:
            self._methods |= {
                "prompts/list": lambda _: {"prompts": [each.declaration() for each in self._prompts.values()]},
                "prompts/get": self._get_prompt,
            }
        if resources:
            self._methods |= {
                "resources/list": lambda _: {"resources": resources.listed()},
                "resources/templates/list": lambda _: {"resourceTemplates": [resources.template]},
                "resources/read": self._read_resource,
            }

    def answer(self, message: object) -> Message | list[Message] | None:
        """The answer to a message or a batch; None if it needs no answer."""
        return joined(message, [self.answer_one(each) for each in unbatched(message)])

    def work(self, message: object) -> Work:
        """The kind of work that one message needs."""
        method = message.get("method") if isinstance(message, dict) else None
        if method in ("resources/list", "resources/read", "prompts/get"):
            return Work.READ
        params = message.get("params") if isinstance(message, dict) else None
        if method != "tools/call" or not isinstance(params, dict):
            return Work.NONE
        tool = self._tools.get(_name_in(params))
        return tool.work if tool else Work.NONE

    def answer_one(self, message: object) -> Message | None:
        """The answer to a single message; None if it needs no answer."""
        if isinstance(message, list) and len(message) > _MOST_IN_BATCH:
            return error_answer(None, INVALID_REQUEST, f"A batch may have at most {_MOST_IN_BATCH} messages.")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return error_answer(None, INVALID_REQUEST, "This is not a JSON-RPC 2.0 message.")
        method, identity = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if "result" in message or "error" in message:
                return None
            return error_answer(None, INVALID_REQUEST, "The message has no method.")
        if "id" not in message:
            return None
        if not isinstance(identity, str | int) or isinstance(identity, bool):
            return error_answer(None, INVALID_REQUEST, "The id of a request must be a text or a whole number.")
        try:
            result = self._result(method, message.get("params"))
        except ProtocolError as error:
            return error_answer(identity, error.code, str(error), error.data)
        except AnamnesisError as error:
            return error_answer(identity, INTERNAL, str(error))
        except OSError as error:
            return error_answer(identity, INTERNAL, str(explained(error)))
        return {"jsonrpc": "2.0", "id": identity, "result": result}

    def _result(self, method: str, given: object) -> Message:
        params = {} if given is None else given
        if not isinstance(params, dict):
            raise ProtocolError(INVALID_PARAMS, "params is not an object.")
        version = modern_version({"params": params})
        if version is None and method != "server/discover":
            return self._handshake_result(method, params)
        if not isinstance(version, str):
            raise ProtocolError(INVALID_PARAMS, f"params._meta needs {_VERSION_KEY!r}, a text.")
        if version != MODERN:
            supported = {"supported": [MODERN], "requested": version}
            raise ProtocolError(NO_VERSION, "Unsupported protocol version", supported)
        return self._modern_result(method, params)

    def _handshake_result(self, method: str, params: Message) -> Message:
        if method == "initialize":
            requested = params.get("protocolVersion")
            return {
                "protocolVersion": requested if requested in HANDSHAKE else HANDSHAKE[0],
                "capabilities": self._capabilities(),
                "serverInfo": self._info,
                "instructions": self._instructions,
            }
        if method == "ping":
            return {}
        return self._method(method)(params)

    def _modern_result(self, method: str, params: Message) -> Message:
        if method == "server/discover":
            result: Message = {
                "supportedVersions": [MODERN, *HANDSHAKE],
                "capabilities": self._capabilities(),
                "instructions": self._instructions,
            }
        else:
            result = self._method(method)(params)
        result |= {"resultType": "complete", "_meta": {_SERVER_KEY: self._info}}
        if method in _CACHEABLE:
            result |= {"ttlMs": _CACHED_MS, "cacheScope": "public"}
        elif method in ("resources/list", "resources/read"):
            result |= {"ttlMs": 0, "cacheScope": "private"}
        return result

    def _method(self, method: str) -> Callable[[Message], Message]:
        if method not in self._methods:
            raise ProtocolError(NO_METHOD, f"There is no method {method!r}.")
        return self._methods[method]

    def _capabilities(self) -> Message:
        prompts: Message = {"prompts": {}} if self._prompts else {}
        return {"tools": {}, **prompts, **({"resources": {}} if self._resources else {})}

    def _call_tool(self, params: Message) -> Message:
        name = _name_in(params)
        tool = self._tools.get(name)
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name}")
        return tool.result(params.get("arguments"))

    def _get_prompt(self, params: Message) -> Message:
        name = _name_in(params)
        prompt = self._prompts.get(name)
        if prompt is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {name}")
        given = params.get("arguments") or {}
        known = {name for name, _ in prompt.arguments}
        if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in given.values()):
            raise ProtocolError(INVALID_PARAMS, "The arguments of a prompt must be texts.")
        text = prompt.make(**{name: value for name, value in given.items() if name in known})
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return {"description": prompt.title, "messages": [message]}

    def _read_resource(self, params: Message) -> Message:
        uri = params.get("uri")
        if not self._resources or not isinstance(uri, str):
            raise ProtocolError(INVALID_PARAMS, "resources/read needs a uri.")
        try:
            return {"contents": [self._resources.read(uri)]}
        except AnamnesisError as error:
            raise ProtocolError(_NO_RESOURCE, str(error), {"uri": uri}) from None


def _name_in(params: Message) -> str:
    """The name in a request. A list or an object is replaced by its type, as it may be nested too deeply to print."""
    name = params.get("name")
    return f"{type(name).__name__}" if isinstance(name, list | dict) else str(name)


def unbatched(message: object) -> list[object]:
    """The messages of a batch, in order, or the single message; a batch that is too long counts as one message."""
    return message if isinstance(message, list) and 0 < len(message) <= _MOST_IN_BATCH else [message]


def joined(message: object, answers: Sequence[Message | None]) -> Message | list[Message] | None:
    """The answers to the messages of `unbatched`, as one answer."""
    if isinstance(message, list) and 0 < len(message) <= _MOST_IN_BATCH:
        return [answer for answer in answers if answer] or None
    return answers[0]


def answer_safely(server: McpServer, message: object, report: Report) -> Message | list[Message] | None:
    """The answer to a message or a batch. An unexpected error is answered too, and reported."""
    return joined(message, [answer_one_safely(server, each, report) for each in unbatched(message)])


def answer_one_safely(server: McpServer, message: object, report: Report) -> Message | None:
    """The answer to one message. An unexpected error is answered too, and reported."""
    try:
        return server.answer_one(message)
    except Exception:  # the outermost boundary: one bad call must not end the session
        import traceback  # takes 2 ms, which the start does not need

        report(traceback.format_exc())
        identity = message.get("id") if isinstance(message, dict) else None
        text = "An internal error occurred; see the log under ANAMNESIS_HOME."
        return error_answer(identity, INTERNAL, text)


def modern_version(message: object) -> object:
    """The protocol version in a request; None in the protocols with a handshake."""
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(_VERSION_KEY) if isinstance(meta, dict) else None


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_result(text: str, *, is_error: bool = False) -> Message:
    """The result of a tool. Its errors are results, not JSON-RPC errors: the model reads them and tries again."""
    content = {"content": [{"type": "text", "text": text}]}
    return {**content, "isError": True} if is_error else content


def error_answer(identity: object, code: int, message: str, data: object = None) -> Message:
    """A JSON-RPC error."""
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return {"jsonrpc": "2.0", "id": identity, "error": error}


def unwrapped(text: str | None) -> str:
    """A docstring with the line breaks inside its paragraphs removed."""
    paragraphs = (text or "").strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
