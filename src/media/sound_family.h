// Families of models by what they make of sound: one line of the table in sound_family.cpp each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "media/mel.h"

namespace tenon::media {

/// A clip of at most thirty seconds of a longer sound.
struct ClipPlan {
  uint64_t first = 0;  ///< sample at 16 kHz
  uint64_t count = 0;
  uint64_t rows = 0;  ///< of the tower's output
};

struct SoundFamily {
  std::string_view name;
  /// `clip.audio.projector_type` of its files.
  std::string_view projector_type;
  uint64_t default_bins = 128;
  /// What stands in a template's text where the sound goes, and what is around the rows there.
  std::string_view placeholder;
  std::string_view before;
  std::string_view after;
  /// Rows of a clip; 0 for one that is too short.
  uint64_t (*rows)(uint64_t samples) = nullptr;
  /// The spectrogram of a clip.
  Mel (*mel)(const std::shared_ptr<System>& system, std::span<const float> samples,
             uint64_t bins) = nullptr;
};

/// The family of a projector type; null for a type that none of the families has.
const SoundFamily* find_sound_family(std::string_view projector_type);

/// Cuts a sound at 16 kHz into clips, one after the other in one place of the prompt. A rest
/// without a row is left out. Throws Argument for a sound that has no row at all.
std::vector<ClipPlan> plan_sound(const SoundFamily& family, uint64_t samples);

}  // namespace tenon::media
