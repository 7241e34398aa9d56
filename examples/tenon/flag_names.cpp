#include "flag_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tenon_program {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array kFurtherNames = std::to_array<Pair>({
    {"context", ",-c,--ctx-size,--num-ctx"},
    {"threads", ",-t"},
    {"gpu_layers", ",--ngl,--n-gpu-layers,--num-gpu"},
    {"temperature", ",--temp"},
    {"seed", ",-s"},
    {"repeat_penalty", ",--repetition-penalty"},
    {"stop", ",-r,--reverse-prompt"},
    {"devices", ",--device"},
    {"banned_strings", ",--ban"},
    {"running", ",--np,--parallel"},
    {"slice", ",-b,--batch-size"},
    {"draft_model", ",--model-draft,--md"},
    {"draft_max", ",--draft,--draft-n"},
    {"projector", ",--mmproj"},
    {"merged_adapters", ",--lora,--lora-scaled"},
});

/// Words that other programs write with a single dash.
constexpr auto kDashedWords = std::to_array<std::string_view>(
    {"-ngl", "-sys",  "-hf",   "-hff", "-cnv",  "-no-cnv", "-fa", "-ub", "-np",
     "-ctk", "-ctv",  "-dev",  "-sm",  "-ts",   "-mg",     "-ot", "-md", "-mu",
     "-hfr", "-nkvo", "-cmoe", "-ctx", "-temp", "-model",  "-tb"});

constexpr std::string_view kGet =
    "give hf:OWNER/NAME:QUANTISATION, or the address of a .gguf file, in place of MODEL";
constexpr std::string_view kOneCacheType = "--cache-type TEXT sets both";

constexpr std::array kFlagHints = std::to_array<Pair>({
    {"--n-ctx", "--context N sets it"},
    {"--max-model-len", "--context N sets it"},
    {"--max-seq-len", "--context N sets it"},
    {"--n-threads", "--threads N sets it"},
    {"--num-threads", "--threads N sets it"},
    {"--n-batch", "--slice N is the nearest"},
    {"--n-ubatch", "--slice N is the nearest"},
    {"--max-new-tokens", "--max-tokens N sets it"},
    {"--max-length", "--max-tokens N sets it"},
    {"--penalty-repeat", "--repeat-penalty X sets it"},
    {"--hf", kGet},
    {"--hf-repo", kGet},
    {"--hfr", kGet},
    {"--hff", kGet},
    {"--hf-file", kGet},
    {"--mu", kGet},
    {"--model-url", kGet},
    {"--mlock", "leave it out: weights stay in memory where they fit"},
    {"--mmap", "leave it out: files are mapped"},
    {"--no-mmap", "leave it out: files are mapped"},
    {"--fa", "leave it out: attention is always computed in pieces"},
    {"--flash-attn", "leave it out: attention is always computed in pieces"},
    {"--jinja", "leave it out: templates are always read as Jinja"},
    {"--cnv", "`tenon chat MODEL` talks"},
    {"--conversation", "`tenon chat MODEL` talks"},
    {"--interactive", "`tenon chat MODEL` talks"},
    {"-i", "`tenon chat MODEL` talks"},
    {"--no-cnv", "`tenon complete MODEL TEXT` continues a text"},
    {"--no-conversation", "`tenon complete MODEL TEXT` continues a text"},
    {"--ub", "--slice N is the nearest"},
    {"--ubatch-size", "--slice N is the nearest"},
    {"--tb", "--threads N sets both"},
    {"--threads-batch", "--threads N sets both"},
    {"--ctk", kOneCacheType},
    {"--ctv", kOneCacheType},
    {"--cache-type-k", kOneCacheType},
    {"--cache-type-v", kOneCacheType},
    {"--grammar", "--gbnf FILE reads one from a file"},
    {"--format", "--json-schema FILE says which JSON"},
    {"--ignore-eos", "--min-tokens N is the nearest"},
    {"--log-disable", "leave it out: nothing is logged"},
    {"--think", "thinking is on; --no-thinking turns it off"},
    {"--keepalive", "`tenon serve --memory-bytes N` decides how long models stay"},
    {"--sm", "--devices LIST places layers"},
    {"--split-mode", "--devices LIST places layers"},
    {"--ts", "--devices LIST places layers"},
    {"--tensor-split", "--devices LIST places layers"},
    {"--mg", "--devices LIST places layers"},
    {"--main-gpu", "--devices LIST places layers"},
    {"--ot", "--experts-on cpu is the nearest"},
    {"--override-tensor", "--experts-on cpu is the nearest"},
    {"--cmoe", "--experts-on cpu does that"},
    {"--cpu-moe", "--experts-on cpu does that"},
});

constexpr std::array kCommandHints = std::to_array<Pair>({
    {"pull", kGet},
    {"list", "models are files here: there is no store to list"},
    {"ls", "models are files here: there is no store to list"},
    {"rm", "models are files here: remove the file"},
    {"ps", "a server tells at /v1/models what is loaded"},
    {"show", "`tenon inspect MODEL` shows what is in a file"},
    {"server", "`tenon serve MODEL` answers over HTTP"},
    {"cli", "`tenon run MODEL QUESTION` answers, `tenon chat MODEL` talks"},
    {"generate",
     "`tenon run MODEL QUESTION` answers, `tenon complete MODEL TEXT` continues a text"},
    {"quantize", "this version cannot do that"},
    {"detokenize", "this version cannot do that"},
    {"create", "models are files here; --system and --template say how one is asked"},
});

std::string_view found_in(const auto& table, std::string_view name) {
  for (const auto& [known, text] : table) {
    if (known == name) return text;
  }
  return "";
}

/// Edit distance: letters changed, added, removed or swapped with the next.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({change, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

/// The name with dashes for the underscores of Python's libraries.
std::string dashed(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

}  // namespace

std::string further_names(std::string_view key) {
  return std::string(found_in(kFurtherNames, key));
}

std::vector<std::string> with_long_dashes(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    if (std::find(kDashedWords.begin(), kDashedWords.end(), name) != kDashedWords.end()) {
      argument.insert(0, "-");
    }
  }
  return arguments;
}

std::string_view hint_of_flag(std::string_view flag) { return found_in(kFlagHints, dashed(flag)); }
std::string_view hint_of_command(std::string_view command) {
  return found_in(kCommandHints, command);
}

std::string nearest(std::string_view spelled, const std::vector<std::string>& names) {
  constexpr size_t kLongest = 64;
  if (spelled.empty() || spelled.size() > kLongest) return "";
  const std::string given = dashed(spelled);
  std::string best;
  size_t least = std::max<size_t>(given.size() / 3, 1) + 1;
  for (const std::string& name : names) {
    // A prefix of a name counts as near.
    const bool begins = given.size() >= 3 && name.starts_with(given);
    const size_t far = begins ? 1 : distance(given, name);
    if (far < least) {
      least = far;
      best = name;
    }
  }
  return best;
}

}  // namespace tenon_program
