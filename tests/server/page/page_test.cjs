// A user's actions on the chat page, in Chromium. run.sh starts this script.
const assert = require('node:assert/strict');
const { chromium } = require('playwright-core');

const { PAGE, CHROMIUM, SCREENSHOTS } = process.env;
const tests = [];
const test = (name, body, options = {}) => tests.push({ name, body, options });

/** Sends a message and waits for the end of its answer. */
async function ask(page, text) {
  await page.fill('#prompt', text);
  await page.press('#prompt', 'Enter');
  await page.waitForFunction(() => !document.body.classList.contains('busy'));
  return page.locator('.answer').last();
}

/** Sets fields of the settings. */
async function set(page, fields) {
  if (await page.locator('#settings').isHidden()) await page.click('#show-settings');
  for (const [name, value] of Object.entries(fields)) await page.fill(`#fields [name="${name}"]`, value);
}

/** Answers chats with these deltas, in place of the server; returns the bodies of the requests. */
async function answerWith(page, deltas, usage = { prompt_tokens: 812, completion_tokens: 96, prompt_tokens_details: { cached_tokens: 768 } }) {
  const requests = [];
  await page.route('**/v1/chat/completions', (route) => {
    requests.push(route.request().postDataJSON());
    const chunks = [...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, { choices: [], usage }];
    const body = [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join('');
    return route.fulfill({ contentType: 'text/event-stream', body });
  });
  return requests;
}

const thinkingAnswer = [
  { role: 'assistant', content: '' },
  { reasoning_content: 'The user asks for a comparison. ' }, { reasoning_content: 'A table is short.' },
  { content: 'A **tenon** is cut to fit a *mortise*; `glue` is optional.\n\n' },
  { content: '| joint | strength | work |\n|---|---|---|\n| butt | low | little |\n| mortise and tenon | high | more |\n\n' },
  { content: '1. Mark both parts.\n2. Cut the mortise first:\n   - chisel\n   - drill\n3. Fit the tenon.\n\n```cpp\nint main() { return joint("<b>tenon</b>"); }\n```\n' },
];

test('answers, streams, counts', async (page) => {
  await set(page, { temperature: '0', max_tokens: '24',
    system: 'Answer every question about a country with the name of its capital and nothing else, in a short sentence. '.repeat(2) });
  const answer = await ask(page, 'What is the capital of Norway?');
  assert.notEqual(await answer.locator('.text').innerText(), '');
  assert.match(await answer.locator('.facts').innerText(), /\d+ tokens · .*first after .*prompt \d+/);
  assert.match(await page.innerText('#status'), /of 2048 tokens of the context/);
  const again = await ask(page, 'And of Italy?');
  assert.match(await again.locator('.facts').innerText(), /prompt \d+, [1-9]\d* reused/);
});

test('keeps a schema', async (page) => {
  await set(page, { schema: '{"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"], "additionalProperties": false}', temperature: '0', max_tokens: '60' });
  const answer = await ask(page, 'What is the capital of Norway?');
  assert.ok(['Oslo', 'Rome'].includes(JSON.parse(await answer.locator('.text').innerText()).city));
});

test('shows what is wrong at its field', async (page) => {
  await set(page, { schema: '{"type": "object"' });
  await ask(page, 'Hello');
  assert.match(await page.innerText('.field-error'), /not a JSON Schema/);
  await set(page, { schema: '{"type": "nothing"}' });
  await ask(page, 'Hello');
  assert.match(await page.locator('.error').last().innerText(), /response_format/);
  assert.equal(await page.getAttribute('#fields [name="schema"]', 'aria-invalid'), 'true');
});

test('folds thoughts, shows Markdown without markup of the model', async (page) => {
  await answerWith(page, thinkingAnswer);
  const answer = await ask(page, 'Compare a butt joint with mortise and tenon.');
  assert.match(await answer.locator('.thoughts summary').innerText(), /Thought for/);
  assert.equal(await answer.locator('.thoughts').getAttribute('open'), null);
  await answer.locator('.thoughts summary').click();
  assert.match(await answer.locator('.thoughts').innerText(), /A table is short/);
  assert.equal(await answer.locator('td').count(), 6);
  assert.equal(await answer.locator('ol > li').count(), 3);
  assert.equal(await answer.locator('ol ul > li').count(), 2);
  assert.match(await answer.locator('pre').innerText(), /<b>tenon<\/b>/);
  assert.equal(await answer.locator('b').count(), 0);
  assert.match(await answer.locator('.facts').innerText(), /prompt 812, 768 reused \(95 %\)/);
});

test('shows calls and gives their results back', async (page) => {
  const requests = await answerWith(page, [
    { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"city": ' } }] }, { tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] },
  ]);
  await set(page, { tools: '[{"name": "weather", "parameters": {"type": "object"}}]' });
  const answer = await ask(page, 'How is the weather in Oslo?');
  assert.equal(requests[0].tools[0].function.name, 'weather');
  assert.match(await answer.locator('.call').innerText(), /weather[^]*"city": "Oslo"/);
  await answer.locator('.call textarea').fill('4 degrees, rain');
  if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/calls.png` });
  await answer.getByRole('button', { name: 'Give the result' }).click();
  await page.waitForFunction(() => !document.body.classList.contains('busy'));
  assert.deepEqual(requests[1].messages.at(-1), { role: 'tool', tool_call_id: 'call_1', content: '4 degrees, rain' });
  assert.equal(requests[1].messages.at(-2).tool_calls[0].function.arguments, '{"city": "Oslo"}');
});

test('stops an answer with Escape and goes on', async (page) => {
  await set(page, { max_tokens: '1800', temperature: '1.2', system: 'Write long stories.' });
  await page.fill('#prompt', 'Tell me a story');
  await page.press('#prompt', 'Enter');
  await page.locator('body.busy').waitFor();
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.body.classList.contains('busy'));
  await ask(page, 'What is the capital of Norway?');
});

test('is used by keyboard alone, and keeps the conversation', async (page) => {
  await answerWith(page, thinkingAnswer);
  await page.keyboard.type('Hello');
  await page.keyboard.press('Enter');
  await page.locator('.answer .facts').waitFor();
  await page.keyboard.press('Alt+s');
  assert.equal(await page.evaluate(() => document.activeElement.name), 'system');
  await page.keyboard.press('Escape');
  assert.ok(await page.locator('#settings').isHidden());
  assert.equal(await page.evaluate(() => document.activeElement.id), 'show-settings');
  await page.reload();
  assert.equal(await page.locator('.user .text').innerText(), 'Hello');
  await page.keyboard.press('Alt+n');
  assert.equal(await page.locator('#conversation > *').count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'prompt');
  const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input, select, textarea')]
    .filter((field) => !(field.ariaLabel || field.textContent.trim() || field.labels?.length)).length);
  assert.equal(nameless, 0);
});

for (const [name, options] of [
  ['light', { colorScheme: 'light', viewport: { width: 1200, height: 800 } }],
  ['dark', { colorScheme: 'dark', viewport: { width: 1200, height: 800 } }],
  ['phone', { colorScheme: 'light', viewport: { width: 375, height: 720 }, hasTouch: true, isMobile: true }],
]) {
  test(`fits: ${name}`, async (page) => {
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name}-empty.png` });
    await answerWith(page, thinkingAnswer);
    await ask(page, 'Compare a butt joint with mortise and tenon, in a table, with the steps of the work and a line of code.');
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name}.png` });
    await page.click('#show-settings');
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name}-settings.png` });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the window');
  }, options);
}

(async () => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  let failed = 0;
  for (const { name, body, options } of tests) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    page.setDefaultTimeout(20000);
    const faults = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(PAGE)) faults.push(`asked ${request.url()}`);
    });
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) faults.push(message.text());
    });
    try {
      await page.goto(PAGE);
      await page.locator('#model option').first().waitFor({ state: 'attached' });
      await body(page);
      assert.deepEqual(faults, []);
      console.log(`ok      ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED  ${name}\n        ${String(error.message).split('\n').slice(0, 12).join('\n        ')}`);
    }
    await context.close();
  }
  await browser.close();
  console.log(`${tests.length - failed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
})();
