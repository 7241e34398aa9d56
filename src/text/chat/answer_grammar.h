// Builds the grammar of an answer: the reasoning of the model's family, then content by a schema,
// or free text until a call begins, and the calls by their tools' schemas.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/conversation.h"
#include "text/chat_formats/chat_format.h"
#include "text/grammar/grammar.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Control tokens of a vocabulary that a family's marks spell.
std::vector<std::string> marks_of(const ChatFormat& format, const Tokenizer& tokenizer);

/// Beginning of an answer to a prompt.
enum class AnswerBegin : uint8_t {
  Content,    ///< without reasoning
  MayReason,  ///< the model may open reasoning itself
  Reasoning,  ///< the prompt has opened reasoning
};
AnswerBegin begin_of_answer(const ChatFormat& format, std::string_view template_source,
                            std::string_view prompt);

/// Shape of calls that a family uses with a template; null if it has none.
const CallShape* call_shape_of(const ChatFormat& format, std::string_view template_source);

struct AnswerShape {
  const ChatFormat& format;
  const CallShape* calls;  ///< null if rules.calls is None
  AnswerBegin begin;
  bool content_opened = false;  ///< the prompt ends with the mark before content
};

/// Throws Error(Grammar) naming the tool and the JSON pointer for a malformed, unsatisfiable or
/// unsupported schema; Error(Argument) for a name that cannot be written; Error(Limit) for tools
/// that take too much work together; and what the watch throws.
///   parts  cache of compiled parts
///   watch  may be null
std::shared_ptr<const Grammar> answer_grammar(const AnswerShape& shape, const AnswerRules& rules,
                                              std::vector<std::string> marks,
                                              grammar::KeptParts& parts,
                                              WorkWatch* watch = nullptr);

/// Value as JSON on one line.
std::string json_of(const jinja::Value& value);

}  // namespace tenon
