// Compiled by tsc --strict, and run: what the types say is what comes.
import { Chat, Embedder, Engine, Grammar, LimitError, Model, Sampler, Server, Session, TenonError, constants, logprobs } from 'tenon-llm'
import type { Answer, Conversation, GenerateOptions, ModelOptions, Piece, Tokens } from 'tenon-llm'
import { createTenon, embeddingModel, languageModel } from 'tenon-llm/ai-sdk'
import { embed, generateText } from 'ai'

const options: ModelOptions = { threads: 2, embeddings: 'off' }
const model: Model = await Model.open(`${process.env.TENON_ROOT}/examples/models/demo-q8_0.gguf`, options)
const tokens: Int32Array = await model.tokenizer.encode('Once upon a time')
const given: Tokens = [...tokens]
const how: GenerateOptions = { maxTokens: 3, sampling: { temperature: 0, topK: 1, stop: ['x'] }, logprobs: 2, signal: AbortSignal.timeout(60000) }
let text = ''
for await (const piece of model.stream(given, how)) {
  const same: Piece = piece
  text += same.text
  const first: number | undefined = piece.top[0]?.logprob
  if (first === undefined || first > 0) throw new Error('logprobs')
}
const session: Session = await model.session({ context: 128 })
await session.append(text)
const logits: Float32Array = await session.logits()
const { top } = await logprobs(logits, { top: 1 })
const token: number = top[0]!.token
const engine: Engine = await Engine.create(model, { cacheBytes: 1 << 22 })
const finished: number = engine.stats().finished
const grammar: Grammar = await Grammar.jsonSchema({ type: 'integer' })
const sampler: Sampler = await Sampler.create()
sampler.set('temperature', 0)
const conversation: Conversation = { messages: [{ role: 'user', content: 'Hi' }], tool_choice: 'none' }
const chat = await Chat.create(model)
const reply = await chat.reply(conversation)
const kinds: string[] = reply.push('Hello').map(({ kind }) => kind)
try {
  await session.append('word '.repeat(1000))
} catch (error) {
  if (!(error instanceof LimitError && error instanceof TenonError)) throw error
  const code: 'LIMIT' = error.code
  void code
}
const encoder = await Model.open(`${process.env.TENON_ROOT}/examples/models/demo-q8_0.gguf`, { embeddings: 'on' })
const embedder: Embedder = await Embedder.create(encoder)
for (const row of await embedder.embed(['a'])) if (row.length !== embedder.dimensions) throw new Error('rows')
const answer = await generateText({ model: languageModel(model), prompt: 'Hi', maxOutputTokens: 2 })
const row: number[] = (await embed({ model: embeddingModel(encoder), value: 'a fox' })).embedding
const provider = createTenon({ languageModels: { demo: model } })
await generateText({ model: provider('demo'), prompt: 'Hi', maxOutputTokens: 1 })
const server: Server = await Server.create({ apiKeys: ['secret'], withoutPage: true, log: (level: number, line: string) => void [level, line] })
await server.add('demo', engine, { context: 256 })
await server.addFile('other', new URL(`file://${process.env.TENON_ROOT}/examples/models/demo-q8_0.gguf`), { modelOptions: { threads: 1 }, cacheBytes: 1 << 22 })
const port: number = await server.listen('127.0.0.1', 0)
await server.start({ threads: 3 })
const listed: Answer = await server.request('GET', '/v1/models', null, { apiKey: 'secret' })
for await (const part of listed) if (!(part instanceof Uint8Array) || listed.status !== 200 || port === 0) throw new Error('an answer')
const response: Response = await server.fetch('/v1/models', { headers: { 'x-api-key': 'secret' } })
if (response.status !== 200) throw new Error('a response')
await server.stop(1)
await server.close()
// @ts-expect-error an option that there is not
Server.create({ apiKey: 'x' }).catch(() => {})
// @ts-expect-error an option that there is not
model.stream('x', { maxToken: 3 }).close()
// @ts-expect-error objects are made by functions
export type Made = ConstructorParameters<typeof Session>
console.log(text, token, finished, kinds, answer.text.length, row.length, constants.FINISH_END, await grammar.accepts('1'))
