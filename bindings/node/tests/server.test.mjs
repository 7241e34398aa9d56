// Servers: over HTTP, without a socket, and their ends.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import v8 from 'node:v8'
import vm from 'node:vm'
import { Worker } from 'node:worker_threads'
import * as tenon from 'tenon-llm'
import { DEMO, ONCE, ROOT, sleep } from './demo.mjs'
import { runProgram } from './run_scenarios.mjs'

const CAPITAL = { messages: [{ role: 'user', content: 'What is the capital of Norway?' }], temperature: 0 }
const ENDLESS = { prompt: ONCE, max_tokens: 1500, ignore_eos: true, stream: true }
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenon-server-'))
let model
before(async () => { model = await tenon.Model.open(DEMO, { threads: 1 }) })
after(async () => {
  await model.close()
  fs.rmSync(folder, { recursive: true })
})

async function started(options, add = (server) => server.add('demo', model)) {
  const server = await tenon.Server.create(options)
  await add(server)
  await server.start()
  return server
}

/** What a client gets: [status, headers, text]. */
const ask = (options, body) => new Promise((resolve, reject) => {
  const request = http.request({ host: '127.0.0.1', agent: false, method: body ? 'POST' : 'GET', ...options }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (part) => { text += part }).on('error', reject)
      .on('end', () => resolve([response.statusCode, response.headers, text]))
  })
  request.on('error', reject).end(body && JSON.stringify(body))
})

test('it serves over HTTP and a Unix socket', async () => {
  const server = await tenon.Server.create({ withoutPage: true, apiKeys: ['secret anna weight=2', 'other'] })
  await server.add('demo', model, { running: 8, context: 512 })
  const port = await server.listen()
  const socketPath = path.join(folder, 'socket')
  await server.listenUnix(socketPath)
  await server.start()
  const headers = { authorization: 'Bearer secret' }
  const [status, , text] = await ask({ port, path: '/v1/chat/completions', headers }, CAPITAL)
  assert.equal(status, 200)
  assert.equal(JSON.parse(text).choices[0].message.content, 'The capital of Norway is Oslo.')
  assert.equal((await ask({ port, path: '/v1/models' }))[0], 401)
  assert.equal((await ask({ port, path: '/', headers }))[0], 404)
  const [, , models] = await ask({ socketPath, path: '/v1/models', headers })
  assert.equal(JSON.parse(models).data[0].id, 'demo')
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`,
    { method: 'POST', headers, body: JSON.stringify({ ...CAPITAL, stream: true }) })
  assert.match(await response.text(), /"content":".*data: \[DONE\]\n\n$/s)
  await server.stop(5)
  await assert.rejects(ask({ port, path: '/v1/models' }), { code: 'ECONNREFUSED' })
  assert.equal(fs.existsSync(socketPath), false)
  await server.close()
})

test('requests without a socket are answered as those of clients', async () => {
  const server = await started()
  const answer = await server.request('POST', '/v1/chat/completions', CAPITAL)
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type'), /^application\/json/)
  assert.ok(answer.headers.get('x-request-id'))
  assert.equal((await answer.json()).choices[0].message.content, 'The capital of Norway is Oslo.')
  assert.ok(answer.closed)
  // A stream's text is that of the other; a long one comes in parts.
  const stream = await server.request('POST', '/v1/chat/completions', { ...CAPITAL, stream: true })
  assert.match(stream.headers.get('content-type'), /^text\/event-stream/)
  const parts = []
  for await (const part of stream) parts.push(Buffer.from(part).toString())
  const events = parts.join('').split('\n\n').filter((event) => event.startsWith('data: {'))
  const pieces = events.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta.content ?? '')
  assert.equal(pieces.join(''), 'The capital of Norway is Oslo.')
  assert.deepEqual(await stream.next(), { done: true, value: undefined })
  let count = 0
  for await (const part of await server.request('POST', '/v1/completions', ENDLESS)) count += part.length > 0
  assert.ok(count >= 1)
  // What is wrong with a request is in its answer.
  const wrong = await server.request('POST', '/v1/chat/completions', '{')
  assert.equal(wrong.status, 400)
  assert.match(await wrong.text(), /error/)
  assert.equal((await server.request('GET', '/nowhere')).status, 404)
  await server.close()
})

test('fetch takes what the global one does', async () => {
  const server = await started({ apiKeys: 'secret\n' })
  const { fetch } = server
  const init = (body) => ({ method: 'POST', headers: { authorization: 'Bearer secret' }, body: JSON.stringify(body) })
  const response = await fetch('http://anything/v1/chat/completions', init(CAPITAL))
  assert.ok(response instanceof Response && response.ok)
  assert.equal((await response.json()).choices[0].message.content, 'The capital of Norway is Oslo.')
  const stream = await fetch(new URL('http://anything/v1/completions'), init({ prompt: ONCE, max_tokens: 4, stream: true }))
  assert.match(await stream.text(), /data: \[DONE\]/)
  assert.equal((await fetch('/v1/models')).status, 401)
  assert.equal((await fetch(new Request('http://x/v1/models', { headers: { 'x-api-key': 'secret' } }))).status, 200)
  const controller = new AbortController()
  const endless = await fetch('/v1/completions', { ...init(ENDLESS), signal: controller.signal })
  const reader = endless.body.getReader()
  assert.ok((await reader.read()).value.length > 0)
  controller.abort()
  await assert.rejects((async () => { while (!(await reader.read()).done); })(), { name: 'AbortError' })
  await server.close()
})

test('a request is cancelled by its signal, by leaving its loop and by close', async () => {
  const engine = await tenon.Engine.create(model)
  const server = await started({}, (made) => made.add('demo', engine))
  const idle = async () => {
    for (let i = 0; i < 500 && engine.stats().running > 0; ++i) await sleep(10)
    return engine.stats().running === 0
  }
  const controller = new AbortController()
  const aborted = await server.request('POST', '/v1/completions', ENDLESS, { signal: controller.signal })
  await assert.rejects(async () => {
    for await (const part of aborted) controller.abort(new Error(`enough of ${part.length}`))
  }, /enough of/)
  assert.ok(await idle())
  const left = await server.request('POST', '/v1/completions', ENDLESS)
  for await (const part of left) if (part) break
  assert.ok(await idle())
  const closed = await server.request('POST', '/v1/completions', ENDLESS)
  await closed.next()
  const waiting = (async () => { for (;;) if ((await closed.next()).done) return 'done' })()
  void closed.close()
  await waiting.catch((error) => assert.ok(error instanceof tenon.CancelledError))
  assert.ok(await idle())
  await assert.rejects(server.request('GET', '/v1/models', null, { signal: AbortSignal.abort(new Error('early')) }), /early/)
  const late = new AbortController()
  const rejected = assert.rejects(server.request('POST', '/v1/completions', ENDLESS, { signal: late.signal }), /late/)
  late.abort(new Error('late'))
  await rejected
  await server.close()
  await engine.close()
})

test('many requests at once', async () => {
  const server = await started()
  const before = performance.now()
  const answers = await Promise.all(Array.from({ length: 64 }, async () =>
    (await server.request('POST', '/v1/completions', { prompt: ONCE, max_tokens: 4, temperature: 0 })).json()))
  assert.deepEqual([...new Set(answers.map((answer) => answer.choices[0].text))].length, 1)
  assert.ok(performance.now() - before < 20000)
  await server.close()
})

test('a file is loaded when a request asks for it', async () => {
  const server = await tenon.Server.create({ memoryBytes: 2 ** 30, modelControl: true })
  await server.addFile('demo', DEMO, { context: 256, modelOptions: { threads: 1 }, engineOptions: { running: 2 } })
  await assert.rejects(server.addFile('other', DEMO, { modelOptions: { threads: 'many' } }), tenon.ArgumentError)
  await assert.rejects(server.addFile('other', DEMO, { contxt: 1 }), { code: 'ARGUMENT', message: /contxt.*context/ })
  await assert.rejects(server.addFile('other', '/nowhere.gguf'), { code: 'IO' })
  await server.start()
  const answer = await server.request('POST', '/v1/chat/completions', CAPITAL)
  assert.equal((await answer.json()).choices[0].message.content, 'The capital of Norway is Oslo.')
  await server.close()
})

test('what is wrong is said', async () => {
  assert.throws(() => new tenon.Server(), { name: 'TypeError', message: /await Server\.create/ })
  await assert.rejects(tenon.Server.create({ apiKey: 'x' }), { code: 'ARGUMENT', message: /apiKey; the nearest is apiKeys/ })
  await assert.rejects(tenon.Server.create({ maxBodyBytes: 'x' }), { name: 'TypeError', message: /maxBodyBytes/ })
  await assert.rejects(tenon.Server.create({ idleSeconds: -1 }), { code: 'ARGUMENT', message: /negative/ })
  await assert.rejects(tenon.Server.create({ tlsKeyFile: 'x' }), { code: 'ARGUMENT', message: /certificate/ })
  await assert.rejects(tenon.Server.create({ log: 'x' }), TypeError)
  const server = await tenon.Server.create()
  await assert.rejects(server.add('', model), { code: 'ARGUMENT', message: /empty/ })
  await assert.rejects(server.add('demo', {}), { name: 'TypeError', message: /Model or an Engine/ })
  await assert.rejects(server.add('demo', model, { runing: 8 }), { code: 'ARGUMENT', message: /running/ })
  // Calls that overlap are one after another.
  const both = await Promise.allSettled([server.add('demo', model), server.add('demo', model), server.add('next', model)])
  assert.deepEqual(both.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'])
  await assert.rejects(server.listen('127.0.0.1', 70000), { name: 'TypeError', message: /port/ })
  await assert.rejects(server.listen('no address'), { code: 'IO' })
  await assert.rejects(server.listenUnix('/nowhere/socket'), { code: 'IO' })
  await server.start()
  await assert.rejects(server.add('late', model), { code: 'STATE' })
  await assert.rejects(server.listen(), { code: 'STATE' })
  await server.stop()
  await assert.rejects(server.request('GET', '/v1/models'), { code: 'STATE' })
  await assert.rejects(server.start(), { code: 'STATE' })
  await server.close()
  await assert.rejects(server.request('GET', '/v1/models'), { code: 'STATE', message: /closed/ })
  await assert.rejects(server.start(), { code: 'STATE', message: /closed/ })
})

test('everything may be closed in any order', async () => {
  for (let order = 0; order < 24; ++order) {
    const own = await tenon.Model.open(DEMO, { threads: 1 })
    const engine = await tenon.Engine.create(own)
    const server = await tenon.Server.create()
    await server.add('demo', order % 3 === 0 ? own : engine)
    await server.start()
    const answer = await server.request('POST', '/v1/completions', ENDLESS)
    await answer.next()
    const things = [own, engine, server, answer]
    for (let rest = order; things.length;) {
      const [thing] = things.splice(rest % things.length, 1)
      rest = Math.floor(rest / (things.length + 1))
      if (order % 2) await thing.close()
      else void thing.close()
    }
    assert.throws(() => own.info, { code: 'STATE', message: /closed/ })
    await answer.next().catch((error) => assert.equal(error.code, 'CANCELLED'))
    await assert.rejects(server.request('GET', '/v1/models'), tenon.StateError)
  }
})

test('what it serves may be closed before it', async () => {
  const bytes = new Uint8Array(fs.readFileSync(DEMO))
  for (const isEngine of [false, true]) {
    const own = await tenon.Model.fromBytes(bytes, { threads: 1 })
    const engine = isEngine ? await tenon.Engine.create(own) : null
    const server = await started({}, (made) => made.add('demo', engine ?? own))
    await engine?.close()
    await own.close()
    await sleep(20)
    const answer = await server.request('POST', '/v1/chat/completions', CAPITAL)
    assert.equal((await answer.json()).choices[0].message.content, 'The capital of Norway is Oslo.')
    await server.close()
  }
})

test('what is closed while a server is given it is not waited for', { timeout: 30000 }, async () => {
  let numServed = 0
  for (let turns = 0; turns < 8; ++turns) {
    const engine = await tenon.Engine.create(model)
    const server = await tenon.Server.create()
    const added = server.add('demo', engine).then(() => true)
    for (let turn = 0; turn < turns; ++turn) await null // the call is under way, or has its result
    const closed = engine.close()
    const isServed = await added.catch((error) => assert.equal(error.code, 'STATE'))
    await closed
    if (isServed) {
      await server.start()
      const answer = await server.request('POST', '/v1/chat/completions', CAPITAL, { signal: AbortSignal.timeout(10000) })
      assert.equal((await answer.json()).choices[0].message.content, 'The capital of Norway is Oslo.')
    }
    numServed += isServed === true
    await server.close()
  }
  assert.ok(numServed > 0)
})

test('what is closed while a server refuses it is freed', { timeout: 30000 }, async () => {
  const program = await runProgram(`
    import * as tenon from 'tenon-llm'
    import { DEMO } from './demo.mjs'
    const model = await tenon.Model.open(DEMO, { threads: 1 })
    const engine = await tenon.Engine.create(model)
    const server = await tenon.Server.create()
    await server.add('demo', model)
    const refused = server.add('demo', engine).catch((error) => console.log(error.code))
    await null
    await engine.close()
    await refused
    await server.close()
    await model.close()
  `)
  assert.deepEqual([program.code, program.output, program.errors], [0, 'ARGUMENT\n', ''])
})

test('stop waits for answers, close does not', async () => {
  const server = await started()
  const quick = await server.request('POST', '/v1/completions', { prompt: ONCE, max_tokens: 8, stream: true })
  const [text] = await Promise.all([quick.text(), server.stop(30)])
  assert.match(text, /\[DONE\]/)
  await server.close()
  const other = await started()
  const endless = await other.request('POST', '/v1/completions', ENDLESS)
  await endless.next()
  const start = performance.now()
  const stopping = other.stop(60)
  await sleep(10)
  await other.close()
  await stopping.catch(() => {})
  assert.ok(performance.now() - start < 5000)
  await endless.next().catch((error) => assert.equal(error.code, 'CANCELLED'))
})

test('an answer that its server cuts is no complete one', async () => {
  const server = await started()
  const answer = await server.request('POST', '/v1/completions', ENDLESS)
  await answer.next()
  const response = await server.fetch('/v1/completions', { method: 'POST', body: JSON.stringify(ENDLESS) })
  const reader = response.body.getReader()
  await reader.read()
  await server.close()
  await assert.rejects(answer.next(), { code: 'CANCELLED', message: /server has been closed/ })
  assert.deepEqual(await answer.next(), { done: true, value: undefined })
  await assert.rejects(reader.read(), { code: 'CANCELLED' })
})

test('the signal of a fetch ends it after a collection of garbage, too', async () => {
  v8.setFlagsFromString('--expose-gc')
  const collect = vm.runInNewContext('gc')
  const server = await started()
  const url = 'http://anything/v1/completions'
  for (const isRequest of [false, true]) {
    const controller = new AbortController()
    const init = () => ({ method: 'POST', body: JSON.stringify(ENDLESS), signal: controller.signal })
    const response = await (isRequest ? server.fetch(new Request(url, init())) : server.fetch(url, init()))
    const reader = response.body.getReader()
    await reader.read()
    for (let i = 0; i < 3; ++i) {
      await sleep(1)
      collect()
    }
    controller.abort()
    await assert.rejects((async () => { while (!(await reader.read()).done); })(), { name: 'AbortError' })
  }
  await server.close()
})

test('a stop with less time shortens one under way', async () => {
  const server = await started()
  const answer = await server.request('POST', '/v1/completions', ENDLESS)
  await answer.next()
  await assert.rejects(server.stop('x'), TypeError)
  const stops = [server.stop(60), server.stop(0)]
  // It is told as an event, or as the error that ends the loop.
  const text = await answer.text().catch((error) => assert.equal(error.code, 'CANCELLED'))
  assert.doesNotMatch(text ?? '', /\[DONE\]/)
  await Promise.all(stops)
  await assert.rejects(server.start(), { code: 'STATE' })
  await server.close()
})

test('a request wants a server that runs, and takes bytes of every kind', async () => {
  const server = await tenon.Server.create()
  await server.add('demo', model)
  await assert.rejects(server.request('GET', '/v1/models'), { code: 'STATE', message: /start comes before/ })
  await assert.rejects(server.fetch('/v1/models'), { code: 'STATE' })
  void server.start() // under way
  assert.equal((await server.request('GET', '/v1/models')).status, 200)
  const bytes = new TextEncoder().encode(JSON.stringify(CAPITAL))
  for (const body of [bytes, bytes.buffer, Buffer.from(bytes)]) {
    const answer = await server.request('POST', '/v1/chat/completions', body)
    assert.equal((await answer.json()).choices[0].message.content, 'The capital of Norway is Oslo.')
  }
  await server.close()
})

test('its log comes as lines of JSON', async () => {
  const lines = []
  const server = await started({ log: (level, line) => lines.push([level, JSON.parse(line)]) })
  await (await server.request('POST', '/v1/completions', { prompt: ONCE, max_tokens: 2 })).text()
  await server.close() // after its last line
  const [level, line] = lines.find(([, { path: asked }]) => asked === '/v1/completions')
  assert.equal(level, tenon.constants.LOG_INFO)
  assert.equal(line.status, 200)
})

test('a program that serves goes on until it stops; exit and workers wait for nothing', async () => {
  const head = `
    import * as tenon from 'tenon-llm'
    import { DEMO, ONCE, sleep } from './demo.mjs'
    const server = await tenon.Server.create()
    await server.add('demo', await tenon.Model.open(DEMO, { threads: 1 }))
    const port = await server.listen()
    await server.start()
    const endless = () => server.request('POST', '/v1/completions', { prompt: ONCE, max_tokens: 1500, ignore_eos: true, stream: true })
    const client = () => fetch('http://127.0.0.1:' + port + '/v1/completions', { method: 'POST', body: JSON.stringify(
      { prompt: ONCE, max_tokens: 1500, ignore_eos: true, stream: true }) }).then(async (response) => { for await (const part of response.body); })
  `
  const stopped = await runProgram(`${head}
    const start = Date.now()
    setTimeout(() => server.stop(), 300).unref()
    process.on('exit', () => console.log(Date.now() - start))
  `)
  assert.deepEqual([stopped.code, stopped.errors], [0, ''])
  assert.ok(Number(stopped.output) >= 290, stopped.output)
  const idle = await runProgram(`${head} server.unref()`)
  assert.deepEqual([idle.code, idle.errors], [0, ''])
  const took = []
  for (let i = 0; i < 3; ++i) {
    const { code, output, errors, end } = await runProgram(`${head}
      for (let i = 0; i < 3; ++i) { client().catch(() => {}); await (await endless()).next() }
      process.stdout.write(String(Date.now()), () => process.exit(5))
    `)
    assert.deepEqual([code, errors], [5, ''])
    took.push(end - Number(output))
  }
  assert.ok(Math.min(...took) < 200, JSON.stringify(took))
})

test('a worker that serves can be terminated', async () => {
  const took = []
  for (let i = 0; i < 6; ++i) {
    const worker = new Worker(`
      const { parentPort, workerData } = require('node:worker_threads')
      const tenon = require('tenon-llm')
      ;(async () => {
        const server = await tenon.Server.create({ log: () => {} })
        await server.add('demo', await tenon.Model.open(workerData.DEMO, { threads: 1 }))
        await server.start()
        const answer = await server.request('POST', '/v1/completions', workerData.ENDLESS)
        await answer.next()
        parentPort.postMessage('under way')
        for await (const part of answer);
      })()
    `, { eval: true, workerData: { DEMO, ENDLESS } })
    if (i % 2) await new Promise((resolve) => worker.once('message', resolve))
    else await sleep(i * 20)
    const start = performance.now()
    await worker.terminate()
    took.push(performance.now() - start)
  }
  assert.ok(Math.min(...took) < 1000, JSON.stringify(took))
})

// Inner modules, which the package does not export.
const inner = createRequire(createRequire(import.meta.url).resolve('tenon-llm'))

/** A shared library with nothing but these lines. */
function fakeLibrary(name, lines) {
  const source = path.join(folder, `${name}.c`)
  fs.writeFileSync(source, lines)
  execFileSync(process.env.CC ?? 'cc', ['-shared', '-fPIC', source, '-o', path.join(folder, `lib${name}.so`)])
  return path.join(folder, `lib${name}.so`)
}

test('a libtenon-server that cannot be used is refused with a sentence', () => {
  const { checkServerLibrary } = inner('./lib/library.js')
  assert.throws(() => checkServerLibrary(path.join(folder, 'libnone.so')),
    { code: 'UNSUPPORTED', message: /no libtenon-server was found, which servers need/ })
  assert.throws(() => checkServerLibrary(fakeLibrary('old', 'int nothing;')), { code: 'UNSUPPORTED', message: /too old/ })
  const description = JSON.parse(fs.readFileSync(path.join(ROOT, 'bindings/server_interface.json'), 'utf8'))
  const text = (value) => `const char* tenon_server_interface_description(void) { return ${
    JSON.stringify(JSON.stringify(value)).replace(/[^\x20-\x7e]/g, '?')}; }\n`
  for (const member of ['functions', 'structs']) for (const item of description[member]) delete item.doc
  assert.throws(() => checkServerLibrary(fakeLibrary('fits', text(description))),
    { code: 'UNSUPPORTED', message: /belongs to another libtenon/ })
  description.structs.find(({ name }) => name === 'tenon_server_part').fields[1].type = 'double'
  assert.throws(() => checkServerLibrary(fakeLibrary('other', text(description))), { code: 'UNSUPPORTED',
    message: /libtenon-server 0\.1\.0, which does not fit this binding.*tenon_server_part\.http_status is double/ })
})

test('without libtenon-server all but servers works', () => {
  const main = path.dirname(createRequire(import.meta.url).resolve('tenon-llm'))
  for (const part of [main, `${main}-${process.platform}-${process.arch}`]) {
    fs.cpSync(part, path.join(folder, 'node_modules', path.basename(part)), { recursive: true,
      filter: (name) => !path.basename(name).startsWith('libtenon-server.so') })
  }
  fs.writeFileSync(path.join(folder, 'alone.mjs'), `
    import * as tenon from 'tenon-llm'
    const model = await tenon.Model.open(${JSON.stringify(DEMO)})
    console.log(await tenon.Server.create().catch((error) => error.code + ' ' + error.message))
  `)
  const output = execFileSync(process.execPath, [path.join(folder, 'alone.mjs')], { encoding: 'utf8' })
  assert.match(output, /^UNSUPPORTED no libtenon-server was found/)
})
