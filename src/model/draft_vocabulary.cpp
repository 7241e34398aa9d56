#include "model/draft_vocabulary.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {

void check_draft_model(const Model& model, const Model& draft) {
  const std::string name = draft.file().name();
  if (model.gives_rows()) {
    fail(Code::Unsupported, "draft model {}: {} gives rows of texts, and has no answers to guess",
         name, model.file().name());
  }
  if (draft.gives_rows()) {
    fail(Code::Unsupported, "draft model {}: it gives rows of texts, and no logits", name);
  }
  if (draft.find(ProgramRole::Encoder) != nullptr || model.find(ProgramRole::Encoder) != nullptr) {
    fail(Code::Unsupported, "draft model {}: guesses are for decoders, and there is an encoder",
         name);
  }
  const Tokenizer& ours = *model.tokenizer();
  const Tokenizer& theirs = *draft.tokenizer();
  const size_t both = std::min(ours.size(), theirs.size());
  for (size_t i = 0; i < both; ++i) {
    const auto token = static_cast<Token>(i);
    const bool same = ours.spelling(token) == theirs.spelling(token) &&
                      ours.is_control(token) == theirs.is_control(token);
    if (same) continue;
    fail(Code::Unsupported,
         "draft model {}: its vocabulary is another one: token {} is \"{}\", that of {} is \"{}\"",
         name, token, printable(theirs.spelling(token), 40), model.file().name(),
         printable(ours.spelling(token), 40));
  }
}

}  // namespace tenon
