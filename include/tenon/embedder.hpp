// Rows of texts: embeddings, whose cosines say how similar texts are, and the scores of rerankers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <tenon/error.hpp>
#include <tenon/model.hpp>
#include <tenon/options.hpp>
#include <tenon/tokenizer.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

/// Role of a text, which chooses its prefix.
enum class TextRole : int32_t {
  Plain = TENON_TEXT_PLAIN,
  Query = TENON_TEXT_QUERY,
  Document = TENON_TEXT_DOCUMENT,
};

/// Rows of several texts, one after another.
struct Rows {
  size_t dimensions = 0;
  std::vector<float> values{};       ///< [rows, dimensions]
  std::vector<uint64_t> num_rows{};  ///< per text: 1, or its tokens without pooling

  [[nodiscard]] size_t size() const { return dimensions == 0 ? 0 : values.size() / dimensions; }
  [[nodiscard]] std::span<const float> operator[](size_t row) const {
    return std::span(values).subspan(row * dimensions, dimensions);
  }
};

/// Turns texts into rows. Move-only; any thread. Keeps what it needs of the model alive.
///
///   tenon::Embedder embedder(model);
///   const tenon::Rows rows = embedder.embed({"a cat", "a dog"});
class Embedder {
 public:
  explicit Embedder(const Model& model, const EmbedderOptions& options = {})
      : Embedder(model.get(), options) {}
  /// For a model held as a handle of the C interface.
  explicit Embedder(const tenon_model* model, const EmbedderOptions& options = {}) {
    tenon_embedder* raw = nullptr;
    check(tenon_embedder_create(model, Options(options).get(), &raw));
    handle_.reset(raw);
  }

  [[nodiscard]] tenon_embedder_info info() const {
    tenon_embedder_info info{};
    info.struct_size = sizeof info;
    check(tenon_embedder_get_info(get(), &info));
    return info;
  }
  [[nodiscard]] size_t dimensions() const noexcept { return tenon_embedder_dimensions(get()); }
  /// Names of the classifier's labels, if the file has any; valid as long as the embedder.
  [[nodiscard]] std::vector<std::string_view> labels() const {
    std::vector<std::string_view> labels(info().num_labels);
    for (size_t i = 0; i < labels.size(); ++i) {
      const char* name = nullptr;
      size_t length = 0;
      check(tenon_embedder_label(get(), i, &name, &length));
      labels[i] = {name, length};
    }
    return labels;
  }

  /// Rows of texts. timeout_seconds: for the whole call; 0: none.
  [[nodiscard]] Rows embed(std::span<const std::string_view> texts, TextRole role = TextRole::Plain,
                           double timeout_seconds = 0) const {
    const Batch batch(texts, role, timeout_seconds);
    return embed(batch.raw());
  }
  [[nodiscard]] Rows embed(std::initializer_list<std::string_view> texts,
                           TextRole role = TextRole::Plain) const {
    return embed(std::span(texts.begin(), texts.size()), role);
  }
  /// Row of one text; without pooling the rows of its tokens.
  [[nodiscard]] std::vector<float> embed(std::string_view text,
                                         TextRole role = TextRole::Plain) const {
    return embed(std::span(&text, 1), role).values;
  }
  /// Rows of texts given as tokens.
  [[nodiscard]] Rows embed_tokens(std::span<const std::span<const Token>> texts,
                                  double timeout_seconds = 0) const {
    std::vector<const tenon_token*> tokens;
    std::vector<uint64_t> sizes;
    for (const std::span<const Token> text : texts) {
      tokens.push_back(text.data());
      sizes.push_back(text.size());
    }
    tenon_embedder_batch raw{};
    raw.struct_size = sizeof raw;
    raw.count = texts.size();
    raw.tokens = tokens.data();
    raw.num_tokens = sizes.data();
    raw.timeout_seconds = timeout_seconds;
    return embed(raw);
  }

  /// Scores how well each document answers the query; more is better: [documents, labels], where
  /// labels is 1 without a classifier.
  [[nodiscard]] std::vector<float> rank(std::string_view query,
                                        std::span<const std::string_view> documents,
                                        double timeout_seconds = 0) const {
    const Batch batch(documents, TextRole::Document, timeout_seconds);
    const tenon_embedder_batch raw = batch.raw();
    const tenon_embedder_info of_handle = info();
    const bool scores = of_handle.pooling == TENON_POOLING_RANK;
    std::vector<float> out(documents.size() * (scores ? of_handle.dimensions : 1));
    size_t needed = 0;
    check(tenon_embedder_rank(get(), query.data(), query.size(), &raw, out.data(), out.size(),
                              &needed));
    return out;
  }

  /// Ends running calls with Cancelled. Any thread.
  void cancel() const noexcept { (void)tenon_embedder_cancel(get()); }

  [[nodiscard]] tenon_embedder* get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(tenon_embedder* raw) const noexcept { tenon_embedder_destroy(raw); }
  };
  /// Texts in the form of the C interface.
  class Batch {
   public:
    Batch(std::span<const std::string_view> texts, TextRole role, double timeout_seconds)
        : role_(role), timeout_seconds_(timeout_seconds) {
      for (const std::string_view text : texts) {
        texts_.push_back(text.empty() ? "" : text.data());
        lengths_.push_back(text.size());
      }
    }
    [[nodiscard]] tenon_embedder_batch raw() const {
      static constexpr const char* kNone[] = {nullptr};  // an empty list of texts is not NULL
      tenon_embedder_batch raw{};
      raw.struct_size = sizeof raw;
      raw.role = static_cast<int32_t>(role_);
      raw.count = texts_.size();
      raw.texts = texts_.empty() ? kNone : texts_.data();
      raw.lengths = lengths_.data();
      raw.timeout_seconds = timeout_seconds_;
      return raw;
    }

   private:
    std::vector<const char*> texts_;
    std::vector<uint64_t> lengths_;
    TextRole role_;
    double timeout_seconds_;
  };

  [[nodiscard]] Rows embed(tenon_embedder_batch raw) const {
    Rows rows;
    rows.dimensions = dimensions();
    rows.num_rows.resize(raw.count);
    raw.num_rows = rows.num_rows.data();
    rows.values.resize(raw.count * rows.dimensions);
    for (;;) {
      size_t needed = 0;
      check(tenon_embedder_embed(get(), &raw, rows.values.data(), rows.values.size(), &needed));
      const bool fits = needed <= rows.values.size();
      rows.values.resize(needed);
      if (fits) return rows;
    }
  }

  std::unique_ptr<tenon_embedder, Destroy> handle_;
};

}  // namespace v1
}  // namespace tenon
