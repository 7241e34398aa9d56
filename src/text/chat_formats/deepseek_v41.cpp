// DeepSeek V4.1: as V3.2, with other names of tags, after a space:
//   <｜DSML｜ calls>\n<｜DSML｜ invoke name="f">\n
//   <｜DSML｜ parameter name="key" string="true">value</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n...
//
// The model ships no template. kTemplate writes the same prompts as its published encoder
// (deepseek-ai/DeepSeek-V4.1-Flash, encoding/encoding.py of 2026-09-10);
// tests/text/own_templates_test.cpp pins it. Variables: thinking or enable_thinking,
// reasoning_effort (1 to 100, "low", "high", "xhigh" or "max"), drop_thinking, response_format.
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {
namespace {

constexpr std::string_view kTemplate =
    R"jinja({%- set thinks = thinking if thinking is defined else (enable_thinking if enable_thinking is defined else false) -%}
{%- set effort = reasoning_effort if reasoning_effort is defined and reasoning_effort is not none else 'high' -%}
{%- set budgets = {'low': 50, 'high': 75, 'xhigh': 75, 'max': 100} -%}
{%- if effort is string -%}
  {%- if effort not in budgets -%}
    {{- raise_exception('reasoning_effort is none of low, high, xhigh, max and 1 to 100') -}}
  {%- endif -%}
  {%- set effort = budgets[effort] -%}
{%- elif effort < 1 or effort > 100 -%}
  {{- raise_exception('reasoning_effort is not in 1 to 100') -}}
{%- endif -%}
{%- set drops = (drop_thinking if drop_thinking is defined else true) and not tools -%}
{%- macro plain(content) -%}
  {%- if content is string -%}
    {{- content -}}
  {%- elif content -%}
    {%- for part in content -%}
      {%- if part['type'] != 'text' -%}
        {{- raise_exception('only parts of type text are supported') -}}
      {%- endif -%}
      {{- '\n\n' if not loop.first -}}{{- part['text'] -}}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- macro extras(before) -%}
  {%- if tools -%}
    {{- before -}}
    {{- '## Tools\n\nYou have access to a set of tools to help answer the user\'s question. You can invoke tools by writing a "<｜DSML｜ calls>" block like the following:\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name="$TOOL_NAME">\n<｜DSML｜ parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</｜DSML｜ parameter>\n...\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name="$TOOL_NAME2">\n...\n</｜DSML｜ invoke>\n</｜DSML｜ calls>\n\nString parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, objects), pass the value in JSON format and set `string="false"`.\n\nIf thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> BEFORE any tool calls or final response.\n\nOtherwise, output directly after </think> with tool calls or final response.\n\n### Available Tool Schemas\n\n' -}}
    {%- for tool in tools -%}
      {{- '\n' if not loop.first -}}{{- (tool['function'] if tool['function'] is defined else tool) | tojson -}}
    {%- endfor -%}
    {{- '\n\nYou MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.\n' -}}
  {%- endif -%}
  {%- if response_format is defined and response_format -%}
    {{- before -}}
    {{- '## Response Format:\n\nYou MUST strictly adhere to the following schema to reply:\n' -}}
    {{- response_format | tojson -}}
  {%- endif -%}
{%- endmacro -%}
{%- set ns = namespace(last_user=-1, order=[], waits=false, results=[], number=0) -%}
{%- for message in messages -%}
  {%- if message['role'] in ['user', 'developer', 'tool'] or (message['role'] == 'system' and not loop.first) -%}
    {%- set ns.last_user = loop.index0 -%}
  {%- endif -%}
{%- endfor -%}
{%- set begins_with_system = messages and messages[0]['role'] == 'system' -%}
{%- set has_extras = tools or (response_format is defined and response_format) -%}
{{- bos_token -}}
{%- if begins_with_system or has_extras or (thinks and messages) -%}
  {{- '<｜System｜>' -}}
{%- endif -%}
{%- if thinks and messages -%}
  {{- 'Reasoning Effort: ' ~ effort ~ ' (range 1-100, the higher the value, the more thorough the reasoning)\n\n' -}}
{%- endif -%}
{%- if has_extras and not begins_with_system -%}
  {{- extras('\n\n') -}}
{%- endif -%}
{%- for message in messages -%}
  {%- set role = message['role'] -%}
  {%- set before = messages[loop.index0 - 1]['role'] if not loop.first else '' -%}
  {%- set is_dropped = role == 'developer' and thinks and drops and loop.index0 < ns.last_user -%}
  {%- if is_dropped -%}
  {%- elif role == 'system' -%}
    {{- '<｜System｜>' if not loop.first -}}
    {{- plain(message['content']) -}}
    {{- extras('\n\n') if loop.first -}}
    {%- set ns.waits = not loop.first -%}
  {%- elif role == 'developer' -%}
    {{- '<｜User｜>' -}}{{- plain(message['content']) -}}
    {%- set ns.waits = true -%}
  {%- elif role in ['user', 'tool'] -%}
    {%- if before in ['user', 'tool'] -%}
      {{- '\n\n' -}}
    {%- else -%}
      {{- '<｜User｜>' -}}
      {#- Results come in the order of the calls. -#}
      {%- set ns.results = [] -%}
      {%- set ns.number = 0 -%}
      {%- set run = namespace(goes_on=true) -%}
      {%- for later in messages[loop.index0:] -%}
        {%- if later['role'] not in ['user', 'tool'] -%}
          {%- set run.goes_on = false -%}
        {%- elif run.goes_on and later['role'] == 'tool' -%}
          {%- set place = namespace(value=0) -%}
          {%- for id in ns.order -%}
            {%- if id and id == later['tool_call_id'] -%}{%- set place.value = loop.index0 -%}{%- endif -%}
          {%- endfor -%}
          {%- set ns.results = ns.results + [{'place': place.value, 'content': later['content']}] -%}
        {%- endif -%}
      {%- endfor -%}
      {%- set ns.results = ns.results | sort(attribute='place') -%}
    {%- endif -%}
    {%- if role == 'tool' -%}
      {{- '<tool_result>' -}}{{- plain(ns.results[ns.number]['content']) -}}{{- '</tool_result>' -}}
      {%- set ns.number = ns.number + 1 -%}
    {%- else -%}
      {{- plain(message['content']) -}}
    {%- endif -%}
    {%- set ns.waits = true -%}
  {%- elif role == 'latest_reminder' -%}
    {{- '<｜latest_reminder｜>' -}}{{- plain(message['content']) -}}
    {%- set ns.waits = false -%}
  {%- elif role == 'assistant' -%}
    {%- if thinks and (not drops or loop.index0 > ns.last_user) -%}
      {{- message['reasoning_content'] if message['reasoning_content'] is defined and message['reasoning_content'] -}}
      {{- '</think>' -}}
    {%- endif -%}
    {{- plain(message['content']) -}}
    {%- if message['tool_calls'] is defined and message['tool_calls'] -%}
      {%- set ns.order = [] -%}
      {{- '\n\n<｜DSML｜ calls>\n' -}}
      {%- for call in message['tool_calls'] -%}
        {%- set ns.order = ns.order + [call['id'] if call['id'] is defined else ''] -%}
        {%- set arguments = call['function']['arguments'] -%}
        {%- if arguments is string -%}{%- set arguments = arguments | from_json -%}{%- endif -%}
        {{- '<｜DSML｜ invoke name="' + call['function']['name'] + '">\n' -}}
        {%- for key, value in arguments.items() -%}
          {{- '\n' if not loop.first -}}
          {{- '<｜DSML｜ parameter name="' + key + '" string="' + ('true' if value is string else 'false') + '">' -}}
          {{- value if value is string else (value | tojson) -}}
          {{- '</｜DSML｜ parameter>' -}}
        {%- endfor -%}
        {{- '\n</｜DSML｜ invoke>\n' -}}
      {%- endfor -%}
      {{- '</｜DSML｜ calls>' -}}
    {%- endif -%}
    {{- '<｜end▁of▁sentence｜>' -}}
    {%- set ns.waits = false -%}
  {%- else -%}
    {{- raise_exception('unknown role: ' ~ role) -}}
  {%- endif -%}
  {%- set next = messages[loop.index]['role'] if not loop.last else '' -%}
  {%- if ns.waits and (next in ['assistant', 'latest_reminder'] or (loop.last and add_generation_prompt)) -%}
    {{- '<｜Assistant｜>' -}}
    {{- '<think>' if thinks and (not drops or loop.index0 >= ns.last_user) else '</think>' -}}
    {%- set ns.waits = false -%}
  {%- endif -%}
{%- endfor -%})jinja";

}  // namespace

extern constexpr ChatFormat kDeepSeekV41Format{
    .name = "deepseek-v4.1",
    .detected_by = {{{"<｜DSML｜ calls>"}, {"DSML", "' calls'"}, {"DSML", "\" calls\""}}},
    .call_openers = {"<｜DSML｜ calls>"},
    .calls_end_reasoning = true,
    .dropped = {"</｜DSML｜ calls>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(
          TaggedCallLayout{.call_open = "<｜DSML｜ invoke name=\"",
                           .name_end = "\">",
                           .key_open = "<｜DSML｜ parameter name=\"",
                           .key_close = ">",
                           .value_close = "</｜DSML｜ parameter>",
                           .call_close = "</｜DSML｜ invoke>",
                           .section_close = "</｜DSML｜ calls>",
                           .attributes = true,
                           .string_attribute = "string=\"true"});
    },
    .shapes = {{{.call = "<｜DSML｜ invoke name=\"$name\">\n$parameters</｜DSML｜ invoke>\n",
                 .trigger = "<｜DSML｜ calls>",
                 .open = "<｜DSML｜ calls>\n",
                 .close = "</｜DSML｜ calls>",
                 .parameter = "<｜DSML｜ parameter name=\"$key\" string=\"$type\">$value"
                              "</｜DSML｜ parameter>\n"}}},
    .own_template = kTemplate,
};

}  // namespace tenon
