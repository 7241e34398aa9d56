// tenon_embedder_*: embedding rows and scores of texts.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "embedder_handle.h"
#include "fence.h"
#include "host_clock.h"
#include "model_handle.h"
#include "option_readers.h"
#include "option_set.h"
#include "values.h"

using namespace tenon::capi;

namespace {

tenon::TextRole role_in(int32_t role) {
  if (role < TENON_TEXT_PLAIN || role > TENON_TEXT_DOCUMENT) {
    tenon::fail(tenon::Code::Argument, "batch.role is {}, not one of TENON_TEXT_*", role);
  }
  return static_cast<tenon::TextRole>(role);
}

std::string_view batch_text(const tenon_embedder_batch& batch, size_t index) {
  return text_in(batch.texts[index],
                 batch.lengths == nullptr ? TENON_NUL_TERMINATED : batch.lengths[index],
                 "a text of the batch");
}

tenon_embedder_batch batch_in(const tenon_embedder_batch* given) {
  const tenon_embedder_batch batch = struct_in(given, "tenon_embedder_batch");
  if (batch.count > SIZE_MAX / 64) {
    tenon::fail(tenon::Code::Argument, "batch.count is {}", batch.count);
  }
  if (batch.texts == nullptr) {
    (void)array_in(batch.tokens, batch.count, "batch.tokens");
    (void)array_in(batch.num_tokens, batch.count, "batch.num_tokens");
  }
  return batch;
}

/// Texts of the batch in the form that the embedder computes.
std::vector<tenon::EmbedderText> read_batch(const tenon::Embedder& embedder,
                                            const tenon_embedder_batch& batch,
                                            tenon::TextRole role) {
  std::vector<tenon::EmbedderText> texts;
  texts.reserve(batch.count);
  for (size_t i = 0; i < batch.count; ++i) {
    if (batch.texts != nullptr) {
      texts.push_back(embedder.read(batch_text(batch, i), role));
    } else {
      const auto tokens = array_in(batch.tokens[i], batch.num_tokens[i], "tokens of the batch");
      texts.push_back({{tokens.begin(), tokens.end()}});
    }
    embedder.check(texts.back(), i);
  }
  return texts;
}

uint64_t deadline_of(const tenon::Embedder& embedder, double timeout_seconds) {
  const uint64_t timeout = nanoseconds(timeout_seconds, "timeout_seconds");
  if (timeout_seconds == 0) return UINT64_MAX;
  const uint64_t now = embedder.model().options().system->now_ns();
  return now + std::min(timeout, UINT64_MAX - now);
}

void check_buffer(const float* buffer, size_t capacity) {
  if (buffer == nullptr && capacity != 0) {
    tenon::fail(tenon::Code::Argument, "the buffer is NULL but its capacity is {}", capacity);
  }
}

}  // namespace

tenon_status tenon_embedder_create(const tenon_model* model, const tenon_options* options,
                                   tenon_embedder** embedder) {
  return fence([&] {
    tenon_embedder*& out = checked_out(embedder, "embedder");
    const tenon_model& of_handle = checked(model);
    auto made = std::make_shared<tenon::Embedder>(of_handle.model,
                                                  embedder_options(options_or_default(options)));
    out = new tenon_embedder(of_handle.host, std::move(made));
  });
}

void tenon_embedder_destroy(tenon_embedder* embedder) { destroy(embedder); }

tenon_status tenon_embedder_get_info(const tenon_embedder* embedder, tenon_embedder_info* info) {
  return fence([&] {
    const tenon::EmbedderInfo& of_handle = checked(embedder).embedder->info();
    tenon_embedder_info out{};
    out.pooling = static_cast<int32_t>(of_handle.pooling);
    out.dimensions = of_handle.dimensions;
    out.max_tokens = of_handle.max_tokens;
    out.normalizes = of_handle.normalizes ? 1 : 0;
    out.num_labels = static_cast<uint32_t>(of_handle.labels.size());
    struct_out(out, info, "tenon_embedder_info");
  });
}

size_t tenon_embedder_dimensions(const tenon_embedder* embedder) {
  const HandlesInUse call;
  const tenon_embedder* live = live_or_null(embedder);
  return live == nullptr ? 0 : live->embedder->info().dimensions;
}

tenon_status tenon_embedder_label(const tenon_embedder* embedder, size_t index, const char** name,
                                  size_t* length) {
  return fence([&] {
    const std::vector<std::string>& labels = checked(embedder).embedder->info().labels;
    const char*& out = checked_out(name, "name");
    size_t& size = checked_out(length, "length");
    if (index >= labels.size()) {
      tenon::fail(tenon::Code::Argument, "label {} does not exist; there are {}", index,
                  labels.size());
    }
    out = labels[index].c_str();
    size = labels[index].size();
  });
}

tenon_status tenon_embedder_embed(tenon_embedder* embedder, const tenon_embedder_batch* batch,
                                  float* rows, size_t capacity, size_t* num_values) {
  return fence([&] {
    // Keep the host alive: another thread may destroy the handle during the call.
    const std::shared_ptr<Host> host = checked(embedder).host;
    const std::shared_ptr<tenon::Embedder> used = checked(embedder).embedder;
    size_t& needed = checked_out(num_values, "num_values");
    check_buffer(rows, capacity);
    const tenon_embedder_batch given = batch_in(batch);
    const uint64_t deadline_ns = deadline_of(*used, given.timeout_seconds);
    const auto texts = read_batch(*used, given, role_in(given.role));
    uint64_t num_rows = 0;
    for (const tenon::EmbedderText& text : texts) num_rows += used->num_rows(text);
    const uint64_t values = num_rows * used->info().dimensions;
    if (values <= capacity) used->embed(texts, rows, deadline_ns);
    for (size_t i = 0; i < texts.size() && given.num_rows != nullptr; ++i) {
      given.num_rows[i] = used->num_rows(texts[i]);
    }
    needed = values;
  });
}

tenon_status tenon_embedder_rank(tenon_embedder* embedder, const char* query, size_t length,
                                 const tenon_embedder_batch* documents, float* scores,
                                 size_t capacity, size_t* num_scores) {
  return fence([&] {
    const std::shared_ptr<Host> host = checked(embedder).host;
    const std::shared_ptr<tenon::Embedder> used = checked(embedder).embedder;
    size_t& needed = checked_out(num_scores, "num_scores");
    check_buffer(scores, capacity);
    const std::string_view asked = text_in(query, length, "query");
    const tenon_embedder_batch given = batch_in(documents);
    const uint64_t deadline_ns = deadline_of(*used, given.timeout_seconds);
    const bool classifies = used->info().pooling == tenon::Pooling::Rank;
    std::vector<tenon::EmbedderText> texts;
    if (!classifies) {
      texts = read_batch(*used, given, tenon::TextRole::Document);
      texts.push_back(used->read(asked, tenon::TextRole::Query));
      used->check(texts.back(), given.count);
    }
    if (classifies && given.texts == nullptr && given.count > 0) {
      tenon::fail(tenon::Code::Argument, "batch.texts is NULL; a classifier reads texts");
    }
    for (size_t i = 0; classifies && i < given.count; ++i) {
      texts.push_back(used->read_pair(asked, batch_text(given, i)));
      used->check(texts.back(), i);
    }
    const uint64_t values = given.count * used->num_scores();
    if (values <= capacity) used->rank(texts, scores, deadline_ns);
    needed = values;
  });
}

tenon_status tenon_embedder_cancel(tenon_embedder* embedder) {
  return fence([&] { checked(embedder).embedder->cancel(); });
}
