// GET /metrics: counters of the engines for Prometheus (text format 0.0.4), labelled by model, and
// also under vLLM's names, which dashboards use.
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/routes.h"

namespace tenon_http {
namespace {

using Stats = tenon_engine_stats;

/// Counter or gauge under vLLM's name.
struct Line {
  const char* kind;
  const char* name;
  const char* help;
  double (*value)(const Stats&);
};

constexpr auto kLines = std::to_array<Line>({
    {"gauge", "vllm:num_requests_running", "Requests that have begun",
     [](const Stats& s) { return static_cast<double>(s.running); }},
    {"gauge", "vllm:num_requests_waiting", "Requests in the queue",
     [](const Stats& s) { return static_cast<double>(s.waiting); }},
    {"gauge", "vllm:kv_cache_usage_perc", "Part of the KV cache in use, 0 to 1",
     [](const Stats& s) {
       return s.kv_limit_bytes == 0
                  ? 0
                  : static_cast<double>(s.kv_used_bytes) / static_cast<double>(s.kv_limit_bytes);
     }},
    {"counter", "vllm:prompt_tokens_total", "Prompt tokens, computed or found",
     [](const Stats& s) { return static_cast<double>(s.prompt_tokens + s.reused_tokens); }},
    {"counter", "vllm:generation_tokens_total", "Tokens generated",
     [](const Stats& s) { return static_cast<double>(s.generated_tokens); }},
    {"counter", "vllm:prefix_cache_queries_total", "Prompt tokens, computed or found",
     [](const Stats& s) { return static_cast<double>(s.prompt_tokens + s.reused_tokens); }},
    {"counter", "vllm:prefix_cache_hits_total", "Prompt tokens that had been computed before",
     [](const Stats& s) { return static_cast<double>(s.reused_tokens); }},
    {"counter", "vllm:spec_decode_num_drafts_total", "Tokens computed with guesses beside them",
     [](const Stats& s) { return static_cast<double>(s.drafts); }},
    {"counter", "vllm:spec_decode_num_draft_tokens_total", "Guessed tokens computed",
     [](const Stats& s) { return static_cast<double>(s.drafted_tokens); }},
    {"counter", "vllm:spec_decode_num_accepted_tokens_total",
     "Guessed tokens that became tokens of requests",
     [](const Stats& s) { return static_cast<double>(s.accepted_tokens); }},
    {"counter", "vllm:num_preemptions_total", "Requests preempted",
     [](const Stats& s) { return static_cast<double>(s.preempted); }},
    {"counter", "vllm:request_success_total", "Requests that ended by themselves",
     [](const Stats& s) { return static_cast<double>(s.finished); }},
});

/// Histogram of durations.
struct Histogram {
  const char* name;
  const char* help;
  const uint64_t* (*counts)(const Stats&);  ///< [TENON_HISTOGRAM_COUNTS]
  double (*seconds)(const Stats&);
};

constexpr auto kHistograms = std::to_array<Histogram>({
    {"vllm:time_to_first_token_seconds", "From the arrival of a request to its first token",
     [](const Stats& s) { return &s.first_token_counts[0]; },
     [](const Stats& s) { return s.first_token_seconds; }},
    {"vllm:inter_token_latency_seconds", "Between two tokens",
     [](const Stats& s) { return &s.token_gap_counts[0]; },
     [](const Stats& s) { return s.token_gap_seconds; }},
    {"vllm:e2e_request_latency_seconds", "From the arrival of a request to its end",
     [](const Stats& s) { return &s.request_counts[0]; },
     [](const Stats& s) { return s.request_seconds; }},
});

/// Bounds of the counts (tenon.h, TENON_HISTOGRAM_COUNTS), in seconds.
constexpr auto kBounds =
    std::to_array<const char*>({"0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25",
                                "0.5", "1", "2.5", "5", "10", "25", "50", "100"});
static_assert(kBounds.size() + 1 == TENON_HISTOGRAM_COUNTS);

std::string metric_number(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

/// Escapes a label's value: backslashes, quotes and line ends.
std::string metric_label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

struct ModelStats {
  std::shared_ptr<const ServedModel> model;  ///< keeps the model loaded
  std::string label;                         ///< model_name="demo"
  std::string text;                          ///< metrics under Tenon's names, without labels
  Stats stats{};
};

void write_heading(std::string& out, std::string_view name, std::string_view kind,
                   std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append(".\n");
  out.append("# TYPE ").append(name).append(" ").append(kind).append("\n");
}

void write_line(std::string& out, const Line& line, const std::vector<ModelStats>& models) {
  write_heading(out, line.name, line.kind, line.help);
  for (const ModelStats& model : models) {
    out.append(line.name).append("{").append(model.label).append("} ");
    out.append(metric_number(line.value(model.stats))).append("\n");
  }
}

void write_histogram(std::string& out, const Histogram& histogram,
                     const std::vector<ModelStats>& models) {
  const std::string_view name = histogram.name;
  write_heading(out, name, "histogram", histogram.help);
  for (const ModelStats& model : models) {
    const uint64_t* counts = histogram.counts(model.stats);
    uint64_t total = 0;
    const auto bucket = [&](const char* bound) {
      out.append(name).append("_bucket{").append(model.label).append(",le=\"");
      out.append(bound).append("\"} ").append(std::to_string(total)).append("\n");
    };
    for (size_t i = 0; i < kBounds.size(); ++i) {
      total += counts[i];
      bucket(kBounds[i]);
    }
    total += counts[kBounds.size()];
    bucket("+Inf");
    const std::string labels = "{" + model.label + "} ";
    out.append(name).append("_sum").append(labels);
    out.append(metric_number(histogram.seconds(model.stats))).append("\n");
    out.append(name).append("_count").append(labels).append(std::to_string(total)).append("\n");
  }
}

/// Adds the model's label to a sample of the library's text.
void write_labelled(std::string& out, std::string_view line, const std::string& label) {
  const size_t name_end = line.find_first_of("{ ");
  out.append(line.substr(0, name_end)).append("{").append(label);
  if (line[name_end] == '{') {
    out.append(",").append(line.substr(name_end + 1));
  } else {
    out.append("}").append(line.substr(name_end));
  }
  out.append("\n");
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

/// Groups the models' samples by metric, as the format requires, after one heading.
void write_library_metrics(std::string& out, const std::vector<ModelStats>& models) {
  if (models.empty()) return;
  std::vector<std::vector<std::string_view>> lines;
  for (const ModelStats& model : models) lines.push_back(lines_of(model.text));
  const size_t count = lines[0].size();
  for (size_t i = 0; i < count;) {
    if (lines[0][i].starts_with('#')) {
      out.append(lines[0][i++]).append("\n");
      continue;
    }
    size_t end = i;
    while (end < count && !lines[0][end].starts_with('#')) ++end;
    for (size_t m = 0; m < models.size(); ++m) {
      for (size_t line = i; line < std::min(end, lines[m].size()); ++line) {
        if (!lines[m][line].empty()) write_labelled(out, lines[m][line], models[m].label);
      }
    }
    i = end;
  }
}

std::string stats_text(tenon_engine* engine) {
  std::string text(16384, '\0');
  for (;;) {
    size_t needed = 0;
    tenon::check(tenon_engine_stats_text(engine, text.data(), text.size(), &needed));
    const bool fits = needed <= text.size();
    text.resize(needed);
    if (fits) return text;
  }
}

void write_own(std::string& out, const char* name, const char* kind, const char* help,
               double value) {
  write_heading(out, name, kind, help);
  out.append(name).append(" ").append(metric_number(value)).append("\n");
}

/// Totals of requests, per status and per client.
void write_requests(std::string& out, const RequestJournal& journal) {
  const RequestJournal::Totals totals = journal.totals();
  write_heading(out, "tenon_http_answers_total", "counter",
                "Answers by the kind of their status; gone: the client left before");
  constexpr auto kStatusKinds =
      std::to_array<const char*>({"gone", "1xx", "2xx", "3xx", "4xx", "5xx"});
  for (size_t i = 0; i < kStatusKinds.size(); ++i) {
    out.append("tenon_http_answers_total{code=\"").append(kStatusKinds[i]).append("\"} ");
    out.append(std::to_string(totals.answers[i])).append("\n");
  }
  if (totals.clients.empty()) return;
  using Client = RequestJournal::ClientTotals;
  const auto write = [&](const char* name, const char* help, uint64_t Client::*value) {
    write_heading(out, name, "counter", help);
    for (const auto& [client, counts] : totals.clients) {
      out.append(name).append("{client=\"").append(metric_label(client)).append("\"} ");
      out.append(std::to_string(counts.*value)).append("\n");
    }
  };
  write("tenon_client_requests_total", "Requests of a client", &Client::requests);
  write("tenon_client_prompt_tokens_total", "Prompt tokens of a client", &Client::prompt_tokens);
  write("tenon_client_generated_tokens_total", "Tokens generated for a client",
        &Client::generated_tokens);
}

void write_models(std::string& out, const std::vector<ModelView>& models) {
  write_heading(out, "tenon_model_loaded", "gauge", "Whether the model is in memory");
  for (const ModelView& model : models) {
    out.append("tenon_model_loaded{model_name=\"").append(metric_label(model.name));
    out.append(model.served != nullptr ? "\"} 1\n" : "\"} 0\n");
  }
}

}  // namespace

Start handle_metrics(const HttpRequest&, ServerState& state) {
  std::vector<ModelStats> models;
  for (const ModelView& view : state.models->views()) {
    const ServedModel* model = view.served.get();
    if (model == nullptr || model->engine() == nullptr) continue;
    ModelStats& entry = models.emplace_back(
        ModelStats{view.served, "model_name=\"" + metric_label(model->name()) + "\"",
                   stats_text(model->engine())});
    entry.stats.struct_size = sizeof entry.stats;
    tenon::check(tenon_engine_get_stats(model->engine(), &entry.stats));
  }
  std::string out;
  write_library_metrics(out, models);
  for (const Line& line : kLines) write_line(out, line, models);
  for (const Histogram& histogram : kHistograms) write_histogram(out, histogram, models);
  write_requests(out, *state.journal);
  write_models(out, state.models->views());
  write_own(out, "tenon_http_requests_total", "counter", "Requests that came over HTTP",
            static_cast<double>(state.num_requests.load()));
  write_own(out, "tenon_http_connections", "gauge", "Connections that are open",
            static_cast<double>(state.num_connections.load()));
  return answer_with(
      {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(out)});
}

}  // namespace tenon_http
