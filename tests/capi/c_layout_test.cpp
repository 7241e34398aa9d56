// Layout of every public struct, number by number: compiled programs depend on it. A field added at
// the end adds a line and changes one size.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cstddef>
#include <type_traits>

namespace {

static_assert(sizeof(void*) == 8, "the numbers below are those of 64-bit systems");

#define EXPECT_FIELD(type, field, offset) \
  EXPECT_EQ(offsetof(type, field), size_t{offset}) << #type "." #field

template <typename T>
void expect_struct(size_t size) {
  EXPECT_EQ(sizeof(T), size);
  EXPECT_TRUE(std::is_standard_layout_v<T>);
  EXPECT_TRUE(std::is_trivially_copyable_v<T>);
  EXPECT_EQ(offsetof(T, struct_size), 0u);
}

TEST(Layout, Scalars) {
  EXPECT_TRUE((std::is_same_v<tenon_status, int32_t>));
  EXPECT_TRUE((std::is_same_v<tenon_token, int32_t>));
  EXPECT_EQ(TENON_NUL_TERMINATED, SIZE_MAX);
  EXPECT_EQ(TENON_NO_TOKEN, -1);
}

TEST(Layout, StatusValues) {
  const int32_t values[] = {TENON_OK,
                            TENON_ERROR_FORMAT,
                            TENON_ERROR_UNSUPPORTED,
                            TENON_ERROR_LIMIT,
                            TENON_ERROR_IO,
                            TENON_ERROR_NO_MEMORY,
                            TENON_ERROR_ARGUMENT,
                            TENON_ERROR_GRAMMAR,
                            TENON_ERROR_TEMPLATE,
                            TENON_ERROR_BUSY,
                            TENON_ERROR_CANCELLED,
                            TENON_ERROR_DEADLINE,
                            TENON_ERROR_PLUGIN,
                            TENON_ERROR_STATE,
                            TENON_ERROR_INTERNAL};
  for (int32_t i = 0; i < 15; ++i) EXPECT_EQ(values[i], i);
}

TEST(Layout, Piece) {
  expect_struct<tenon_piece>(32);
  EXPECT_FIELD(tenon_piece, token, 4);
  EXPECT_FIELD(tenon_piece, finish, 8);
  EXPECT_FIELD(tenon_piece, text, 16);
  EXPECT_FIELD(tenon_piece, length, 24);
}

TEST(Layout, Option) {
  expect_struct<tenon_option_info>(96);
  EXPECT_FIELD(tenon_option_info, scope, 4);
  EXPECT_FIELD(tenon_option_info, type, 8);
  EXPECT_FIELD(tenon_option_info, name, 16);
  EXPECT_FIELD(tenon_option_info, doc, 24);
  EXPECT_FIELD(tenon_option_info, int_minimum, 32);
  EXPECT_FIELD(tenon_option_info, int_maximum, 40);
  EXPECT_FIELD(tenon_option_info, int_default, 48);
  EXPECT_FIELD(tenon_option_info, float_minimum, 56);
  EXPECT_FIELD(tenon_option_info, float_maximum, 64);
  EXPECT_FIELD(tenon_option_info, float_default, 72);
  EXPECT_FIELD(tenon_option_info, string_default, 80);
  EXPECT_FIELD(tenon_option_info, string_choices, 88);
}

TEST(Layout, Source) {
  expect_struct<tenon_source>(72);
  EXPECT_FIELD(tenon_source, kind, 4);
  EXPECT_FIELD(tenon_source, name, 8);
  EXPECT_FIELD(tenon_source, name_length, 16);
  EXPECT_FIELD(tenon_source, fd, 24);
  EXPECT_FIELD(tenon_source, concurrent, 28);
  EXPECT_FIELD(tenon_source, offset, 32);
  EXPECT_FIELD(tenon_source, size, 40);
  EXPECT_FIELD(tenon_source, data, 48);
  EXPECT_FIELD(tenon_source, read, 56);
  EXPECT_FIELD(tenon_source, user, 64);
}

TEST(Layout, Callbacks) {
  expect_struct<tenon_callbacks>(72);
  EXPECT_FIELD(tenon_callbacks, log_level, 4);
  EXPECT_FIELD(tenon_callbacks, user, 8);
  EXPECT_FIELD(tenon_callbacks, log, 16);
  EXPECT_FIELD(tenon_callbacks, progress, 24);
  EXPECT_FIELD(tenon_callbacks, allocate, 32);
  EXPECT_FIELD(tenon_callbacks, release, 40);
  EXPECT_FIELD(tenon_callbacks, run_tasks, 48);
  EXPECT_FIELD(tenon_callbacks, now_ns, 56);
  EXPECT_FIELD(tenon_callbacks, concurrency, 64);
}

TEST(Layout, ModelSummary) {
  expect_struct<tenon_model_info>(192);
  EXPECT_FIELD(tenon_model_info, has_weights, 4);
  EXPECT_FIELD(tenon_model_info, architecture, 8);
  EXPECT_FIELD(tenon_model_info, name, 24);
  EXPECT_FIELD(tenon_model_info, chat_template, 40);
  EXPECT_FIELD(tenon_model_info, backend, 56);
  EXPECT_FIELD(tenon_model_info, parameters, 72);
  EXPECT_FIELD(tenon_model_info, tensor_bytes, 80);
  EXPECT_FIELD(tenon_model_info, trained_context, 88);
  EXPECT_FIELD(tenon_model_info, vocabulary, 96);
  EXPECT_FIELD(tenon_model_info, layers, 104);
  EXPECT_FIELD(tenon_model_info, width, 112);
  EXPECT_FIELD(tenon_model_info, heads, 120);
  EXPECT_FIELD(tenon_model_info, kv_heads, 128);
  EXPECT_FIELD(tenon_model_info, key_dim, 136);
  EXPECT_FIELD(tenon_model_info, value_dim, 144);
  EXPECT_FIELD(tenon_model_info, feed_forward, 152);
  EXPECT_FIELD(tenon_model_info, experts, 160);
  EXPECT_FIELD(tenon_model_info, experts_used, 168);
  EXPECT_FIELD(tenon_model_info, source_tokens, 176);
  EXPECT_FIELD(tenon_model_info, gives_text, 184);
  EXPECT_FIELD(tenon_model_info, gives_rows, 188);
}

TEST(Layout, Memory) {
  expect_struct<tenon_memory>(48);
  EXPECT_FIELD(tenon_memory, context, 8);
  EXPECT_FIELD(tenon_memory, weights_bytes, 16);
  EXPECT_FIELD(tenon_memory, scratch_bytes, 24);
  EXPECT_FIELD(tenon_memory, kv_bytes, 32);
  EXPECT_FIELD(tenon_memory, token_cache_bytes, 40);
}

TEST(Layout, Metadata) {
  expect_struct<tenon_metadata>(40);
  EXPECT_FIELD(tenon_metadata, type, 4);
  EXPECT_FIELD(tenon_metadata, element_type, 8);
  EXPECT_FIELD(tenon_metadata, key, 16);
  EXPECT_FIELD(tenon_metadata, key_length, 24);
  EXPECT_FIELD(tenon_metadata, num_elements, 32);
  expect_struct<tenon_value>(40);
  EXPECT_FIELD(tenon_value, type, 4);
  EXPECT_FIELD(tenon_value, integer, 8);
  EXPECT_FIELD(tenon_value, number, 16);
  EXPECT_FIELD(tenon_value, text, 24);
  EXPECT_FIELD(tenon_value, length, 32);
}

TEST(Layout, Tensor) {
  expect_struct<tenon_tensor>(88);
  EXPECT_FIELD(tenon_tensor, num_dimensions, 4);
  EXPECT_FIELD(tenon_tensor, name, 8);
  EXPECT_FIELD(tenon_tensor, name_length, 16);
  EXPECT_FIELD(tenon_tensor, format, 24);
  EXPECT_FIELD(tenon_tensor, shape, 32);
  EXPECT_FIELD(tenon_tensor, size_bytes, 64);
  EXPECT_FIELD(tenon_tensor, source, 72);
  EXPECT_FIELD(tenon_tensor, offset, 80);
}

TEST(Layout, TokenDetails) {
  expect_struct<tenon_token_info>(40);
  EXPECT_FIELD(tenon_token_info, attributes, 4);
  EXPECT_FIELD(tenon_token_info, spelling, 8);
  EXPECT_FIELD(tenon_token_info, spelling_length, 16);
  EXPECT_FIELD(tenon_token_info, text, 24);
  EXPECT_FIELD(tenon_token_info, text_length, 32);
}

TEST(Layout, SessionFigures) {
  expect_struct<tenon_session_stats>(40);
  EXPECT_FIELD(tenon_session_stats, prefill_tokens, 8);
  EXPECT_FIELD(tenon_session_stats, decode_tokens, 16);
  EXPECT_FIELD(tenon_session_stats, prefill_seconds, 24);
  EXPECT_FIELD(tenon_session_stats, decode_seconds, 32);
}

TEST(Layout, Backend) {
  expect_struct<tenon_backend_info>(80);
  EXPECT_FIELD(tenon_backend_info, status, 4);
  EXPECT_FIELD(tenon_backend_info, name, 8);
  EXPECT_FIELD(tenon_backend_info, origin, 24);
  EXPECT_FIELD(tenon_backend_info, description, 40);
  EXPECT_FIELD(tenon_backend_info, reason, 56);
  EXPECT_FIELD(tenon_backend_info, options, 64);
  expect_struct<tenon_backend_device>(72);
  EXPECT_FIELD(tenon_backend_device, kind, 4);
  EXPECT_FIELD(tenon_backend_device, name, 8);
  EXPECT_FIELD(tenon_backend_device, description, 24);
  EXPECT_FIELD(tenon_backend_device, unavailable, 40);
  EXPECT_FIELD(tenon_backend_device, memory_total, 56);
  EXPECT_FIELD(tenon_backend_device, memory_available, 64);
}

TEST(Layout, Engines) {
  expect_struct<tenon_submission>(160);
  EXPECT_FIELD(tenon_submission, flags, 4);
  EXPECT_FIELD(tenon_submission, text, 8);
  EXPECT_FIELD(tenon_submission, text_length, 16);
  EXPECT_FIELD(tenon_submission, tokens, 24);
  EXPECT_FIELD(tenon_submission, num_tokens, 32);
  EXPECT_FIELD(tenon_submission, sampler, 40);
  EXPECT_FIELD(tenon_submission, max_tokens, 48);
  EXPECT_FIELD(tenon_submission, timeout_seconds, 56);
  EXPECT_FIELD(tenon_submission, priority, 64);
  EXPECT_FIELD(tenon_submission, has_priority, 68);
  EXPECT_FIELD(tenon_submission, client, 72);
  EXPECT_FIELD(tenon_submission, client_length, 80);
  EXPECT_FIELD(tenon_submission, weight, 88);
  EXPECT_FIELD(tenon_submission, notify, 96);
  EXPECT_FIELD(tenon_submission, user, 104);
  EXPECT_FIELD(tenon_submission, num_top, 112);
  EXPECT_FIELD(tenon_submission, logprob_tokens, 120);
  EXPECT_FIELD(tenon_submission, num_logprob_tokens, 128);
  EXPECT_FIELD(tenon_submission, prediction, 136);
  EXPECT_FIELD(tenon_submission, num_prediction, 144);
  EXPECT_FIELD(tenon_submission, speculation, 152);
  EXPECT_FIELD(tenon_submission, draft_max, 156);
  expect_struct<tenon_request_stats>(64);
  EXPECT_FIELD(tenon_request_stats, reuse_miss, 4);
  EXPECT_FIELD(tenon_request_stats, prompt_tokens, 8);
  EXPECT_FIELD(tenon_request_stats, reused_tokens, 16);
  EXPECT_FIELD(tenon_request_stats, miss_position, 24);
  EXPECT_FIELD(tenon_request_stats, drafted_tokens, 32);
  EXPECT_FIELD(tenon_request_stats, accepted_tokens, 40);
  EXPECT_FIELD(tenon_request_stats, drafter, 48);
  EXPECT_FIELD(tenon_request_stats, predicted_tokens, 56);
  expect_struct<tenon_engine_stats>(752);
  EXPECT_FIELD(tenon_engine_stats, waiting, 8);
  EXPECT_FIELD(tenon_engine_stats, preempted, 80);
  EXPECT_FIELD(tenon_engine_stats, kv_limit_bytes, 88);
  EXPECT_FIELD(tenon_engine_stats, steps, 120);
  EXPECT_FIELD(tenon_engine_stats, generated_tokens, 160);
  EXPECT_FIELD(tenon_engine_stats, step_seconds, 168);
  EXPECT_FIELD(tenon_engine_stats, schedule_seconds, 176);
  EXPECT_FIELD(tenon_engine_stats, idle_blocks_taken, 184);
  EXPECT_FIELD(tenon_engine_stats, prefix_evicted, 192);
  EXPECT_FIELD(tenon_engine_stats, first_token_counts, 200);
  EXPECT_FIELD(tenon_engine_stats, token_gap_counts, 336);
  EXPECT_FIELD(tenon_engine_stats, request_counts, 472);
  EXPECT_FIELD(tenon_engine_stats, first_token_seconds, 608);
  EXPECT_FIELD(tenon_engine_stats, request_seconds, 624);
  EXPECT_FIELD(tenon_engine_stats, queue_room, 632);
  EXPECT_FIELD(tenon_engine_stats, drafts, 640);
  EXPECT_FIELD(tenon_engine_stats, drafted_tokens, 648);
  EXPECT_FIELD(tenon_engine_stats, accepted_tokens, 656);
  EXPECT_FIELD(tenon_engine_stats, store_hits, 664);
  EXPECT_FIELD(tenon_engine_stats, store_read_bytes, 672);
  EXPECT_FIELD(tenon_engine_stats, store_written_bytes, 680);
  EXPECT_FIELD(tenon_engine_stats, store_dropped, 688);
  EXPECT_FIELD(tenon_engine_stats, draft_model_guesses, 696);
  EXPECT_FIELD(tenon_engine_stats, draft_model_right, 704);
  EXPECT_FIELD(tenon_engine_stats, draft_model_tokens, 712);
  EXPECT_FIELD(tenon_engine_stats, draft_model_seconds, 720);
  EXPECT_FIELD(tenon_engine_stats, draft_kv_limit_bytes, 728);
  EXPECT_FIELD(tenon_engine_stats, draft_kv_held_bytes, 736);
  EXPECT_FIELD(tenon_engine_stats, answer_bytes, 744);
}

TEST(Layout, Planning) {
  expect_struct<tenon_hardware>(112);
  EXPECT_FIELD(tenon_hardware, threads, 4);
  EXPECT_FIELD(tenon_hardware, memory_bytes, 8);
  EXPECT_FIELD(tenon_hardware, process_bytes, 16);
  EXPECT_FIELD(tenon_hardware, decode_bytes_per_second, 24);
  EXPECT_FIELD(tenon_hardware, prefill_multiplications_per_second, 88);
  EXPECT_FIELD(tenon_hardware, cache_bytes_per_second, 96);
  EXPECT_FIELD(tenon_hardware, attention_multiplications_per_second, 104);
  expect_struct<tenon_plan>(120);
  EXPECT_FIELD(tenon_plan, fits, 4);
  EXPECT_FIELD(tenon_plan, context, 8);
  EXPECT_FIELD(tenon_plan, process_bytes, 24);
  EXPECT_FIELD(tenon_plan, total_bytes, 64);
  EXPECT_FIELD(tenon_plan, max_context, 72);
  EXPECT_FIELD(tenon_plan, fitting_cache_type, 88);
  EXPECT_FIELD(tenon_plan, decode_tokens_per_second, 104);
  EXPECT_FIELD(tenon_plan, fitting_gpu_layers, 112);
  expect_struct<tenon_placed_device>(96);
  EXPECT_FIELD(tenon_placed_device, kind, 4);
  EXPECT_FIELD(tenon_placed_device, backend, 8);
  EXPECT_FIELD(tenon_placed_device, name, 24);
  EXPECT_FIELD(tenon_placed_device, layers, 40);
  EXPECT_FIELD(tenon_placed_device, weights_bytes, 48);
  EXPECT_FIELD(tenon_placed_device, total_bytes, 72);
  EXPECT_FIELD(tenon_placed_device, memory_bytes, 80);
  EXPECT_FIELD(tenon_placed_device, has_own_memory, 88);
  EXPECT_FIELD(tenon_placed_device, fits, 92);
}

TEST(Layout, Store) {
  expect_struct<tenon_block_store>(72);
  EXPECT_FIELD(tenon_block_store, user, 8);
  EXPECT_FIELD(tenon_block_store, find, 16);
  EXPECT_FIELD(tenon_block_store, read, 24);
  EXPECT_FIELD(tenon_block_store, write, 32);
  EXPECT_FIELD(tenon_block_store, remove, 40);
  EXPECT_FIELD(tenon_block_store, secret, 48);
  EXPECT_FIELD(tenon_block_store, release, 64);
}

TEST(Layout, Quantize) {
  expect_struct<tenon_quantize_options>(40);
  EXPECT_FIELD(tenon_quantize_options, flags, 4);
  EXPECT_FIELD(tenon_quantize_options, type, 8);
  EXPECT_FIELD(tenon_quantize_options, formats, 16);
  EXPECT_FIELD(tenon_quantize_options, importance, 24);
  EXPECT_FIELD(tenon_quantize_options, threads, 32);
  expect_struct<tenon_importance_options>(40);
  EXPECT_FIELD(tenon_importance_options, flags, 4);
  EXPECT_FIELD(tenon_importance_options, chunk_tokens, 8);
  EXPECT_FIELD(tenon_importance_options, max_chunks, 16);
  EXPECT_FIELD(tenon_importance_options, dataset, 24);
  EXPECT_FIELD(tenon_importance_options, add_to, 32);
  expect_struct<tenon_picture>(48);
  EXPECT_FIELD(tenon_picture, channels, 4);
  EXPECT_FIELD(tenon_picture, width, 8);
  EXPECT_FIELD(tenon_picture, height, 16);
  EXPECT_FIELD(tenon_picture, stride, 24);
  EXPECT_FIELD(tenon_picture, pixel_type, 32);
  EXPECT_FIELD(tenon_picture, orientation, 36);
  EXPECT_FIELD(tenon_picture, background, 40);
  EXPECT_FIELD(tenon_picture, reserved, 44);
}

}  // namespace
