// A provider for the AI SDK (npm package ai): models of this process behind its specification V3.
'use strict'

const { Chat, Embedder, Sampler, UnsupportedError, constants } = require('./index.js')

const FINISH = { end: 'stop', stop: 'stop', max_tokens: 'length', banned: 'content-filter' }

// ---- Prompts ----------------------------------------------------------------------------------

function textOf(parts, wanted) {
  return parts.filter((part) => part.type === wanted).map((part) => part.text).join('')
}

function outputOf(output) {
  switch (output.type) {
    case 'text':
    case 'error-text': return output.value
    case 'execution-denied': return output.reason ?? 'the call was denied'
    case 'content':
      return output.value.map((part) => part.type === 'text' ? part.text : JSON.stringify(part)).join('')
    default: return JSON.stringify(output.value)
  }
}

/** Messages of the SDK as those of Chat. */
function messagesOf(prompt) {
  return prompt.flatMap(({ role, content }) => {
    if (role === 'system') return [{ role, content }]
    const file = content.find((part) => part.type === 'file')
    if (file) throw new UnsupportedError(`messages are text here: a file of type ${file.mediaType} cannot be read`)
    if (role === 'user') return [{ role, content: textOf(content, 'text') }]
    if (role === 'tool') {
      return content.filter((part) => part.type === 'tool-result').map((part) => ({
        role, tool_call_id: part.toolCallId, name: part.toolName, content: outputOf(part.output),
      }))
    }
    const reasoning = textOf(content, 'reasoning')
    const calls = content.filter((part) => part.type === 'tool-call').map((part) => ({
      id: part.toolCallId, type: 'function',
      function: {
        name: part.toolName,
        arguments: typeof part.input === 'string' ? part.input : JSON.stringify(part.input),
      },
    }))
    return [{
      role,
      content: textOf(content, 'text') || (calls.length ? null : ''),
      ...(reasoning && { reasoning_content: reasoning }),
      ...(calls.length && { tool_calls: calls }),
    }]
  })
}

/** A conversation for Chat, from the options of a call, and warnings of omitted parts. */
function conversationOf(options) {
  const warnings = []
  const own = options.providerOptions?.tenon ?? {}
  const conversation = { ...own.variables, messages: messagesOf(options.prompt) }
  const tools = []
  for (const tool of options.tools ?? []) {
    if (tool.type !== 'function') {
      warnings.push({ type: 'unsupported', feature: `the provider's tool ${tool.id}` })
      continue
    }
    const { name, description, inputSchema } = tool
    tools.push({ type: 'function', function: { name, ...(description && { description }), parameters: inputSchema } })
  }
  if (tools.length) conversation.tools = tools
  const choice = options.toolChoice
  if (choice && tools.length) {
    conversation.tool_choice = choice.type === 'tool'
      ? { type: 'function', function: { name: choice.toolName } } : choice.type
  }
  if (options.responseFormat?.type === 'json') {
    const { schema } = options.responseFormat
    conversation.response_format = schema ? { type: 'json_schema', json_schema: { schema } } : { type: 'json_object' }
  }
  return { conversation, warnings }
}

function samplingOf(options) {
  const { temperature, topP, topK, presencePenalty, frequencyPenalty, seed, stopSequences } = options
  return {
    ...options.providerOptions?.tenon?.sampling,
    ...Object.fromEntries(Object.entries({ temperature, topP, topK, presencePenalty, frequencyPenalty, seed })
      .filter(([, value]) => value != null)),
    ...(stopSequences?.length && { stop: stopSequences }),
  }
}

// ---- Answers ----------------------------------------------------------------------------------

/** Deltas of a reply as parts of a stream. */
class Parts {
  #open = null // { type: 'text' | 'reasoning', id }
  #calls = new Map()
  #blocks = 0
  numCalls = 0

  /** Ends the open text. */
  ended() {
    const open = this.#open
    this.#open = null
    return open ? [{ type: `${open.type}-end`, id: open.id }] : []
  }

  #text(type, delta) {
    if (!delta) return []
    const parts = []
    if (this.#open?.type !== type) {
      parts.push(...this.ended())
      this.#open = { type, id: String(this.#blocks++) }
      parts.push({ type: `${type}-start`, id: this.#open.id })
    }
    parts.push({ type: `${type}-delta`, id: this.#open.id, delta })
    return parts
  }

  of({ kind, text, call: number, id }) {
    const call = this.#calls.get(number)
    switch (kind) {
      case 'content': return this.#text('text', text)
      case 'reasoning': return this.#text('reasoning', text)
      case 'callBegin':
        this.#calls.set(number, { id, name: text, input: '' })
        return [...this.ended(), { type: 'tool-input-start', id, toolName: text }]
      case 'arguments':
        call.input += text
        return [{ type: 'tool-input-delta', id: call.id, delta: text }]
      case 'callEnd':
        ++this.numCalls
        return [{ type: 'tool-input-end', id: call.id },
          { type: 'tool-call', toolCallId: call.id, toolName: call.name, input: call.input || '{}' }]
      default: // callRetract: its text follows as content
        return [{ type: 'tool-input-end', id: call.id }]
    }
  }
}

/** The part of a piece that a reply reads: the token, or the text if stop texts are removed from
 * it. */
function pushPiece(reply, piece, byText, tokenizer) {
  if (!byText) return piece.token === null ? [] : reply.push(piece.token)
  const isControl = piece.token !== null && (tokenizer.info(piece.token).attributes & constants.TOKEN_CONTROL)
  return [...(piece.text ? reply.push(piece.text) : []), ...(isControl ? reply.push(piece.token) : [])]
}

/** The answer to a call, as the parts of a stream. */
async function * answer({ modelId, model, engine, chat }, options) {
  const { conversation, warnings } = conversationOf(options)
  yield { type: 'stream-start', warnings }
  yield { type: 'response-metadata', modelId, timestamp: new Date() }
  const own = options.providerOptions?.tenon ?? {}
  const sampling = samplingOf(options)
  const sampler = await Sampler.create(sampling)
  let reply = null
  let generation = null
  try {
    await chat.constrain(conversation, sampler)
    const tokens = await chat.encode(conversation)
    reply = await chat.reply(conversation)
    generation = engine.stream(tokens, {
      sampler, maxTokens: options.maxOutputTokens ?? 0, signal: options.abortSignal,
      timeout: own.timeout, priority: own.priority, client: own.client, weight: own.weight,
    })
    const parts = new Parts()
    let finish = null
    let numTokens = 0
    for await (const piece of generation) {
      if (piece.token !== null) ++numTokens
      finish = piece.finish
      for (const delta of pushPiece(reply, piece, Boolean(sampling.stop), model.tokenizer)) yield* parts.of(delta)
    }
    for (const delta of reply.finish()) yield* parts.of(delta)
    yield* parts.ended()
    const { reusedTokens } = await generation.stats()
    yield {
      type: 'finish',
      finishReason: {
        unified: finish === 'end' && parts.numCalls ? 'tool-calls' : FINISH[finish] ?? 'other',
        raw: finish ?? undefined,
      },
      usage: {
        inputTokens: {
          total: tokens.length, noCache: tokens.length - reusedTokens, cacheRead: reusedTokens, cacheWrite: undefined,
        },
        outputTokens: { total: numTokens, text: undefined, reasoning: undefined },
      },
    }
  } finally {
    await generation?.close()
    void reply?.close()
    void sampler.close()
  }
}

async function generated(parts) {
  const content = []
  const texts = new Map()
  const result = { content }
  for await (const part of parts) {
    switch (part.type) {
      case 'stream-start': result.warnings = part.warnings; break
      case 'response-metadata': result.response = { modelId: part.modelId, timestamp: part.timestamp }; break
      case 'text-start':
      case 'reasoning-start': {
        const made = { type: part.type.slice(0, -'-start'.length), text: '' }
        texts.set(part.id, made)
        content.push(made)
        break
      }
      case 'text-delta':
      case 'reasoning-delta': texts.get(part.id).text += part.delta; break
      case 'tool-call': content.push(part); break
      case 'finish': Object.assign(result, { finishReason: part.finishReason, usage: part.usage })
    }
  }
  return result
}

function streamed(parts) {
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await parts.next()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        controller.error(error)
      }
    },
    async cancel() {
      await parts.return()
    },
  })
}

// ---- Models -----------------------------------------------------------------------------------

/** The model itself, or the result of opening it; prepared once. */
function readied(model, modelId, prepare) {
  let ready = null
  return () => {
    ready ??= (async () => prepare(await model))()
    ready.catch(() => { ready = null }) // the next call tries again
    return ready.then((parts) => ({ modelId, ...parts }))
  }
}

/** A language model for generateText, streamText and their like. model: a Model, or a promise of
 * one. */
function languageModel(model, { modelId = 'local', engine, chat: chatOptions } = {}) {
  const ready = readied(model, modelId, async (opened) => ({
    model: opened, engine: engine ?? await opened.engine(), chat: await Chat.create(opened, chatOptions),
  }))
  return {
    specificationVersion: 'v3',
    provider: 'tenon',
    modelId,
    supportedUrls: {},
    async doGenerate(options) {
      options.abortSignal?.throwIfAborted()
      return generated(answer(await ready(), options))
    },
    async doStream(options) {
      options.abortSignal?.throwIfAborted()
      return { stream: streamed(answer(await ready(), options)) }
    },
  }
}

/** An embedding model for embed and embedMany. model: an encoder, or one opened with { embeddings:
 * 'on' }. */
function embeddingModel(model, { modelId = 'local', role = 'plain', embedder: embedderOptions } = {}) {
  const ready = readied(model, modelId, async (opened) => ({ embedder: await Embedder.create(opened, embedderOptions) }))
  return {
    specificationVersion: 'v3',
    provider: 'tenon',
    modelId,
    maxEmbeddingsPerCall: Infinity,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal, providerOptions }) {
      abortSignal?.throwIfAborted()
      const { embedder } = await ready()
      const rows = await embedder.embed(values, { role: providerOptions?.tenon?.role ?? role })
      abortSignal?.throwIfAborted()
      return { embeddings: Array.from(rows, (row) => Array.from(row)), warnings: [] }
    },
  }
}

/** A provider of several models by name: { languageModels: { small: model }, embeddingModels: { ...
 * } }. */
function createTenon({ languageModels = {}, embeddingModels = {} } = {}) {
  const made = (kind, models, make) => {
    const cache = new Map()
    return (modelId) => {
      if (!Object.hasOwn(models, modelId)) {
        throw new UnsupportedError(`no ${kind} is called ${modelId}, but: ${Object.keys(models).join(', ') || 'none'}`)
      }
      if (!cache.has(modelId)) cache.set(modelId, make(models[modelId], { modelId }))
      return cache.get(modelId)
    }
  }
  const language = made('language model', languageModels, languageModel)
  const embedding = made('embedding model', embeddingModels, embeddingModel)
  return Object.assign((modelId) => language(modelId), {
    specificationVersion: 'v3',
    languageModel: language,
    embeddingModel: embedding,
    textEmbeddingModel: embedding,
    imageModel(modelId) {
      throw new UnsupportedError(`there are no image models: ${modelId}`)
    },
  })
}

module.exports = { createTenon, embeddingModel, languageModel }
