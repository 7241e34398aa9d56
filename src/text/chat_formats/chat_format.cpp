#include "text/chat_formats/chat_format.h"

#include <algorithm>

namespace tenon {

extern const ChatFormat kHarmonyFormat, kKimiFormat, kDeepSeekDsmlFormat, kDeepSeekV3Format,
    kDeepSeekV31Format, kMiniMaxM2Format, kMiniMaxM1Format, kMistralFormat, kGlmFormat,
    kQwen3CoderFormat, kSeedFormat, kGemmaFormat, kGemma4Format, kApertusFormat, kCommandFormat,
    kCommandPlusFormat, kNemotronFormat, kPhi4Format, kFirefunctionFormat, kAprielFormat,
    kHunyuanFormat, kGigaChatFormat, kLfm2Format, kOlmo3Format, kFunctionaryFormat, kGranite3Format,
    kHermesFormat, kLlama3Format, kLlama4Format, kReasoningFormat, kKimiK3Format, kMiniMaxM3Format,
    kMiniCpm5Format, kSolarFormat, kHy3Format, kMuseFormat, kDeepSeekV41Format;

namespace {

constexpr ChatFormat kPlainFormat{.name = "plain", .think = {}};

// In the order of detection: formats with rarer marks come first.
constexpr std::array<const ChatFormat*, 38> kFormats{
    &kPlainFormat,        &kKimiK3Format,      &kMiniMaxM3Format,    &kMiniCpm5Format,
    &kSolarFormat,        &kHy3Format,         &kMuseFormat,         &kHarmonyFormat,
    &kKimiFormat,         &kDeepSeekV41Format, &kDeepSeekDsmlFormat, &kDeepSeekV3Format,
    &kDeepSeekV31Format,  &kMiniMaxM2Format,   &kMiniMaxM1Format,    &kMistralFormat,
    &kGemma4Format,       &kGemmaFormat,       &kApertusFormat,      &kCommandFormat,
    &kCommandPlusFormat,  &kNemotronFormat,    &kSeedFormat,         &kPhi4Format,
    &kFirefunctionFormat, &kAprielFormat,      &kGigaChatFormat,     &kLfm2Format,
    &kOlmo3Format,        &kFunctionaryFormat, &kQwen3CoderFormat,   &kGlmFormat,
    &kGranite3Format,     &kHermesFormat,      &kHunyuanFormat,      &kLlama3Format,
    &kLlama4Format,       &kReasoningFormat};

bool contains_all(std::string_view source, std::span<const std::string_view> texts) {
  if (texts[0].empty()) return false;
  return std::all_of(texts.begin(), texts.end(), [source](std::string_view text) {
    return text.empty() || source.find(text) != source.npos;
  });
}

}  // namespace

std::span<const ChatFormat* const> chat_formats() { return kFormats; }

const ChatFormat* find_chat_format(std::string_view name) {
  const auto found =
      std::find_if(kFormats.begin(), kFormats.end(),
                   [name](const ChatFormat* format) { return format->name == name; });
  return found == kFormats.end() ? nullptr : *found;
}

const ChatFormat& detect_chat_format(std::string_view template_source) {
  for (const ChatFormat* format : kFormats) {
    for (const auto& texts : format->detected_by) {
      if (contains_all(template_source, texts)) return *format;
    }
  }
  return kPlainFormat;
}

}  // namespace tenon
