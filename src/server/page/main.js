// Conversation and its buttons.
import { chat, listModels } from './api.js';
import { AnswerView, showError, showResult, showUser } from './messages.js';
import { apiKey, FieldError, markField, openSettings, requestFields, resetSettings, systemMessage } from './settings.js';

const at = (id) => document.getElementById(id);
const conversation = at('conversation');
const prompt = at('prompt');
const modelList = at('model');
const storageKey = 'tenon.conversation';

/** [{role, content, ...}]: as a request has them, answers with usage, times and finish beside. */
let messages = [];
/** Of the answer under way. */
let stop = null;
let contextOf = {};

const say = (text) => { at('status').textContent = text; };
const isAtEnd = () => conversation.scrollHeight - conversation.scrollTop - conversation.clientHeight < 80;
const scrollToEnd = () => { conversation.scrollTop = conversation.scrollHeight; };

function keep() {
  try {
    localStorage.setItem(storageKey, JSON.stringify(messages));
  } catch {
    // The browser's storage is full: the conversation is not kept.
  }
}

// ---- Answers ----

/** Without what the page noted for itself. */
function asRequest({ role, content, reasoning_content, tool_calls, tool_call_id }) {
  return { role, content, ...(reasoning_content && { reasoning_content }), ...(tool_calls && { tool_calls }),
    ...(tool_call_id && { tool_call_id }) };
}

function add(message, delta, now) {
  const thought = delta.reasoning_content ?? '';
  if (thought) {
    message.thought_begin ??= now;
    message.reasoning_content = (message.reasoning_content ?? '') + thought;
  } else if (message.thought_begin !== undefined && (delta.content || delta.tool_calls)) {
    message.thought_ms ??= now - message.thought_begin;
  }
  message.content += delta.content ?? '';
  for (const { index, ...part } of delta.tool_calls ?? []) {
    message.tool_calls ??= [];
    const call = (message.tool_calls[index] ??= { id: part.id, type: 'function', function: { name: '', arguments: '' } });
    call.function.name += part.function?.name ?? '';
    call.function.arguments += part.function?.arguments ?? '';
  }
  return Boolean(thought || delta.content || delta.tool_calls);
}

async function answer() {
  const message = { role: 'assistant', content: '' };
  const view = new AnswerView(message, { retry, answerCalls });
  const begin = performance.now();
  let chunks = 0;
  stop = new AbortController();
  document.body.classList.add('busy');
  at('send').setAttribute('aria-label', 'Stop');
  conversation.append(view.root);
  scrollToEnd();
  try {
    const system = systemMessage();
    const body = {
      model: modelList.value || undefined,
      messages: [...(system ? [{ role: 'system', content: system }] : []), ...messages.map(asRequest)],
      ...requestFields(),
    };
    for await (const chunk of chat(body, apiKey(), stop.signal)) {
      const now = performance.now() - begin;
      if (chunk.usage) message.usage = chunk.usage;
      const choice = chunk.choices[0];
      if (!choice) continue;
      const follows = isAtEnd();
      if (add(message, choice.delta, now)) {
        message.times ??= { first: now };
        message.times.end = now;
        say(`Answering: ${++chunks} pieces, ${(now / 1000).toFixed(1)} s`);
      }
      if (choice.finish_reason) message.finish = choice.finish_reason;
      view.grow();
      if (follows) requestAnimationFrame(scrollToEnd);
    }
  } catch (error) {
    if (error.name !== 'AbortError') return fail(view, message, error);
    message.finish = 'stopped';
    delete message.tool_calls;
  } finally {
    stop = null;
    document.body.classList.remove('busy');
    at('send').setAttribute('aria-label', 'Send');
  }
  message.thought_ms ??= message.thought_begin === undefined ? undefined : message.times.end - message.thought_begin;
  messages.push(message);
  keep();
  const follows = isAtEnd();
  redraw();
  if (follows) scrollToEnd();
  const used = (message.usage?.prompt_tokens ?? 0) + (message.usage?.completion_tokens ?? 0);
  const room = contextOf[modelList.value];
  say(used && room ? `${used} of ${room} tokens of the context are used.` : 'Done.');
}

function fail(view, message, error) {
  view.root.remove();
  conversation.append(showError(error.message));
  scrollToEnd();
  say('');
  if (error instanceof FieldError) showSettings(true);
  if (error.field) markField(error.field, error.message);
  if (error.status === 401) {
    showSettings(true);
    document.forms.fields.elements.key.focus();
  }
}

function retry() {
  while (messages.length && messages.at(-1).role === 'assistant') messages.pop();
  redraw();
  answer();
}

function answerCalls(results) {
  const { tool_calls: calls } = messages.at(-1);
  calls.forEach((call, i) => messages.push({ role: 'tool', tool_call_id: call.id, content: results[i] }));
  redraw();
  answer();
}

// ---- The conversation as elements ----

function redraw() {
  conversation.replaceChildren(...messages.map((message, i) => {
    if (message.role === 'user') return showUser(message, () => edit(i));
    if (message.role === 'tool') return showResult(message);
    const view = new AnswerView(message, { retry, answerCalls });
    view.end(i === messages.length - 1);
    return view.root;
  }));
}

function edit(index) {
  if (stop) return;
  prompt.value = messages[index].content;
  messages.length = index;
  keep();
  redraw();
  fit();
  prompt.focus();
}

/** The field is as high as its text. */
function fit() {
  prompt.style.height = 'auto';
  prompt.style.height = `${prompt.scrollHeight}px`;
}

function submit() {
  if (stop) return stop.abort();
  const text = prompt.value.trim();
  if (!text) return;
  // A refused message is still at the end: the new message replaces it.
  if (messages.at(-1)?.role === 'user') messages.pop();
  messages.push({ role: 'user', content: text });
  prompt.value = '';
  fit();
  keep();
  redraw();
  answer();
}

function newChat() {
  stop?.abort();
  messages = [];
  keep();
  redraw();
  say('A new chat.');
  prompt.focus();
}

// ---- Surroundings ----

function showSettings(isShown) {
  at('settings').hidden = !isShown;
  at('show-settings').setAttribute('aria-expanded', String(isShown));
}

function hideSettings() {
  showSettings(false);
  at('show-settings').focus();
}

function saveChat() {
  const link = document.createElement('a');
  const text = JSON.stringify(messages.map(asRequest), null, 2);
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = 'chat.json';
  link.click();
  URL.revokeObjectURL(link.href);
}

const themes = ['automatic', 'light', 'dark'];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  at('theme').setAttribute('aria-label', `Colours: ${theme}`);
  at('theme').title = `Colours: ${theme}`;
  localStorage.setItem('tenon.theme', theme);
}

async function showModels() {
  try {
    const models = await listModels(apiKey());
    contextOf = Object.fromEntries(models.map(({ id, max_model_len: length }) => [id, length]));
    const chosen = modelList.value || localStorage.getItem('tenon.model');
    modelList.replaceChildren(...models.map(({ id }) => new Option(id, id, false, id === chosen)));
    return true;
  } catch (error) {
    conversation.append(showError(error.message));
    if (error.status === 401) showSettings(true);
    return false;
  }
}

function onKeyDown(event) {
  if (event.key === 'Escape') {
    if (stop) stop.abort();
    else if (!at('settings').hidden) hideSettings();
  }
  if (!event.altKey || event.ctrlKey || event.metaKey) return;
  const action = { KeyN: newChat, KeyS: () => at('show-settings').click() }[event.code];
  if (!action) return;
  event.preventDefault();
  action();
}

at('composer').addEventListener('submit', (event) => {
  event.preventDefault();
  submit();
});
prompt.addEventListener('input', fit);
prompt.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!stop) submit();
});
at('new-chat').onclick = newChat;
at('theme').onclick = () => setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % 3]);
at('show-settings').onclick = () => {
  showSettings(at('settings').hidden);
  if (!at('settings').hidden) at('settings').querySelector('textarea').focus();
};
at('hide-settings').onclick = hideSettings;
at('reset').onclick = resetSettings;
at('save-chat').onclick = saveChat;
modelList.onchange = () => localStorage.setItem('tenon.model', modelList.value);
document.addEventListener('keydown', onKeyDown);

setTheme(localStorage.getItem('tenon.theme') ?? 'automatic');
openSettings(() => { redraw(); showModels(); });
try {
  messages = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
} catch {
  messages = [];
}
redraw();
scrollToEnd();
showModels();
prompt.focus();
