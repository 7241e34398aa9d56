"""HTTP in front of the deployment: the routes of Tenon's server (OpenAI's, Anthropic's interfaces)
by Serve's proxy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Optional

from ray import serve
from ray.serve.handle import DeploymentHandle, DeploymentResponseGenerator
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ._client import DEATHS
from ._requests import Prompt
from ._serve import application

# Replicas that may die during one request before its answer has begun.
_MOST_DEATHS = 5
# Headers of a connection, not of an answer.
_OF_CONNECTION = ("content-length", "connection", "transfer-encoding")
_LOST = b'data: {"error": {"message": "the replica that answered is gone", "type": "server_error"}}\n\n'


def prompt_of(body: bytes) -> Prompt:
    """Prompt of a request's body for PrefixRouter; "" if the body cannot be read: the answer says
    so."""
    try:
        fields = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(fields, dict):
        return ""
    asked = next((fields[name] for name in ("messages", "input", "prompt") if fields.get(name)), "")
    if isinstance(asked, list) and asked and all(isinstance(one, dict) for one in asked):
        system = fields.get("system") or fields.get("instructions")
        return [*([{"system": system}] if system else []), *asked]
    return asked if isinstance(asked, str) else json.dumps(asked)


class HttpRoutes:
    """The ingress: takes requests of Serve's proxy to the replica that answers them at the least
    cost."""

    def __init__(self, replicas: DeploymentHandle) -> None:
        self._answers = replicas.options(stream=True, method_name="http")

    async def __call__(self, request: Request) -> Response:
        """The answer of a replica, byte for byte. A replica that dies before the answer has begun
        is replaced; a later death ends the stream with an error event."""
        body = await request.body()
        target = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if request.url.query:
            target += f"?{request.url.query}"
        prompt = prompt_of(body)
        for attempt in range(_MOST_DEATHS):
            answer: DeploymentResponseGenerator[Any] = self._answers.remote(prompt, request.method, target, body)
            try:
                status, headers = await answer.__anext__()
                break
            except DEATHS:
                if attempt + 1 == _MOST_DEATHS:
                    raise
        kind = headers.get("content-type", "")
        return StreamingResponse(_body(answer, kind == "text/event-stream"), status_code=status, headers={
            name: value for name, value in headers.items() if name not in _OF_CONNECTION})


async def _body(answer: "DeploymentResponseGenerator[Any]", is_stream: bool) -> AsyncIterator[bytes]:
    try:
        async for part in answer:
            yield part
    except DEATHS:
        if not is_stream:
            raise
        yield _LOST
    finally:
        answer.cancel()


def http_application(path: str, *, served_name: str = "", context: int = 0, routes: int = 1, requests: int = 1024,
                     **options: Any) -> serve.Application:
    """A Serve application that answers OpenAI's routes over HTTP:
    serve.run(http_application("/models/demo.gguf")).

    served_name is the model's name in requests (by default the file's name without its ending),
    context the most tokens of a request's prompt and answer. routes: replicas of the ingress, which
    compute nothing; requests: the most that one has at once. options: those of application(), the
    engines behind it."""
    ingress = serve.deployment(HttpRoutes).options(
        name="routes", num_replicas=routes, max_ongoing_requests=requests, ray_actor_options={"num_cpus": 0})
    made: serve.Application = ingress.bind(application(path, served_name=served_name, context=context, **options))
    return made


def from_arguments(arguments: "Mapping[str, Any]") -> serve.Application:
    """http_application for the command line:

        serve run tenon.ray:from_arguments path=/models/demo-q8_0.gguf replicas=2 threads=4

    Arguments: path, served_name, context, replicas, cpus, routes; threads and model.NAME,
    engine.NAME are options of the model and of the engine."""
    given = dict(arguments)
    options: dict[str, Any] = {"model": {}, "engine": {}}
    if "threads" in given:
        options["model"]["threads"] = int(given.pop("threads"))
        options["cpus"] = options["model"]["threads"]
    path: Optional[str] = given.pop("path", None)
    if path is None:
        raise ValueError("path=FILE is needed: where each node has the model")
    for name, value in given.items():
        of, _, option = name.partition(".")
        if option and of in ("model", "engine"):
            options[of][option] = _value(value)
        elif name in ("context", "replicas", "routes", "requests"):
            options[name] = int(value)
        elif name == "cpus":
            options[name] = float(value)
        elif name == "served_name":
            options[name] = value
        else:
            raise ValueError(f"no argument {name}: there are path, served_name, context, replicas, cpus, routes, "
                             "requests, threads, model.NAME and engine.NAME")
    return http_application(path, **options)


def _value(text: Any) -> Any:
    try:
        return int(text)
    except ValueError:
        return {"true": True, "false": False}.get(text, text)
