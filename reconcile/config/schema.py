"""The JSON Schema of reconcile.yaml, for editors: every setting with its description, ours and those of plugins."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from reconcile.config.channel_entries import ChannelEntry
from reconcile.config.settings import DEFAULT_MEMORY, DEFAULT_STATE, DatasetEntry, JobEntry, TopSettings
from reconcile.documents import JsonObject
from reconcile.plugins import Kinds, PluginBroken
from rules.presets.preset import PREFIX, names

_MAPS = ("properties", "patternProperties")
_SCHEMAS = ("additionalProperties", "items", "propertyNames", "contains", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NUMBER_AS_TEXT = r"\$\{|^[+-]?[0-9][0-9._]*$"
_BOOLEAN_AS_TEXT = r"\$\{|^([Yy]es|[Nn]o|[Oo]n|[Oo]ff|[Tt]rue|[Ff]alse)$"


def json_schema() -> JsonObject:
    """Return the JSON Schema 2020-12 of a configuration file; included files fit it too."""
    sections = {
        "sources": ("The sources of records.", _any_of([_typed("connectors", name) for name in Kinds("connectors")])),
        "datasets": ("The records that rules read.", _any_of([_dataset(name) for name in Kinds("connectors")])),
        "rules": ("Rules that records must not break.", _any_of([*map(_rule, Kinds("rules")), _preset()])),
        "jobs": ("Rules that run together.", _of(JobEntry)),
        "channels": ("Destinations of messages.", _any_of([_channel(name) for name in Kinds("channels")])),
    }
    properties = dict(_of(TopSettings)["properties"])
    properties["state"] = {**_without(properties["state"], "format", "writeOnly"), "default": DEFAULT_STATE}
    properties["memory"] = {**properties["memory"], "default": f"{DEFAULT_MEMORY // 10**9}GB"}
    properties["include"] = {
        "description": "More files like this one, with paths relative to it, e.g. [rules/*.yaml].",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    }
    for section, (description, entry) in sections.items():
        properties[section] = {"type": "object", "description": description, "additionalProperties": entry}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Reconcile configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _typed(group: str, name: str) -> JsonObject:
    """Return the schema of a source or channel, selected by `type`."""
    settings = _load(group, name, "Settings")
    schema = _of(settings) if settings else {"type": "object", "properties": {}}
    return _told_by(schema, "type", name)


def _channel(name: str) -> JsonObject:
    """Return the schema of a channel: the common settings and those of its type."""
    schema = _typed("channels", name)
    return {**schema, "properties": {**schema["properties"], **_of(ChannelEntry)["properties"]}}


def _dataset(connector: str) -> JsonObject:
    """Return the schema of a dataset: the common settings and those of the connector."""
    ours, model = _of(DatasetEntry), _load("connectors", connector, "Dataset")
    ours["properties"]["timezone"].pop("default")  # it is the project's
    added: JsonObject = _of(model) if model else {"properties": {}, "additionalProperties": True}
    return {
        "title": f"dataset of a source of type {connector}",
        "type": "object",
        "additionalProperties": added.get("additionalProperties", False),
        "properties": {**added["properties"], **ours["properties"]},
        "required": [*ours.get("required", ()), *added.get("required", ())],
    }


def _rule(kind: str) -> JsonObject:
    model = _load("rules", kind, "Settings")
    if model is None:
        return _told_by({"type": "object", "properties": {}}, "kind", kind)
    schema = _of(model)
    schema["properties"].pop("name")
    schema["properties"]["clean"] = _clean(schema["properties"]["clean"]["description"])
    schema["required"] = [key for key in schema["required"] if key != "name"]
    return _told_by(schema, "kind", kind)


def _preset() -> JsonObject:
    """Return the schema of a rule that uses a preset; its other settings are those of the preset's kind."""
    choices = [{"enum": [PREFIX + name for name in names()]}]
    use = {"anyOf": choices, "description": "A preset to take settings from."}
    columns = {
        "type": "object",
        "description": "The dataset's column for each column of the preset: {order_id: reference}.",
    }
    return {"title": "preset", "type": "object", "required": ["use"], "properties": {"use": use, "columns": columns}}


def _clean(description: str) -> JsonObject:
    """Return the schema of `clean`, selected by `action`."""
    models = {name: _load("actions", name, "Settings") for name in Kinds("actions")}
    schemas = [_told_by(_of(model), "action", name) for name, model in models.items() if model is not None]
    if not schemas:
        return {"type": "object", "description": description}
    return {"description": description, **_any_of(schemas)}


def _told_by(schema: JsonObject, key: str, name: str) -> JsonObject:
    properties = {key: {"const": name}, **{k: v for k, v in schema["properties"].items() if k != key}}
    required = [key, *(k for k in schema.get("required", ()) if k != key)]
    return {**schema, "title": name, "properties": properties, "required": required}


def _load(group: str, name: str, attribute: str) -> type[BaseModel] | None:
    """Return the model of a kind; None when its dependencies are missing, so that the schema still works."""
    try:
        loaded = Kinds(group).load(name)
    except PluginBroken:
        return None
    model: type[BaseModel] = getattr(loaded, attribute) if attribute else loaded
    return model


def _any_of(schemas: list[JsonObject]) -> JsonObject:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _of(model: type[BaseModel]) -> JsonObject:
    written = model.model_json_schema(by_alias=True)
    return _plain(written, written.get("$defs", {}))


def _plain(schema: JsonObject, definitions: Mapping[str, JsonObject]) -> JsonObject:
    """Remove references, titles and nulls, and allow every way to write a scalar.

    Scalars are read as text, whatever type YAML gives them, and a variable may replace a number.
    """
    if "$ref" in schema:
        return _plain({**definitions[schema["$ref"].rsplit("/", 1)[-1]], **_without(schema, "$ref")}, definitions)
    plain = _without(
        schema, "$defs", "title", "discriminator", *(["default"] if schema.get("default", "") is None else [])
    )
    for key in _MAPS:
        if key in plain:
            plain[key] = {name: _plain(subschema, definitions) for name, subschema in plain[key].items()}
    for key in _SCHEMAS:
        if isinstance(plain.get(key), dict):
            plain[key] = _plain(plain[key], definitions)
    if "oneOf" in plain:  # each has a distinguishing word, so no two can fit
        plain["anyOf"] = plain.pop("oneOf")
    for key in _LISTS:
        if key in plain:
            plain[key] = [_plain(subschema, definitions) for subschema in plain[key] if subschema.get("type") != "null"]
    if len(plain.get("anyOf", ())) == 1:
        [only] = plain.pop("anyOf")
        plain = {**only, **plain}
    return _as_written(plain)


def _as_written(schema: JsonObject) -> JsonObject:
    kind = schema.get("type")
    if kind == "string" and not schema.keys() & {"enum", "const", "pattern"}:
        return {**schema, "type": ["string", "number", "boolean"]}
    if kind in ("integer", "number", "boolean"):
        pattern = _BOOLEAN_AS_TEXT if kind == "boolean" else _NUMBER_AS_TEXT
        text = {"type": "string", "pattern": pattern}
        described: JsonObject = {key: schema[key] for key in ("description", "default", "examples") if key in schema}
        return {**described, "anyOf": [_without(schema, *described), text]}
    return schema


def _without(schema: JsonObject, *keys: str) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in keys}
