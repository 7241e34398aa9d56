// Request fields without effect on the answer: type-checked, otherwise ignored, refused or noted.
// Fields that would change the answer are refused or noted.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/json/fields.h"

namespace tenon_http {

struct OtherField {
  enum class Kind : uint8_t {
    Text,
    Name,  ///< text of at most kMaxNameCharacters
    Boolean,
    Object,
    Texts,        ///< object of texts, within OpenAI's bounds on "metadata"
    OneOf,        ///< one of the texts in `detail`, separated by '|'
    Refused,      ///< refused for the reason in `detail`
    RefusedTrue,  ///< refused if true
    RefusedFull,  ///< refused if a non-empty list, object or text
    Noted,        ///< object or list, ignored; a non-empty value notes `detail`
  };
  std::string_view name;
  Kind kind;
  std::string_view detail{};
};

/// Bounds of OpenAI's interface; answers repeat these texts.
inline constexpr size_t kMaxNameCharacters = 512;
inline constexpr size_t kMaxPairs = 16;
inline constexpr size_t kMaxPairKeyCharacters = 64;
inline constexpr size_t kMaxPairValueCharacters = 512;

inline constexpr std::string_view kTiers = "auto|default|standard|flex|scale|priority|fast";
inline constexpr std::string_view kRetentions = "in_memory|in-memory|24h";

/// Fields of chat completions; the last ones are other servers'.
inline constexpr auto kChatFields = std::to_array<OtherField>({
    {"user", OtherField::Kind::Name},
    {"safety_identifier", OtherField::Kind::Name},
    {"prompt_cache_key", OtherField::Kind::Name},
    {"prompt_cache_retention", OtherField::Kind::OneOf, kRetentions},
    {"prompt_cache_options", OtherField::Kind::Object},
    {"service_tier", OtherField::Kind::OneOf, kTiers},
    {"store", OtherField::Kind::Boolean},
    {"metadata", OtherField::Kind::Texts},
    {"verbosity", OtherField::Kind::OneOf, "low|medium|high"},
    {"prediction", OtherField::Kind::Object},
    {"audio", OtherField::Kind::Refused, "the model answers in text only"},
    {"web_search_options", OtherField::Kind::Refused, "no search runs here"},
    {"moderation", OtherField::Kind::Refused, "is not served"},
    {"chat_template", OtherField::Kind::Refused, "the model's own template is used"},
    {"documents", OtherField::Kind::RefusedFull, "is not served: put them into a message"},
    {"grammar", OtherField::Kind::RefusedFull, "is not served: say structured_outputs.grammar"},
    {"json_schema", OtherField::Kind::RefusedFull, "is not served: say response_format"},
    {"allowed_token_ids", OtherField::Kind::RefusedFull, "is not served"},
    {"prompt_logprobs", OtherField::Kind::Refused, "is not served: completions have echo"},
    {"use_beam_search", OtherField::Kind::RefusedTrue, "is not served"},
});

inline constexpr auto kCompletionFields = std::to_array<OtherField>({
    {"user", OtherField::Kind::Name},
    {"prompt_cache_key", OtherField::Kind::Name},
    {"service_tier", OtherField::Kind::OneOf, kTiers},
    {"prompt_embeds", OtherField::Kind::Refused, "is not served"},
    {"grammar", OtherField::Kind::RefusedFull, "is not served: say structured_outputs.grammar"},
    {"json_schema", OtherField::Kind::RefusedFull, "is not served: say response_format"},
    {"allowed_token_ids", OtherField::Kind::RefusedFull, "is not served"},
    {"prompt_logprobs", OtherField::Kind::Refused, "is not served: say echo with logprobs"},
    {"use_beam_search", OtherField::Kind::RefusedTrue, "is not served"},
});

inline constexpr auto kResponseFields = std::to_array<OtherField>({
    {"user", OtherField::Kind::Name},
    {"safety_identifier", OtherField::Kind::Name},
    {"prompt_cache_key", OtherField::Kind::Name},
    {"prompt_cache_retention", OtherField::Kind::OneOf, kRetentions},
    {"prompt_cache_options", OtherField::Kind::Object},
    {"service_tier", OtherField::Kind::OneOf, kTiers},
    {"metadata", OtherField::Kind::Texts},
    {"client_metadata", OtherField::Kind::Object},
    {"truncation", OtherField::Kind::OneOf, "auto|disabled"},
    {"background", OtherField::Kind::RefusedTrue, "is not served"},
    {"conversation", OtherField::Kind::Refused,
     "is not served: name a previous_response_id or send the whole input"},
    {"prompt", OtherField::Kind::Refused, "is not served: send instructions and input"},
    {"moderation", OtherField::Kind::Refused, "is not served"},
    {"context_management", OtherField::Kind::Noted, "nothing is compacted here"},
});

inline constexpr auto kReasoningFields = std::to_array<OtherField>({
    {"summary", OtherField::Kind::OneOf, "auto|concise|detailed|none"},
    {"generate_summary", OtherField::Kind::OneOf, "auto|concise|detailed"},
    {"context", OtherField::Kind::Text},
});

inline constexpr auto kTextFields = std::to_array<OtherField>({
    {"verbosity", OtherField::Kind::OneOf, "low|medium|high"},
});

inline constexpr auto kMessageFields = std::to_array<OtherField>({
    {"metadata", OtherField::Kind::Object},
    {"service_tier", OtherField::Kind::OneOf, "auto|standard_only"},
    {"speed", OtherField::Kind::OneOf, "standard|fast"},
    {"inference_geo", OtherField::Kind::Text},
    {"cache_control", OtherField::Kind::Object},
    {"context_management", OtherField::Kind::Noted, "the context is not edited here"},
    {"compaction", OtherField::Kind::Noted, "nothing is compacted here"},
    {"container", OtherField::Kind::Refused, "no container runs here"},
    {"mcp_servers", OtherField::Kind::RefusedFull, "no servers of tools are asked here"},
});

/// Throws ApiError naming the field. notes: receives the notes on ignored fields.
void check_other_fields(const Fields& fields, std::span<const OtherField> others,
                        std::vector<std::string>& notes);

/// Reads "stream_options": true if a stream ends with its usage. Throws ApiError naming the field.
bool read_stream_options(const Fields& fields);

}  // namespace tenon_http
