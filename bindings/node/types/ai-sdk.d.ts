// A provider for the AI SDK (npm package ai), by its specification V3.

import type { EmbeddingModelV3, LanguageModelV3, ProviderV3 } from '@ai-sdk/provider'
import type { ChatOptions, EmbedderOptions, Engine, Model } from './index'

export interface LanguageModelOptions {
  /** Name in results and logs. */
  modelId?: string
  /** Default: the model's own. */
  engine?: Engine
  chat?: ChatOptions
}

/** A language model for generateText, streamText and their like. `providerOptions: { tenon: {
 * sampling, variables, timeout, priority, client, weight } }` sets more options of a call. */
export function languageModel(model: Model | PromiseLike<Model>, options?: LanguageModelOptions): LanguageModelV3

export interface EmbeddingModelOptions {
  modelId?: string
  /** Role of texts; per call: `providerOptions: { tenon: { role } }`. */
  role?: 'plain' | 'query' | 'document'
  embedder?: EmbedderOptions
}

/** An embedding model for embed and embedMany, from an encoder or a model opened with { embeddings:
 * 'on' }. */
export function embeddingModel(model: Model | PromiseLike<Model>, options?: EmbeddingModelOptions): EmbeddingModelV3

/** A provider of several models by name. */
export interface TenonProvider extends ProviderV3 {
  (modelId: string): LanguageModelV3
}
export function createTenon(models?: {
  languageModels?: Record<string, Model | PromiseLike<Model>>
  embeddingModels?: Record<string, Model | PromiseLike<Model>>
}): TenonProvider
