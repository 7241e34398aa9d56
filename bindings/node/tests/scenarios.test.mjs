// bindings/scenarios.json: the behaviour that all bindings have in common.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DATA, run } from './run_scenarios.mjs'

for (const scenario of DATA.scenarios) {
  test(scenario.name, async () => assert.deepEqual(await run(scenario), scenario.expect))
}
