// The provider for the AI SDK, by its own functions. TENON_AI names the package, where another version is tested.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Model } from 'tenon-llm'
import { createTenon, embeddingModel, languageModel } from 'tenon-llm/ai-sdk'
import { z } from 'zod'
import { DEMO, sleep } from './demo.mjs'

const { embedMany, generateObject, generateText, stepCountIs, streamObject, streamText, tool } =
  await import(process.env.TENON_AI ?? 'ai')

const NORWAY = 'What is the capital of Norway?'
const weather = tool({
  description: 'Weather of a city',
  inputSchema: z.object({ city: z.string().max(12) }),
  execute: async ({ city }) => ({ city, sky: 'clear' }),
})

let opened
let model
before(async () => {
  opened = await Model.open(DEMO, { threads: 2 })
  model = languageModel(opened, { modelId: 'demo' })
})
after(() => opened.close())

test('generateText', async () => {
  const result = await generateText({ model, prompt: NORWAY, temperature: 0, maxOutputTokens: 40 })
  assert.equal(result.text, 'The capital of Norway is Oslo.')
  assert.equal(result.finishReason, 'stop')
  assert.equal(result.usage.outputTokens, 14)
  assert.ok(result.usage.inputTokens > 10)
  assert.equal(result.response.modelId, 'demo')
  const short = await generateText({ model, prompt: NORWAY, temperature: 0, maxOutputTokens: 3 })
  assert.deepEqual([short.text, short.finishReason], ['The capital of', 'length'])
  const stopped = await generateText({ model, prompt: NORWAY, temperature: 0, stopSequences: [' is Oslo'] })
  assert.deepEqual([stopped.text, stopped.finishReason], ['The capital of Norway', 'stop'])
})

test('streamText', async () => {
  const parts = []
  const result = streamText({ model, prompt: NORWAY, temperature: 0 })
  for await (const text of result.textStream) parts.push(text)
  assert.equal(parts.join(''), 'The capital of Norway is Oslo.')
  assert.ok(parts.length > 5)
  assert.equal(await result.finishReason, 'stop')
})

test('conversations of several turns', async () => {
  const result = await generateText({ model, temperature: 0, maxOutputTokens: 20, system: 'You are helpful.', messages: [
    { role: 'user', content: NORWAY }, { role: 'assistant', content: 'The capital of Norway is Oslo.' },
    { role: 'user', content: [{ type: 'text', text: NORWAY }] },
  ] })
  assert.ok(result.text.length > 0)
  await assert.rejects(generateText({ model, maxRetries: 0, messages: [{ role: 'user', content: [
    { type: 'text', text: 'What is this?' }, { type: 'file', data: new Uint8Array(4), mediaType: 'image/png' }] }] }),
  /image\/png cannot be read/)
})

test('generateObject and streamObject', async () => {
  const schema = z.object({ name: z.string().max(8), age: z.number().int().min(0).max(99) })
  const prompt = 'Extract name and age as JSON: Mia is 41 years old.'
  const { object } = await generateObject({ model, schema, prompt, temperature: 0 })
  assert.deepEqual(object, { name: 'Mia', age: 41 })
  const stream = streamObject({ model, schema, prompt, temperature: 0 })
  const seen = []
  for await (const partial of stream.partialObjectStream) seen.push(partial)
  assert.deepEqual(seen.at(-1), { name: 'Mia', age: 41 })
  assert.ok(seen.length > 1)
})

test('tools are called, and their results read', async () => {
  const result = await generateText({ model, prompt: 'What is the weather in Oslo?', tools: { weather },
    toolChoice: 'required', temperature: 0, maxOutputTokens: 64 })
  assert.equal(result.finishReason, 'tool-calls')
  assert.deepEqual(result.toolCalls.map(({ toolName, input }) => [toolName, input]), [['weather', { city: 'Oslo' }]])
  assert.deepEqual(result.toolResults[0].output, { city: 'Oslo', sky: 'clear' })
  const steps = await generateText({ model, prompt: 'What is the weather in Oslo?', tools: { weather },
    temperature: 0, maxOutputTokens: 64, stopWhen: stepCountIs(2),
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? { type: 'tool', toolName: 'weather' } : 'none' }) })
  assert.equal(steps.steps.length, 2)
  assert.equal(steps.steps[0].toolResults.length, 1)
})

test('tools are streamed', async () => {
  const result = streamText({ model, prompt: 'What is the weather in Oslo?', tools: { weather },
    toolChoice: 'required', temperature: 0, maxOutputTokens: 64 })
  const types = []
  let input = ''
  for await (const part of result.fullStream) {
    types.push(part.type)
    if (part.type === 'tool-input-delta') input += part.delta
  }
  assert.deepEqual(JSON.parse(input), { city: 'Oslo' })
  assert.ok(['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'tool-result']
    .every((type) => types.includes(type)), types.join())
})

test('a signal ends a call', async () => {
  const engine = await opened.engine()
  const before = engine.stats().cancelled
  await assert.rejects(generateText({ model, prompt: 'word '.repeat(400), abortSignal: AbortSignal.timeout(3),
    maxRetries: 0, providerOptions: { tenon: { sampling: { minP: 0.01 } } } }), { name: /AbortError|TimeoutError/ })
  const controller = new AbortController()
  const { stream } = await model.doStream({ abortSignal: controller.signal,
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(400) }] }] })
  const reader = stream.getReader()
  await reader.read()
  await reader.cancel()
  await sleep(50)
  assert.ok(engine.stats().cancelled >= before)
  assert.equal(engine.stats().running, 0)
})

test('embedMany, and a provider of several models', async () => {
  const encoder = await Model.open(DEMO, { embeddings: 'on', threads: 1 })
  const { embeddings } = await embedMany({ model: embeddingModel(encoder), values: ['a fox', 'the sea', 'a fox'] })
  assert.equal(embeddings.length, 3)
  assert.deepEqual(embeddings[0], embeddings[2])
  const provider = createTenon({ languageModels: { demo: Promise.resolve(opened) }, embeddingModels: { demo: encoder } })
  const { text } = await generateText({ model: provider('demo'), prompt: NORWAY, temperature: 0 })
  assert.equal(text, 'The capital of Norway is Oslo.')
  assert.equal(provider.embeddingModel('demo').modelId, 'demo')
  assert.throws(() => provider('other'), /no language model is called other, but: demo/)
  await encoder.close()
})
