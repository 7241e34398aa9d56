// What a model may answer, as a grammar: the reasoning of its family, then content by a schema, or
// free text until a call begins, and the calls by the schemas of their tools.
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

/// The control tokens of a vocabulary that a family's marks spell.
std::vector<std::string> marks_of(const ChatFormat& format, const Tokenizer& tokenizer);

/// How an answer to a prompt may begin.
enum class AnswerBegin : uint8_t {
  Content,    ///< without reasoning
  MayReason,  ///< the model opens it itself, or not
  Reasoning,  ///< the prompt has opened it
};
AnswerBegin begin_of_answer(const ChatFormat& format, std::string_view template_source,
                            std::string_view prompt);

/// The shape of calls that a family uses with a template; null when it has none.
const CallShape* call_shape_of(const ChatFormat& format, std::string_view template_source);

struct AnswerShape {
  const ChatFormat& format;
  const CallShape* calls;  ///< null when rules.calls is None
  AnswerBegin begin;
  bool content_opened = false;  ///< the prompt ends with what stands before content
};

/// Throws Error(Grammar) naming the tool and the JSON pointer for a schema that is malformed,
/// impossible or not supported; Error(Argument) for a name that cannot be written.
/// Error(Limit) for tools that together take too much work; what the watch throws.
///   parts  where parts of grammars are kept and looked for
///   watch  may be null
std::shared_ptr<const Grammar> answer_grammar(const AnswerShape& shape, const AnswerRules& rules,
                                              std::vector<std::string> marks,
                                              grammar::KeptParts& parts,
                                              WorkWatch* watch = nullptr);

/// A value as JSON on one line.
std::string json_of(const jinja::Value& value);

}  // namespace tenon
