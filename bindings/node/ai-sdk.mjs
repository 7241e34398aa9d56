// The module for `import`.
import provider from './ai-sdk.js'

export const { createTenon, embeddingModel, languageModel } = provider
