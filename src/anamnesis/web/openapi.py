"""The OpenAPI document, built from the table of routes."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_origin, get_type_hints

from anamnesis import __version__
from anamnesis.web.message import JSON
from anamnesis.web.route import ERROR, Body, Content, ListOf, OneOf, Parameter, Route

_REFUSALS = {
    401: "The token is missing or wrong.",
    403: "The request comes from a page of another site, or is for another host.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    503: "The daemon has too many unfinished requests; retry.",
}
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """The OpenAPI document of these routes."""
    components: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Anamnesis",
            "version": __version__,
            "description": "Engram's HTTP interface, as Anamnesis serves it. See docs/http-api.md.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route, components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.call.__name__.strip("_"),
        "summary": (route.call.__doc__ or "").strip(),
        "parameters": [
            *(_part(route, segment[1:-1]) for segment in route.path.split("/") if segment.startswith("{")),
            *(_parameter(name, each) for name, each in route.parameters.items()),
        ],
        "responses": {str(status): _response(status, content, components) for status, content in route.answers.items()},
    }
    for status, about in _REFUSALS.items():
        if status not in route.answers and (route.body or status in (401, 403)):
            operation["responses"][str(status)] = {**_response(status, ERROR, components), "description": about}
    if route.body:
        can_be_refused = 400 in route.answers
        schema = _body(route.body) if can_be_refused else {}
        operation["requestBody"] = {"required": can_be_refused, "content": {JSON: {"schema": schema}}}
    return operation


def _part(route: Route, name: str) -> dict[str, Any]:
    """The parameter of a wildcard in the path: a number if the route can refuse it."""
    schema = {"type": "integer", "format": "int64"} if 400 in route.answers else {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameter(name: str, parameter: Parameter) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": parameter.is_needed,
        "description": parameter.about,
        "schema": parameter.schema,
    }


def _body(body: Body | Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a body."""
    if not isinstance(body, Body):
        return body
    schema = _readable(body.kind)
    schema["properties"] |= {name: {"type": "string", "minLength": 1} for name in body.needed}
    schema["required"] = list(body.needed)
    if body.is_one_needed:
        names = schema["properties"]
        schema["anyOf"] = [{"required": [name], "properties": {name: {"type": "string"}}} for name in names]
        return schema
    return schema if body.needed else _or_null(schema)


def _readable(kind: Any) -> dict[str, Any]:
    """The schema of a value of this type in a request: every field may be null or missing."""
    if get_origin(kind) in (typing.Union, types.UnionType):
        (kind,) = (each for each in get_args(kind) if each is not types.NoneType)
    if kind is int:
        return {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}
    if kind in _TYPES:
        return {"type": _TYPES[kind]}
    if get_origin(kind) in (list, tuple):
        return {"type": "array", "items": _or_null(_readable(get_args(kind)[0]))}
    hints = get_type_hints(kind)
    return {"type": "object", "properties": {name: _or_null(_readable(hint)) for name, hint in hints.items()}}


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _response(status: int, content: Content, components: dict[str, Any]) -> dict[str, Any]:
    about = "Success." if status < 300 else "Failure; the message gives the reason."
    if isinstance(content, OneOf):
        bodies = {JSON: {"schema": content.schema}, content.type: {"schema": {"type": "string"}}}
        return {"description": about, "content": bodies}
    if isinstance(content, str):
        return {"description": about, "content": {content: {"schema": {"type": "string"}}}}
    if isinstance(content, ListOf):
        schema: Mapping[str, Any] = {"type": ["array", "null"], "items": _reference(content.kind, components)}
    elif isinstance(content, type):
        schema = _reference(content, components)
    else:
        schema = content
    return {"description": about, "content": {JSON: {"schema": schema}}}


def _reference(kind: type, components: dict[str, Any]) -> dict[str, str]:
    """A reference to the schema of a dataclass, which is added if it is missing."""
    name = kind.__name__
    if name not in components:
        components[name] = {}
        hints = get_type_hints(kind)
        fields = dataclasses.fields(kind)
        components[name] = {
            "type": "object",
            "properties": {field.name: _schema(hints[field.name], components) for field in fields},
            "required": [field.name for field in fields if not _is_left_out(hints[field.name])],
        }
    return {"$ref": f"#/components/schemas/{name}"}


def _schema(kind: Any, components: dict[str, Any]) -> dict[str, Any]:
    if kind in _TYPES:
        return {"type": _TYPES[kind]}
    if get_origin(kind) in (typing.Union, types.UnionType):
        (inner,) = (each for each in get_args(kind) if each is not types.NoneType)
        schema = _schema(inner, components)
        return schema if inner in _TYPES else _or_null(schema)
    if get_origin(kind) in (list, tuple):
        return {"type": ["array", "null"], "items": _schema(get_args(kind)[0], components)}
    return _reference(kind, components)


def _is_left_out(kind: Any) -> bool:
    """Whether an answer omits a field of this type if it is null: an optional scalar."""
    return type(None) in get_args(kind) and any(each in _TYPES for each in get_args(kind))
