// Runtimes that differ from this one, as far as they can be played here: one that refuses memory of others as
// ArrayBuffers, as Electron does from 21 on (V8's memory cage), one that makes no objects any more, and one whose Node-API
// is too old. And a package that a bundler took apart.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { DEMO, ROOT } from './demo.mjs'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenon-runtimes-'))
after(() => fs.rmSync(folder, { recursive: true }))
const PACKAGE = path.dirname(createRequire(import.meta.url).resolve('tenon-llm'))
const PLATFORM = `${PACKAGE}-${process.platform}-${process.arch}`
const HEADERS = process.env.NODE_HEADERS ?? '/usr/include/node'

/** The package with another addon, and what a program that uses it prints. */
function runWith(name, compile, program) {
  const own = path.join(folder, name)
  const modules = path.join(own, 'node_modules')
  for (const part of [PACKAGE, PLATFORM]) fs.cpSync(part, path.join(modules, path.basename(part)), { recursive: true })
  compile?.(path.join(modules, path.basename(PLATFORM), 'tenon.node'))
  fs.writeFileSync(path.join(own, 'program.cjs'), program)
  return execFileSync(process.execPath, [path.join(own, 'program.cjs')], { encoding: 'utf8' })
}

/** Compiles the addon with functions of C in place of others: `replaced` maps those to their names in `lines`. */
const compileWith = (replaced, lines) => (addon) => {
  const fake = `${addon}.fake.c`
  fs.writeFileSync(fake, lines)
  const native = path.join(ROOT, 'bindings/node/native')
  execFileSync(process.env.CC ?? 'cc', ['-std=c11', '-D_GNU_SOURCE', '-DNAPI_VERSION=8', '-O0', '-fPIC', '-shared',
    ...Object.entries(replaced).map(([name, other]) => `-D${name}=${other}`), '-Wl,-rpath,$ORIGIN/lib', '-Wl,-z,nodelete',
    `-I${HEADERS}`, `-I${path.join(ROOT, 'capi/include')}`, `-I${native}`, fake,
    ...fs.readdirSync(native).filter((name) => name.endsWith('.c')).map((name) => path.join(native, name)),
    '-lpthread', '-lm', '-ldl', '-o', addon])
}

const RESULTS = `
  const { createHash } = require('node:crypto')
  const tenon = require('tenon-llm')
  const digest = (array) => [array.constructor.name, array.byteLength,
    createHash('sha256').update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength)).digest('hex')].join(' ')
  ;(async () => {
    const model = await tenon.Model.open(${JSON.stringify(DEMO)}, { threads: 1, isa: 'portable' })
    const encoder = await tenon.Model.open(${JSON.stringify(DEMO)}, { threads: 1, isa: 'portable', embeddings: 'on' })
    const embedder = await tenon.Embedder.create(encoder)
    console.log(digest((await embedder.embed(Array.from({ length: 120 }, (_, index) => 'fox ' + index))).data))
    const session = await model.session()
    await session.append('word '.repeat(200))
    await session.prefill()
    const saved = await session.save()
    console.log(digest(saved), saved.byteLength > 65536)
    await session.restore(saved)
    console.log(digest(await session.logits()))
  })()
`

test('where memory of others cannot be an ArrayBuffer it is copied', () => {
  const compile = compileWith({ napi_create_external_arraybuffer: 'refuse_external' }, `
      #include <node_api.h>
      #include <stdio.h>
      /* In place of napi_create_external_arraybuffer. */
      napi_status refuse_external(napi_env env, void* data, size_t length, napi_finalize finalize, void* hint, napi_value* result) {
        (void)env, (void)data, (void)length, (void)finalize, (void)hint, (void)result;
        puts("refused");
        fflush(stdout);
        return napi_no_external_buffers_allowed;
      }
    `)
  const refused = runWith('caged', compile, RESULTS).split('\n')
  assert.ok(refused.filter((line) => line === 'refused').length >= 2)
  assert.deepEqual(refused.filter((line) => line !== 'refused'), runWith('free', null, RESULTS).split('\n'))
})

test('requests for which no object can be made are ended before what they notify is freed', () => {
  const compile = compileWith({ napi_wrap: 'wrap_some', free: 'free_poisoned' }, `
    #include <malloc.h>
    #include <string.h>
    #include "handles.h"
    napi_status real_wrap(napi_env, napi_value, void*, napi_finalize, void*, napi_ref*) __asm__("napi_wrap");
    void real_free(void*) __asm__("free");
    napi_status wrap_some(napi_env env, napi_value object, void* data, napi_finalize finalize, void* hint, napi_ref* result) {
      const enum Kind kind = ((Handle*)data)->kind;
      if (kind == KIND_request || kind == KIND_server_call) return napi_generic_failure;
      return real_wrap(env, object, data, finalize, hint, result);
    }
    void free_poisoned(void* memory) {
      if (memory != NULL) memset(memory, 0xee, malloc_usable_size(memory));
      real_free(memory);
    }
  `)
  const output = runWith('wrapless', compile, `
    const tenon = require('tenon-llm')
    ;(async () => {
      const model = await tenon.Model.open(${JSON.stringify(DEMO)}, { threads: 1 })
      const server = await tenon.Server.create()
      await server.add('demo', model)
      await server.start()
      const messages = new Set()
      const keep = (error) => messages.add(error.message)
      for (let i = 0; i < 20; ++i) {
        await server.request('POST', '/v1/completions', { prompt: 'Once', max_tokens: 500, ignore_eos: true, stream: true }).catch(keep)
        const session = await model.session()
        await (async () => { for await (const piece of session.generate('Once', { maxTokens: 200 })); })().catch(keep)
        await session.close()
      }
      await server.close()
      await model.close()
      console.log([...messages].join())
    })()
  `)
  assert.equal(output, 'no memory\n')
})

test('a runtime with an older Node-API is refused with a sentence', () => {
  const output = runWith('old', null, `
    Object.defineProperty(process, 'versions', { value: { ...process.versions, napi: '5' } })
    try {
      require('tenon-llm')
    } catch (error) {
      console.log(error.message)
    }
  `)
  assert.match(output, /^tenon needs Node-API 8 .* not 5 as Node/)
})

test('code without its addon, as a bundler leaves it, says what to do', () => {
  const bundled = path.join(folder, 'bundle/lib')
  fs.mkdirSync(bundled, { recursive: true })
  for (const name of ['native.js', 'platform.js']) fs.copyFileSync(path.join(PACKAGE, 'lib', name), path.join(bundled, name))
  assert.throws(() => createRequire(import.meta.url)(path.join(bundled, 'native.js')), /leave tenon-llm out.*--external:tenon-llm/)
})

test('without the package of its platform it says what to install', () => {
  const program = path.join(folder, 'alone/program.cjs')
  const copy = path.join(folder, 'alone/node_modules', path.basename(PACKAGE))
  fs.cpSync(PACKAGE, copy, { recursive: true })
  const says = (lines) => {
    fs.writeFileSync(program, `${lines}\ntry { require('tenon-llm') } catch (error) { console.log(error.message) }`)
    return execFileSync(process.execPath, [program], { encoding: 'utf8' })
  }
  const name = path.basename(PLATFORM)
  assert.ok(says('').startsWith(`${name} is not installed, which holds the library: npm install ${name}@`))
  assert.equal(says("Object.defineProperty(process, 'arch', { value: 'mips' })"),
    'tenon-llm has no package for linux-mips, but: tenon-llm-linux-x64, tenon-llm-linux-arm64, tenon-llm-linux-x64-musl\n')
})
