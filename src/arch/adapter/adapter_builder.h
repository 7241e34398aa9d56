// Puts factors of an adapter's modules at their places in a model's file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/adapter/adapter.h"
#include "arch/adapter/adapter_places.h"

namespace tenon {

/// A matrix of an adapter in memory, finite.
struct AdapterMatrix {
  uint64_t rows = 0;
  uint64_t columns = 0;
  std::vector<float> values;  ///< [rows, columns]

  [[nodiscard]] AdapterMatrix transposed() const;
};

/// Factors of a change: b a.
struct AdapterFactors {
  std::string label;  ///< for messages
  float scale = 1.0f;
  AdapterMatrix a;                ///< [rank, columns]
  AdapterMatrix b;                ///< [rows, rank]
  std::vector<float> magnitudes;  ///< [rows] or empty
  std::vector<float> bias;        ///< [rows] or empty, times `scale`
};

class AdapterBuilder {
 public:
  AdapterBuilder(std::string name, const ModelFile& model);

  [[nodiscard]] const AdapterPlaces& places() const { return places_; }
  /// Throws Format for factors that do not fit each other or the tensors.
  void add(const AdapterFactors& factors, std::span<const AdapterPlace> places);
  /// Replaces all rows of the places.
  void replace(std::string_view label, const AdapterMatrix& values,
               std::span<const AdapterPlace> places);
  /// Replaces some rows.
  void replace_rows(std::string_view label, const std::vector<uint64_t>& rows, AdapterMatrix values,
                    const AdapterPlace& place);
  void set_invocation(std::vector<int32_t> tokens) { adapter_.invocation = std::move(tokens); }
  /// Throws Format for an adapter that changes nothing.
  [[nodiscard]] std::shared_ptr<const Adapter> finish() &&;

 private:
  [[nodiscard]] uint64_t columns_of(const AdapterPlace& place) const;

  const ModelFile& model_;
  AdapterPlaces places_;
  Adapter adapter_;
};

}  // namespace tenon
