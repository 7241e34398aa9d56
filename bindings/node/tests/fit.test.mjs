// Libraries of other versions: 200 changes of the interface, each harmless or refused. A fake library is a layout by
// the compiler's rules, and the description that it would answer. What fits must be read rightly by the code that
// was compiled for the real one.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import 'tenon-llm'
import { ROOT } from './demo.mjs'

// Inner modules, which the package does not export.
const inner = createRequire(createRequire(import.meta.url).resolve('tenon-llm'))
const native = inner('./lib/native.js')
const madeFor = inner('./lib/made_for.json')
const { misfits } = inner('./lib/fit.js')
const { checkLibrary } = inner('./lib/library.js')

const described = (name) => JSON.parse(fs.readFileSync(path.join(ROOT, 'bindings', name), 'utf8'))
const INTERFACE = described('interface.json')
const SERVER = described('server_interface.json')
// Structures that JavaScript reads, with fields of plain numbers to check by.
const READ = ['tenon_piece', 'tenon_model_info', 'tenon_memory', 'tenon_execution', 'tenon_token_info',
  'tenon_session_stats', 'tenon_engine_stats', 'tenon_request_stats', 'tenon_plan', 'tenon_hardware',
  'tenon_embedder_info', 'tenon_metadata', 'tenon_candidate']
const SIZES = { int32_t: 4, uint32_t: 4, int64_t: 8, uint64_t: 8, double: 8, float: 4, size_t: 8 }
const TYPES = Object.keys(SIZES).sort()
const HARMLESS = ['append', 'use_reserved']
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenon-fit-'))
after(() => fs.rmSync(folder, { recursive: true }))

/** Numbers below `limit` by a seed (mulberry32). */
export function dice(seed) {
  return (limit) => {
    seed = (seed + 0x6D2B79F5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % limit
  }
}

const sizeOf = (type) => SIZES[type] ?? 8 // else a pointer

/** Gives the fields of a struct offsets and sizes as a compiler would. */
function layOut(struct) {
  let offset = 0
  let widest = 1
  for (const field of struct.fields) {
    const size = sizeOf(field.type)
    widest = Math.max(widest, size)
    field.offset = Math.ceil(offset / size) * size
    field.size = size * (field.count ?? 1)
    offset = field.offset + field.size
  }
  struct.size = Math.ceil(offset / widest) * widest
}

/** One change of one structure of those: [kind of the change, structure]. */
function change(roll, description, names) {
  const pick = (list) => list[roll(list.length)]
  const struct = pick(description.structs.filter(({ name }) => names.includes(name)))
  const { fields } = struct
  let kind = pick(['insert', 'append', 'reorder', 'retype', 'rename', 'remove', 'use_reserved'])
  const index = 1 + roll(fields.length - 1)
  const fresh = { name: `fresh_${roll(1000)}`, type: pick(TYPES), role: 'value' }
  const reserved = fields.find(({ name }) => name === 'reserved')
  if (kind === 'use_reserved' && !reserved) kind = 'append'
  if (kind === 'insert') fields.splice(index, 0, fresh)
  else if (kind === 'append') fields.push(fresh)
  else if (kind === 'retype') fields[index].type = pick(TYPES.filter((type) => type !== fields[index].type))
  else if (kind === 'rename') fields[index].name = fresh.name
  else if (kind === 'remove') fields.splice(index, 1)
  else if (kind === 'use_reserved') Object.assign(reserved, { name: fresh.name, type: 'uint32_t' })
  else {
    const other = 1 + roll(fields.length - 1)
    ;[fields[index], fields[other]] = [fields[other], fields[index]]
  }
  return [kind, struct]
}

function write(view, { type, offset }, value) {
  switch (type) {
    case 'double': return view.setFloat64(offset, value, true)
    case 'float': return view.setFloat32(offset, value, true)
    case 'int32_t':
    case 'uint32_t': return view.setUint32(offset, value, true)
    default: return view.setBigUint64(offset, BigInt(value), true)
  }
}

const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
const structOf = (real, name) => real.structs.find((struct) => struct.name === name)

/** Makes 200 changes; calls `fits(seed, roll, kind, struct)` for the harmless ones. */
function change200(real, madeFor, names, fits) {
  let harmless = 0
  let refused = 0
  for (let seed = 0; seed < 200; ++seed) {
    const roll = dice(seed)
    const description = structuredClone(real)
    const [kind, struct] = change(roll, description, names)
    layOut(struct)
    const reasons = misfits(madeFor, description)
    if (HARMLESS.includes(kind)) assert.deepEqual(reasons, [], `seed ${seed}: a later minor version would be refused`)
    if (reasons.length) {
      assert.ok(reasons[0].includes(struct.name), `seed ${seed}`)
      ++refused
      continue
    }
    ++harmless
    fits(seed, roll, kind, struct)
  }
  assert.ok(harmless > 40 && refused > 40, `${harmless} harmless, ${refused} refused`)
}

/** What a fake library writes by its own layout, the compiled code reads by ours. */
function isReadRightly(real, seed, roll, kind, struct) {
  const bytes = new Uint8Array(struct.size)
  const view = new DataView(bytes.buffer)
  const written = {}
  for (const field of struct.fields) {
    if ('count' in field || !SIZES[field.type] || field.role === 'length' ||
        ['struct_size', 'reserved'].includes(field.name)) continue
    written[field.name] = 1 + roll(99)
    write(view, field, written[field.name])
  }
  const ours = structOf(real, struct.name)
  const read = native.readStruct(struct.name, bytes.subarray(0, Math.min(struct.size, ours.size)))
  for (const field of ours.fields) {
    if (field.role === 'value' && !('count' in field) && camel(field.name) in read) {
      assert.equal(read[camel(field.name)], written[field.name] ?? 0, `seed ${seed}: ${kind} ${struct.name}.${field.name}`)
    }
  }
}

test('200 changed layouts are harmless or refused', () => {
  change200(INTERFACE, madeFor, READ, (...changed) => isReadRightly(INTERFACE, ...changed))
})

test('200 changed layouts of the server are harmless or refused', () => {
  const names = SERVER.structs.map(({ name }) => name)
  change200(SERVER, madeFor.server, names, (seed, roll, kind, struct) => {
    if (struct.name === 'tenon_server_part') isReadRightly(SERVER, seed, roll, kind, struct)
    // What the compiled code writes by our layout, the fake library reads by its own.
    for (const field of structOf(SERVER, struct.name).fields) {
      const theirs = struct.fields.find(({ name }) => name === field.name)
      if (theirs) assert.deepEqual([theirs.offset, theirs.size, theirs.type], [field.offset, field.size, field.type], `seed ${seed}`)
    }
  })
})

test('the real description fits', () => {
  assert.deepEqual(misfits(madeFor, INTERFACE), [])
  assert.deepEqual(misfits(madeFor.server, SERVER), [])
})

test('other changes are refused', () => {
  for (const [make, reason] of [
    [(d) => { d.constants[2].value = 77 }, '77'],
    [(d) => { d.functions[0].parameters.pop() }, 'tenon_model_open'],
    [(d) => { d.functions[0].returns = 'void' }, 'tenon_model_open'],
    [(d) => { d.callbacks[0].returns = 'void' }, 'tenon_piece_callback'],
    [(d) => { d.version = '1.0.0' }, 'major'],
  ]) {
    const description = structuredClone(INTERFACE)
    make(description)
    assert.ok(misfits(madeFor, description)[0].includes(reason))
  }
  for (const [make, reason] of [
    [(d) => { d.functions[2].parameters.pop() }, 'tenon_server_add_model'],
    [(d) => { d.version = '1.0.0' }, 'major'],
  ]) {
    const description = structuredClone(SERVER)
    make(description)
    assert.ok(misfits(madeFor.server, description)[0].includes(reason))
  }
})

test('new functions and missing ones are harmless', () => {
  const description = structuredClone(INTERFACE)
  description.functions.pop()
  description.functions.push({ name: 'tenon_fresh', returns: 'void', parameters: [] })
  assert.deepEqual(misfits(madeFor, description), [])
})

/** A shared library with nothing but these lines. */
function fakeLibrary(name, lines) {
  const source = path.join(folder, `${name}.c`)
  const library = path.join(folder, `lib${name}.so`)
  fs.writeFileSync(source, lines)
  execFileSync(process.env.CC ?? 'cc', ['-shared', '-fPIC', source, '-o', library])
  return library
}

test('a library that does not fit is refused with a sentence', () => {
  const description = structuredClone(INTERFACE)
  const struct = description.structs.find(({ name }) => name === 'tenon_piece')
  struct.fields.splice(1, 0, { name: 'fresh', type: 'uint64_t', role: 'value' })
  layOut(struct)
  for (const member of ['functions', 'structs', 'constants', 'callbacks']) {
    for (const item of description[member]) delete item.doc
  }
  const text = JSON.stringify(JSON.stringify(description)).replace(/[^\x20-\x7e]/g, '?')
  const library = fakeLibrary('fake', `const char* tenon_interface_description(void) { return ${text}; }\n` +
    'const char* tenon_version_text(void) { return "0.9.0"; }\n')
  assert.throws(() => checkLibrary(library), { name: 'UnsupportedError',
    message: /libtenon 0\.9\.0, which does not fit this binding.*tenon_piece\.token lies at byte/ })
})

test('a library without a description is refused', () => {
  const library = fakeLibrary('old', 'const char* tenon_version_text(void) { return "0.0.1"; }\n')
  assert.throws(() => checkLibrary(library), { name: 'UnsupportedError', message: /too old/ })
})

test('what is no library is an error', () => {
  const file = path.join(folder, 'libtext.so')
  fs.writeFileSync(file, 'not a library')
  assert.throws(() => checkLibrary(file), { name: 'UnsupportedError', message: /no libtenon was found/ })
})
