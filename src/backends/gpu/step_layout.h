// A step's data for the device and the layout of cache rows in blocks, as structures for C++ and
// GLSL (scalar layout gives equal offsets). Addresses are the device's.
#ifdef __cplusplus
#pragma once
#include <cstdint>
namespace tenon::gpu {
using uint = uint32_t;
using Address = uint64_t;
#else
#define Address uint64_t
#endif

struct StepHeader {
  uint tokens;           // T
  uint outputs;          // R
  uint sequences;        // S
  uint groups;           // cache groups of the program
  Address token_ids;     // [T] int
  Address positions;     // [T, parts] int
  Address output_rows;   // [R] uint
  Address places;        // [T] TokenPlace
  Address spans;         // [S] SequenceSpan
  Address table_starts;  // [S, groups] uint: where the table of a sequence begins
  Address tables;  // addresses of cache blocks; of a state that read (0: zeros) and that written
  Address
      drawn_tokens;    // int: token t < 0 is the one drawn for output row -1 - t of the step before
  Address ngram_rows;  // of each ngram_rows operation [T, heads] uint: rows of its table
};

struct TokenPlace {
  uint sequence;
  uint position;  // within the sequence
};

struct SequenceSpan {
  uint first_token;
  uint num_tokens;
  uint past;
  uint cross_positions;
};

// A layer of a group. Its part of a block holds, per KV head, `rows` keys and then `rows` values. A
// key or value is whole words: f32; f16, two per word; codes of 8 or 4 bits, then a word with the
// f16 scale.
struct CacheLayer {
  uint group;
  uint latent;  // 1: the first value_dim values of a key are its value
  uint block_tokens;
  uint stride;  // positions between rows
  uint rows;    // per block
  uint kv_heads;
  uint key_dim;
  uint value_dim;
  uint key_bytes;
  uint value_bytes;      // 0: latent
  uint head_bytes;       // rows * (key_bytes + value_bytes)
  uint cross;            // 1: positions of another text
  Address layer_offset;  // bytes from the start of a block
};

struct StateLayer {
  uint group;
  uint reserved;
  Address offset;  // bytes from the start of a block
};

#ifdef __cplusplus
}  // namespace tenon::gpu
#endif
