// A thread of the scenario `threads`.
import { parentPort, workerData } from 'node:worker_threads'
import { Model } from 'tenon-llm'
import './demo.mjs' // the library that TENON_LIBRARY names

const { path, options, step } = workerData
const model = await Model.open(path, options)
const session = await model.session()
parentPort.postMessage(await session.generate(step.text, { maxTokens: step.max_tokens, sampling: step.sampling }).text())
