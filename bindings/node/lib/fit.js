// Checks that a library fits the interface this binding was compiled for. Structures begin with
// their size and grow at the end, and libraries gain functions: such differences are harmless in
// both directions. Anything else (a moved field, another type, another value) would be misread, so
// the library is refused before it is used. The rules are those of docs/bindings.md.
'use strict'

// A field of this name may become another one: until then it is 0 and ignored.
const RESERVED = 'reserved'

const overlap = (one, other) => one.offset < other.offset + other.size && other.offset < one.offset + one.size

function structMisfits(name, madeFor, found) {
  const theirs = found.fields.map(({ name, offset, size, type }) => ({ name, offset, size, type }))
  const ours = madeFor.fields.map(([name, offset, size, type]) => ({ name, offset, size, type }))
  const byName = new Map(theirs.map((field) => [field.name, field]))
  const end = Math.max(0, ...theirs.map((field) => field.offset + field.size))
  const misfits = []
  for (const field of ours) {
    const met = byName.get(field.name)
    if (met && met.offset === field.offset && met.size === field.size && met.type === field.type) continue
    // Our value for a replaced field is 0; but the new field must stand alone in its place.
    if (field.name === RESERVED && theirs.filter((other) => overlap(other, field))
      .every((other) => other.offset === field.offset && other.size === field.size)) continue
    if (!met && field.offset >= end) continue // an older library reads and writes no more than it knows
    if (!met) {
      misfits.push(`${name}.${field.name} is missing`)
    } else if (met.offset !== field.offset) {
      misfits.push(`${name}.${field.name} lies at byte ${met.offset}, not at ${field.offset}`)
    } else {
      misfits.push(`${name}.${field.name} is ${met.type} of ${met.size} bytes, not ${field.type} of ${field.size}`)
    }
  }
  // A newer library's further fields lie beyond ours, or in our reserved ones.
  const known = new Set(ours.map((field) => field.name))
  for (const field of theirs) {
    if (known.has(field.name)) continue
    const over = ours.filter((mine) => overlap(mine, field))
    if (over.some((mine) => mine.name !== RESERVED)) {
      misfits.push(`${name}.${field.name} lies where ${over[0].name} should be`)
    } else if (!over.length && field.offset + field.size <= madeFor.size && field.offset < ours.at(-1).offset) {
      misfits.push(`${name}.${field.name} lies between the fields that are known`)
    }
  }
  return misfits
}

const signature = (item) => [item.returns, ...item.parameters.map((parameter) => parameter.type)].join(', ')

/** Differences of a library's description (tenon_interface_description) that make it unusable;
 * empty: it fits. */
function misfits(madeFor, found) {
  const major = found.version.split('.')[0]
  if (madeFor.version.split('.')[0] !== major) return [`its major version is ${major}`]
  const result = []
  const structs = new Map(found.structs.map((struct) => [struct.name, struct]))
  for (const [name, ours] of Object.entries(madeFor.structs)) {
    // No function of the library takes a missing structure.
    if (structs.has(name)) result.push(...structMisfits(name, ours, structs.get(name)))
  }
  for (const kind of ['callbacks', 'functions']) {
    const theirs = new Map(found[kind].map((item) => [item.name, signature(item)]))
    for (const [name, types] of Object.entries(madeFor[kind])) {
      const met = theirs.get(name)
      if (met !== undefined && met !== types.join(', ')) result.push(`${name} is (${met}), not (${types.join(', ')})`)
    }
  }
  const values = new Map(found.constants.map((item) => [item.name, item.value]))
  for (const [name, value] of Object.entries(madeFor.constants)) {
    if (values.has(name) && values.get(name) !== value) result.push(`${name} is ${values.get(name)}, not ${value}`)
  }
  return result
}

module.exports = { misfits }
