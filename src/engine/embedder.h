// Rows of texts: embeddings, and the scores of rerankers. Which texts share a step is decided here;
// the step itself is in embedding_step.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/embedder_options.h"
#include "engine/embedding_step.h"
#include "model/model.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// What a text is for: which words go before it. The values are those of TENON_TEXT_*.
enum class TextRole : int32_t { Plain = 0, Query = 1, Document = 2 };

struct EmbedderInfo {
  Pooling pooling = Pooling::Mean;
  bool normalizes = true;
  uint32_t dimensions = 0;          ///< columns of a row; with Rank, labels
  uint32_t max_tokens = 0;          ///< of a text
  std::vector<std::string> labels;  ///< of the classifier, [dimensions] or none
};

/// Any thread; several at once take turns step by step. The row of a text has the same bits alone and
/// among any others. Reads no more of the model's file than rows of tables that stay in it.
class Embedder {
 public:
  /// Throws State when the model gives no rows, Argument for dimensions that its rows do not have,
  /// Unsupported for a pooling that the model cannot have.
  Embedder(std::shared_ptr<const Model> model, const EmbedderOptions& options);
  ~Embedder();
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  [[nodiscard]] const EmbedderInfo& info() const { return info_; }
  [[nodiscard]] const Model& model() const { return *model_; }

  /// A text with the words that its role wants and the tokens that the vocabulary adds.
  [[nodiscard]] EmbedderText read(std::string_view text, TextRole role) const;
  /// Two texts as the classifier reads them: by the file's template "rerank", or one after the other
  /// as its vocabulary separates them. With truncate, the document loses its end.
  [[nodiscard]] EmbedderText read_pair(std::string_view query, std::string_view document) const;
  /// Throws Argument for no tokens or one outside the vocabulary, Limit for too many unless they may
  /// be cut. number: of the text, for the message.
  void check(EmbedderText& text, size_t number) const;

  /// Rows of a text: as many as tokens without pooling, else 1.
  [[nodiscard]] uint64_t num_rows(const EmbedderText& text) const {
    return info_.pooling == Pooling::None ? text.tokens.size() : 1;
  }
  /// Computes the rows of texts that check() has seen.
  ///   rows  [sum of num_rows(), dimensions] f32
  ///   deadline_ns  of the model's System; UINT64_MAX: none
  /// Throws Cancelled, Deadline, NoMemory, State for values that are not finite, and what the backend
  /// reports.
  void embed(std::span<const EmbedderText> texts, float* rows, uint64_t deadline_ns);

  /// Scores of a text; with rows, which have one cosine, it is 1.
  [[nodiscard]] uint64_t num_scores() const {
    return info_.pooling == Pooling::Rank ? info_.dimensions : 1;
  }
  /// How well texts answer a query. Throws Unsupported without pooling; as embed().
  ///   texts   with Rank the pairs; else the documents, and last the query
  ///   scores  [documents, num_scores()] f32
  void rank(std::span<const EmbedderText> texts, float* scores, uint64_t deadline_ns);

  /// Ends the calls of embed() and rank() that are under way with Cancelled. Any thread.
  void cancel() noexcept;

 private:
  struct Call;

  void choose_pooling(const EmbedderOptions& options);
  [[nodiscard]] Pooling own_pooling() const;
  void run(EmbeddingStep& step, Call& call);
  void take(const EmbeddingStep& step, size_t part, const EmbedderText& text, size_t begin,
            std::vector<double>& sum, float* rows) const;
  void finish_row(std::span<const float> row, float* out) const;
  std::unique_ptr<EmbeddingStep> take_step();
  void give_step(std::unique_ptr<EmbeddingStep> step) noexcept;

  std::shared_ptr<const Model> model_;
  EmbedderInfo info_;
  bool truncates_;
  bool from_text_row_ = false;  // the program pools or classifies
  std::string query_prefix_;
  std::string document_prefix_;
  std::mutex mutex_;
  Call* calls_ = nullptr;                              // under way
  std::vector<std::unique_ptr<EmbeddingStep>> steps_;  // at rest
};

/// The cosine of the angle between two rows, 0 where one is all zeros.
double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace tenon
