// Settings, kept in the browser and converted to the fields of a request. The API key is kept until
// the tab closes.

const form = document.getElementById('fields');
const storageKey = 'tenon.settings';
const keyStorageKey = 'tenon.key';
const numberFields = ['temperature', 'top_p', 'top_k', 'min_p', 'presence_penalty', 'frequency_penalty', 'seed', 'max_tokens'];

/** A field of the form that says something wrong. */
export class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

/** Names of a request's fields, where the form has another one. */
const formNames = { response_format: 'schema' };

/** path: of a field of the form, or of a request: "tools[0].function". */
export function markField(path, message) {
  const first = path.split(/[.[]/)[0];
  const field = form.elements[formNames[first] ?? first];
  if (!field) return;
  field.setAttribute('aria-invalid', 'true');
  let note = field.parentElement.querySelector('.field-error');
  if (!note) {
    note = document.createElement('span');
    note.className = 'field-error';
    field.after(note);
  }
  note.textContent = message;
}

function clearMarks() {
  for (const field of form.querySelectorAll('[aria-invalid]')) field.removeAttribute('aria-invalid');
  for (const note of form.querySelectorAll('.field-error')) note.remove();
}

const value = (name) => form.elements[name].value.trim();

function json(name, what, fits) {
  if (!value(name)) return undefined;
  try {
    const read = JSON.parse(value(name));
    if (fits(read)) return read;
  } catch {
    // as any other wrong text
  }
  throw new FieldError(name, `This is not ${what}.`);
}

export const apiKey = () => form.elements.key.value;
export const systemMessage = () => value('system');

/** What the settings add to a request. Throws FieldError. */
export function requestFields() {
  clearMarks();
  const fields = {};
  for (const name of numberFields) {
    if (!form.elements[name].validity.valid) throw new FieldError(name, form.elements[name].validationMessage);
    if (value(name) !== '') fields[name] = Number(value(name));
  }
  const stops = form.elements.stop.value.split('\n').filter((line) => line !== '');
  if (stops.length) fields.stop = stops;
  if (value('reasoning_effort')) fields.reasoning_effort = value('reasoning_effort');
  const schema = json('schema', 'a JSON Schema', (read) => typeof read === 'object' && read !== null);
  if (schema) fields.response_format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } };
  const tools = json('tools', 'a list of functions in JSON', Array.isArray);
  if (tools?.length) fields.tools = tools.map((tool) => (tool.function ? tool : { type: 'function', function: tool }));
  return fields;
}

function keep() {
  const values = Object.fromEntries(new FormData(form));
  sessionStorage.setItem(keyStorageKey, values.key);
  delete values.key;
  localStorage.setItem(storageKey, JSON.stringify(values));
}

/** onKey: called when another key was given. */
export function openSettings(onKey) {
  const kept = { ...JSON.parse(localStorage.getItem(storageKey) ?? '{}'), key: sessionStorage.getItem(keyStorageKey) ?? '' };
  for (const [name, text] of Object.entries(kept)) {
    if (form.elements[name]) form.elements[name].value = text;
  }
  form.addEventListener('input', keep);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.elements.key.addEventListener('change', onKey);
}

export function resetSettings() {
  const key = form.elements.key.value;
  form.reset();
  form.elements.key.value = key;
  clearMarks();
  keep();
}
