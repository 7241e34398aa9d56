"""Objects of answers: JSON with attributes, and the methods of pydantic that programs use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Optional

# Fields of OpenAI's interface that an answer may lack; they are then None, as in its package.
OPTIONAL = frozenset("""
    accepted_prediction_tokens access_programs allowed_callers annotations arguments async audio
    audio_tokens background billing bytes cache_write_tokens cache_write_tokens_details cached_tokens
    caller code compaction completed_at completion_tokens_details content content_filter_results context
    conversation cost created_by custom data defer_loading delta description detail encrypted_content
    error expires_at file_data file_id file_url filename finish_reason format frequency_penalty function
    function_call generate_summary id image image_tokens image_url incomplete_details index
    input_transformations instructions item logprob logprobs max_output_tokens max_tool_calls message
    metadata mode moderation name namespace obfuscation output_schema output_text param parameters
    parsed parsed_arguments phase presence_penalty previous_response_id prompt prompt_cache_breakpoint
    prompt_cache_diagnostics prompt_cache_key prompt_cache_options prompt_cache_retention
    prompt_logprobs prompt_tokens_details reasoning reasoning_content reasoning_tokens refusal
    rejected_prediction_tokens role safety_identifier service_tier shutdown_date status strict
    system_fingerprint temperature text text_offset text_tokens token token_logprobs tokens tool_calls
    tool_usage top_logprobs top_p transcript truncation type usage user verbosity
    """.split())


class Record:
    """An object of an answer. OpenAI's fields that it lacks are None; other names are errors."""

    __slots__ = ("_fields", "_request_id")

    def __init__(self, fields: dict[str, Any], request_id: Optional[str] = None) -> None:
        self._fields = fields
        self._request_id = request_id

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python's protocols ask before there are fields
            raise AttributeError(name)
        # The package appends an underscore to names that Python or pydantic uses: async_, schema_.
        key = name[:-1] if name.endswith("_") and name not in self._fields else name
        if key not in self._fields and key not in OPTIONAL:
            raise AttributeError(f"the answer has no field {name}")
        return self._fields.get(key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{key}={value!r}' for key, value in self._fields.items())})"

    def model_dump(self, *, mode: str = "python", exclude_none: bool = False,
                   exclude_unset: bool = False, **_: Any) -> dict[str, Any]:
        """As JSON values."""
        return {key: _dumped(value, mode, exclude_none) for key, value in self._fields.items()
                if not (exclude_none and value is None)}

    def model_dump_json(self, *, indent: Optional[int] = None, exclude_none: bool = False, **_: Any) -> str:
        """As JSON text."""
        return json.dumps(self.model_dump(mode="json", exclude_none=exclude_none), indent=indent, ensure_ascii=False)

    to_dict = model_dump
    to_json = model_dump_json


class Response(Record):
    """Result of responses.create."""

    __slots__ = ()

    @property
    def output_text(self) -> str:
        """Texts of its messages, joined."""
        return "".join(part.text for part in self._texts())

    @property
    def output_parsed(self) -> Any:
        """Result of responses.parse: the object of its first text that has one."""
        return next((part.parsed for part in self._texts() if part.parsed), None)

    def _texts(self) -> Iterator[Any]:
        return (part for item in self.output if item.type == "message"
                for part in item.content if part.type == "output_text")


def _dumped(value: Any, mode: str, exclude_none: bool) -> Any:
    if isinstance(value, Record):
        return value.model_dump(mode=mode, exclude_none=exclude_none)
    if isinstance(value, list):
        return [_dumped(one, mode, exclude_none) for one in value]
    if isinstance(value, dict):
        return {key: _dumped(one, mode, exclude_none) for key, one in value.items()}
    if hasattr(value, "model_dump"):  # an object of pydantic: `parsed`
        return value.model_dump(mode=mode, exclude_none=exclude_none)
    return value


# Members whose keys are the program's own, in the package and here.
_MAPS = frozenset(("metadata", "logit_bias", "schema", "parameters"))


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return [_made(one) for one in value]
    if isinstance(value, dict):
        fields = {key: one if key in _MAPS else _made(one) for key, one in value.items()}
        return Response(fields) if value.get("object") == "response" else Record(fields)
    return value


def record_of(value: dict[str, Any], request_id: Optional[str] = None) -> Any:
    """The record of a whole answer, or of an event."""
    made: Record = _made(value)
    made._request_id = request_id
    return made
