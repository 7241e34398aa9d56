// Runs bindings/scenarios.json, the behaviour that every binding has in common.
//
//     run_scenarios.mjs [NAME...]    says what differs, status 1
import { spawn } from 'node:child_process'
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Worker } from 'node:worker_threads'
import * as tenon from 'tenon-llm'
import { ROOT } from './demo.mjs'

export const DATA = JSON.parse(fs.readFileSync(path.join(ROOT, 'bindings/scenarios.json'), 'utf8'))
const GENERATE = { max_tokens: 'maxTokens', sampling: 'sampling', parse_special: 'parseSpecial', ignore_end: 'ignoreEnd',
  logprobs: 'logprobs', timeout: 'timeout', priority: 'priority', client: 'client', weight: 'weight' }
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

class Thrown extends Error {
  code = 'THROWN'
}

/** What numbers are, bit by bit. */
const bits = (numbers) => crypto.createHash('sha256')
  .update(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)).digest('hex').slice(0, 16)

function resultOf(pieces, withLogprobs) {
  const result = { pieces: pieces.map((piece) => piece.text), tokens: pieces.map((piece) => piece.token),
    finish: pieces.at(-1)?.finish ?? null }
  if (withLogprobs) {
    result.top = pieces.map((piece) => piece.top.map(({ token }) => token))
    result.bits = bits(new Float32Array(pieces.flatMap((piece) =>
      [piece.logprob, ...piece.top.map(({ logprob }) => logprob)])))
  }
  return result
}

/** The objects of one scenario by their names; its methods are the operations. */
class Runner {
  objects = {}
  results = {}

  constructor({ file, options }) {
    this.path = path.join(ROOT, file)
    this.options = options
  }

  async run(steps) {
    this.objects.model = await tenon.Model.open(this.path, this.options)
    for (const { op, fails, says, into, as, ...step } of steps) {
      let result
      try {
        result = await this[op](step)
      } catch (error) {
        const code = error instanceof tenon.InputOutputError ? 'IO' : error.code // which is the system's there
        if (!fails || code !== fails || (says && !error.message.includes(says))) throw error
        continue
      }
      if (fails) throw new Error(`${op} did not fail with ${fails}`)
      if (as) this.objects[as] = result
      if (into) this.results[into] = result
    }
    return this.results
  }

  async closeAll() {
    for (const thing of Object.values(this.objects).reverse()) await thing?.close?.()
  }

  of(name) {
    return this.objects[name]
  }

  // ---- Making things ----

  model({ options, path, bytes, from, stop_at: stopAt, throws }) {
    const all = { ...this.options, ...options }
    if (throws) {
      all.progress = () => { throw new Thrown('the callback') }
    } else if (stopAt !== undefined) {
      all.progress = (fraction) => fraction >= stopAt
    }
    if (bytes !== undefined) return tenon.Model.fromBytes(new TextEncoder().encode(bytes), all)
    if (from === 'bytes') return tenon.Model.fromBytes(fs.readFileSync(this.path), all)
    return tenon.Model.open(path ?? this.path, all)
  }

  session({ model = 'model', engine, options }) {
    return tenon.Session.create(this.of(model), { engine: engine && this.of(engine), ...options })
  }

  engine({ model = 'model', options }) {
    return tenon.Engine.create(this.of(model), options)
  }

  grammar({ kind, value }) {
    return kind === 'json_schema' ? tenon.Grammar.jsonSchema(value) : tenon.Grammar[kind](value)
  }

  /** Of the model, or of a template alone. */
  chat({ template }) {
    return template === undefined ? tenon.Chat.create(this.of('model')) : tenon.Chat.create(null, { template })
  }

  embedder({ model, options }) {
    return tenon.Embedder.create(this.of(model), options)
  }

  sampler({ options }) {
    return tenon.Sampler.create(options)
  }

  close({ object }) {
    return this.of(object).close()
  }

  // ---- Texts ----

  begin({ session, text, grammar, sampler, ...step }) {
    const options = Object.fromEntries(Object.entries(GENERATE).filter(([key]) => key in step)
      .map(([key, name]) => [name, step[key]]))
    return this.of(session).generate(text, { ...options, grammar: grammar && this.of(grammar), sampler: sampler && this.of(sampler) })
  }

  async submit(step) {
    const generation = this.begin(step)
    await generation.stats() // what submitting says comes out here
    return generation
  }

  async generate(step) {
    return resultOf(await collected(this.begin(step)), 'logprobs' in step)
  }

  async take({ request, pieces }) {
    const result = []
    while (result.length < pieces) result.push((await this.of(request).next()).value.text)
    return result
  }

  drain({ request }) {
    return this.of(request).text()
  }

  cancel({ request }) {
    this.of(request).cancel()
  }

  append({ session, text, times = 1 }) {
    return this.of(session).append(text.repeat(times))
  }

  prefill({ session, stop_at: stopAt }) {
    return this.of(session).prefill({ progress: stopAt === undefined ? undefined : (fraction) => fraction >= stopAt })
  }

  async logits({ session }) {
    return bits(await this.of(session).logits())
  }

  async evaluate({ session, tokens, throws_at: throwsAt }) {
    const rows = []
    await this.of(session).evaluate(tokens, (row, logits) => {
      if (row === throwsAt) throw new Thrown('the callback')
      rows.push(bits(logits))
    })
    return rows
  }

  async score({ session, texts, tokens }) {
    const rows = await this.of(session).score(texts ?? tokens)
    return { counts: rows.map((row) => row.length), bits: rows.map(bits) }
  }

  async next({ session, sampler, count }) {
    const pieces = []
    while (pieces.length < count) pieces.push((await this.of(session).next(this.of(sampler))).text)
    return pieces
  }

  take_held({ session }) {
    return this.of(session).takeHeld()
  }

  async best_of({ session, count, max_tokens: maxTokens, sampler }) {
    const { candidates, best } = await this.of(session).bestOf(count, { sampler: this.of(sampler), maxTokens })
    return { texts: candidates.map(({ text }) => text), best }
  }

  set_source({ session, text }) {
    return this.of(session).setSource(text)
  }

  cancel_session({ session }) {
    this.of(session).cancel()
  }

  fork({ session }) {
    return this.of(session).fork()
  }

  rewind({ session, position }) {
    return this.of(session).rewind(position)
  }

  save({ session }) {
    return this.of(session).save()
  }

  /** What was saved, with another byte in the middle. */
  damage({ saved }) {
    const copy = Uint8Array.from(this.of(saved))
    copy[Math.floor(copy.length / 2)] ^= 1
    return copy
  }

  restore({ session, from }) {
    return this.of(session).restore(this.of(from))
  }

  position({ session }) {
    return this.of(session).position
  }

  tokens({ session }) {
    return Array.from(this.of(session).tokens)
  }

  async encode({ text, parse_special: parseSpecial }) {
    return Array.from(await this.of('model').tokenizer.encode(text, { parseSpecial }))
  }

  decode({ tokens, special }) {
    return this.of('model').tokenizer.decode(tokens, { special })
  }

  async decode_bytes({ tokens }) {
    return Buffer.from(await this.of('model').tokenizer.decodeBytes(tokens)).toString('hex')
  }

  find({ text }) {
    return this.of('model').tokenizer.find(text)
  }

  async metadata({ key }) {
    return (await this.of('model').metadata(key)) ?? null
  }

  info({ model = 'model' }) {
    const { architecture, vocabulary, layers, width, heads, trainedContext, hasWeights } = this.of(model).info
    return [architecture, vocabulary, layers, width, heads, trainedContext, Boolean(hasWeights)]
  }

  version() {
    return tenon.version()
  }

  // ---- Samplers and grammars ----

  bias({ sampler, token, bias }) {
    this.of(sampler).setBias(token, bias)
  }

  stop_token({ sampler, token }) {
    this.of(sampler).addStopToken(token)
  }

  /** The draws after histories of 0, 1, ... tokens, all of them token 0. */
  async sample({ sampler, logits, count }) {
    const tokens = []
    for (let length = 0; length < count; ++length) {
      tokens.push(await this.of(sampler).sample(Float32Array.from(logits), { history: new Array(length).fill(0) }))
    }
    return tokens
  }

  async logprobs_of({ logits, tokens, top }) {
    const { logprobs, top: likeliest } = await tenon.logprobs(Float32Array.from(logits), { tokens, top })
    return { top: likeliest.map(({ token }) => token),
      bits: bits(Float32Array.from([...logprobs, ...likeliest.map(({ logprob }) => logprob)])) }
  }

  accepts({ grammar, text }) {
    return this.of(grammar).accepts(text)
  }

  /** A matcher that takes a text: whether it does, what must come next, whether the text is complete. */
  async match({ grammar, text }) {
    const matcher = await this.of(grammar).matcher(this.of('model').tokenizer)
    const isTaken = await matcher.acceptText(text)
    return [isTaken, await matcher.forcedText(), (await matcher.state()).complete]
  }

  // ---- Chats and embeddings ----

  render({ chat, conversation }) {
    return this.of(chat).render(conversation)
  }

  async encode_chat({ chat, conversation }) {
    return Array.from(await this.of(chat).encode(conversation))
  }

  async chat_answer({ chat: name, session, conversation, max_tokens: maxTokens }) {
    const chat = this.of(name)
    const sampler = await tenon.Sampler.create({ temperature: 0 })
    await chat.constrain(conversation, sampler)
    const reply = await chat.reply(conversation)
    for await (const piece of this.of(session).generate(await chat.encode(conversation), { sampler, maxTokens })) {
      if (piece.token !== null) reply.push(piece.token)
    }
    reply.finish()
    const message = reply.message()
    for (const call of message.tool_calls ?? []) delete call.id // made up anew each time
    return message
  }

  /** What an answer that comes in parts amounts to: kinds and texts, and its message. */
  async read_answer({ chat, conversation, parts }) {
    const reply = await this.of(chat).reply(conversation)
    const deltas = [...parts.flatMap((part) => reply.push(part)), ...reply.finish()]
    const message = reply.message()
    for (const call of message.tool_calls ?? []) delete call.id
    return { deltas: deltas.map(({ kind, text }) => [snake(kind), text]), message }
  }

  async embed({ embedder, texts }) {
    const rows = await this.of(embedder).embed(texts)
    return { counts: rows.counts, bits: Array.from(rows, bits) }
  }

  // ---- Several at a time ----

  /** Worker threads, each with a model of its own: objects stay in the thread that made them. */
  threads({ count, ...step }) {
    const work = (index) => new Promise((resolve, reject) => {
      const worker = new Worker(new URL('scenario_worker.mjs', import.meta.url),
        { workerData: { index, path: this.path, options: this.options, step } })
      worker.once('message', resolve)
      worker.once('error', reject)
    })
    return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
  }

  async stream_many({ count, text, max_tokens: maxTokens }) {
    const engine = await tenon.Engine.create(this.of('model'))
    try {
      return await Promise.all(Array.from({ length: count }, (_, seed) =>
        engine.stream(text, { maxTokens, sampling: { temperature: 1.0, seed } }).text()))
    } finally {
      await engine.close()
    }
  }

  /** A process of its own that ends while its requests run; the time from its last statement. */
  async exit_under_way({ requests, within_seconds: withinSeconds }) {
    const took = []
    for (let i = 0; i < 3; ++i) {
      const { code, output, end } = await runProgram(`
        import * as tenon from 'tenon-llm'
        tenon.useLibrary(${JSON.stringify(tenon.libraryPath())})
        const model = await tenon.Model.open(${JSON.stringify(this.path)})
        const engine = await tenon.Engine.create(model)
        for (let i = 0; i < ${requests}; ++i) engine.stream('word '.repeat(400), { maxTokens: 0 }).next()
        await new Promise((resolve) => setTimeout(resolve, 20))
        process.stdout.write(String(Date.now()), () => process.exit(3))
      `)
      if (code !== 3) throw new Error(`the process ended with ${code}: ${output}`)
      took.push((end - Number(output)) / 1000)
    }
    // The least: the machine may have had something else to do. Node itself takes some time to end.
    if (Math.min(...took) > withinSeconds + 0.1) throw new Error(`the process ended ${took} s after it exited`)
  }
}

async function collected(iterable) {
  const items = []
  for await (const item of iterable) items.push(item)
  return items
}

/** Runs a module of its own beside the tests; {code, output, errors, end: when it ended, in ms}. */
export function runProgram(text, args = [], env = {}) {
  return new Promise((resolve) => {
    const file = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname),
      `program-${crypto.randomUUID()}.mjs`)
    fs.writeFileSync(file, text)
    const child = spawn(process.execPath, [...args, file], { env: { ...process.env, ...env } })
    let output = ''
    let errors = ''
    let end = 0
    child.stdout.on('data', (data) => { output += data })
    child.stderr.on('data', (data) => { errors += data })
    child.on('exit', () => { end = Date.now() })
    child.on('close', (code) => {
      fs.rmSync(file)
      resolve({ code, output, errors, end })
    })
  })
}

/** What a scenario brings, by name. */
export async function run(scenario) {
  const runner = new Runner(DATA.model)
  try {
    return JSON.parse(JSON.stringify(await runner.run(scenario.steps)))
  } finally {
    await runner.closeAll()
  }
}

if (process.argv[1] && import.meta.url.endsWith(path.basename(process.argv[1])) &&
    path.basename(process.argv[1]) === 'run_scenarios.mjs') {
  const wanted = process.argv.slice(2)
  let failed = 0
  for (const scenario of DATA.scenarios) {
    if (wanted.length && !wanted.includes(scenario.name)) continue
    try {
      const came = await run(scenario)
      if (isDeepStrictEqual(came, scenario.expect)) continue
      console.log(`FAILED ${scenario.name}:\n  came     ${JSON.stringify(came)}\n  expected ${JSON.stringify(scenario.expect)}`)
    } catch (error) {
      console.log(`FAILED ${scenario.name}:`, error)
    }
    ++failed
  }
  console.log(`${DATA.scenarios.length} scenarios, ${failed} failed`)
  process.exitCode = failed ? 1 : 0
}
