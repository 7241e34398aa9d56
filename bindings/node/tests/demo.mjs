// What all suites share: the demo model. TENON_ROOT is the tree, TENON_LIBRARY a library in place of the package's.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import * as tenon from 'tenon-llm'

export const ROOT = process.env.TENON_ROOT ??
  path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
export const DEMO = path.join(ROOT, 'examples/models/demo-q8_0.gguf')
export const ONCE = 'Once upon a time'
export const GREEDY = { temperature: 0 }
/** A prompt that takes a while. */
export const LONG = 'word '.repeat(450)

if (process.env.TENON_LIBRARY) tenon.useLibrary(process.env.TENON_LIBRARY)

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
