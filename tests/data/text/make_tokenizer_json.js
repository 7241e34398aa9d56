// Records what the published library gives for small tokenizers: node make_tokenizer_json.js writes
// tokenizer_json.json. Needs the npm package "tokenizers" (recorded with 0.23.2).
const fs = require('fs');
const {Tokenizer} = require('tokenizers');

const added = (id, content, options = {}) => ({
  id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true,
  ...options,
});
const index = tokens => Object.fromEntries(tokens.map((token, id) => [token, id]));
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789.,!?\'-_éè中文'.split('');

function bpe(options = {}, extra = []) {
  const merges = [['t', 'h'], ['th', 'e'], ['i', 'n'], ['in', 'g'], ['a', 'n'], ['an', 'd'],
                  ['l', 'l'], ['o', 'o'], ['1', '2'], ['e', 'r'], ...(options.merges || [])];
  const tokens = ['<unk>', ...letters, ...extra, ...merges.map(([a, b]) => a + b)];
  const {merges: ignored, ...rest} = options;
  return {
    type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null,
    end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false,
    vocab: index([...new Set(tokens)]), merges, ...rest,
  };
}

// The byte alphabet of GPT-2.
function byteLetters() {
  const bytes = [];
  for (let b = 0; b < 256; ++b) {
    if ((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174) bytes.push(b);
  }
  const out = new Map(bytes.map(b => [b, String.fromCodePoint(b)]));
  for (let b = 0, n = 0; b < 256; ++b) if (!out.has(b)) out.set(b, String.fromCodePoint(256 + n++));
  return [...out.keys()].sort((a, b) => a - b).map(b => out.get(b));
}
function byteBpe(options = {}) {
  const merges = [['t', 'h'], ['th', 'e'], ['Ġ', 'the'], ['l', 'l'], ['h', 'e'], ['he', 'll'],
                  ['hell', 'o'], ['Ġ', 'hello'], ['Ã', '©'], ['1', '2'], ['Ġ', 'Ġ'], ['o', 'r']];
  return {
    type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: '',
    end_of_word_suffix: '', fuse_unk: false, byte_fallback: false, ignore_merges: false,
    vocab: index([...byteLetters(), ...merges.map(([a, b]) => a + b), 'Ġworld']),
    merges: merges.map(([a, b]) => a + ' ' + b), ...options,
  };
}
const unigram = (options = {}) => ({
  type: 'Unigram', unk_id: 0, byte_fallback: false,
  vocab: [['<unk>', 0], ['▁', -2], ['▁the', -3.5], ['▁he', -4], ['llo', -4.5], ['ll', -5], ['l', -6],
          ['o', -6], ['h', -6.25], ['e', -6], ['t', -6], ['▁hello', -7.5], ['1', -6], ['12', -7],
          ['é', -7], ['a', -5], ['b', -5], ['ab', -9.5], ['▁a', -6], ['.', -4]], ...options,
});
const wordpiece = (options = {}) => ({
  type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##',
  max_input_chars_per_word: 12,
  vocab: index(['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'hello', 'hell', '##o', 'the', '##the', 'h',
                '##e', '##l', '##lo', 'a', '##b', 'e', '.', ',', '!', '\'', 's', '中', '12', '##3',
                'do', 'not', '-', '[', ']', 'unk']), ...options,
});
const regex = text => ({Regex: text});
const llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" +
    ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const byteLevel = {type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false};
const sequence = (...pretokenizers) => ({type: 'Sequence', pretokenizers});
const normalizers = (...list) => ({type: 'Sequence', normalizers: list});
const split = (pattern, behavior, invert = false) => ({type: 'Split', pattern, behavior, invert});
const metaspace = {type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true};
const template = (single, ids) => ({
  type: 'TemplateProcessing', single, pair: [{Sequence: {id: 'A', type_id: 0}},
                                             {Sequence: {id: 'B', type_id: 1}}],
  special_tokens: Object.fromEntries(Object.entries(ids).map(
      ([id, list]) => [id, {id, ids: list, tokens: list.map(() => id)}])),
});
const special = id => ({SpecialToken: {id, type_id: 0}});
const text = {Sequence: {id: 'A', type_id: 0}};
const decoders = (...list) => ({type: 'Sequence', decoders: list});
const llamaDecoder = decoders({type: 'Replace', pattern: {String: '▁'}, content: ' '},
                              {type: 'ByteFallback'}, {type: 'Fuse'},
                              {type: 'Strip', content: ' ', start: 1, stop: 0});
const byteTokens = [...Array(256).keys()].map(
    b => '<0x' + b.toString(16).toUpperCase().padStart(2, '0') + '>');

const cases = {
  'byte level with a pattern': {model: byteBpe({ignore_merges: true}), decoder: byteLevel,
    pre_tokenizer: sequence(split(regex(llama3), 'Isolated'), byteLevel),
    added_tokens: [added(269, '<|end|>'), added(270, '<call>', {special: false})],
    post_processor: {type: 'Sequence', processors: [byteLevel,
        template([special('<|end|>'), text], {'<|end|>': [269]})]}},
  'byte level with its own pattern': {model: byteBpe(), decoder: byteLevel,
    pre_tokenizer: {type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true},
    added_tokens: [added(269, '<mask>', {lstrip: true}), added(270, '<r>', {rstrip: true}),
                   added(271, 'hell', {single_word: true, special: false})]},
  'byte level before digits': {model: byteBpe(), decoder: byteLevel,
    pre_tokenizer: sequence(byteLevel, {type: 'Digits', individual_digits: true})},
  'digits before byte level': {model: byteBpe(), decoder: byteLevel,
    pre_tokenizer: sequence({type: 'Digits', individual_digits: false},
                            {...byteLevel, use_regex: true})},
  'characters with bytes': {
    model: bpe({byte_fallback: true, fuse_unk: true, merges: [['▁', 'the'], ['▁', 'a']]},
               ['▁', ...byteTokens]),
    normalizer: normalizers({type: 'Prepend', prepend: '▁'},
                            {type: 'Replace', pattern: {String: ' '}, content: '▁'}),
    decoder: llamaDecoder,
    added_tokens: [added(1000, '<s>', {normalized: true}), added(1001, '</s>')],
    post_processor: template([special('<s>'), text], {'<s>': [-1]})},
  'characters without bytes': {model: bpe({fuse_unk: true}), decoder: null,
    pre_tokenizer: {type: 'Whitespace'}},
  'characters, unknown ones one by one': {model: bpe(), pre_tokenizer: {type: 'WhitespaceSplit'}},
  'prefix and suffix': {
    model: bpe({end_of_word_suffix: '</w>', merges: [['e', 'r</w>'], ['g', 'o</w>']]},
               [...letters.map(l => l + '</w>')]),
    normalizer: {type: 'Lowercase'}, pre_tokenizer: {type: 'BertPreTokenizer'}},
  'unigram': {model: unigram(), pre_tokenizer: metaspace, decoder: metaspace,
    normalizer: normalizers({type: 'NFKC'}, {type: 'Strip', strip_left: true, strip_right: true}),
    added_tokens: [added(20, '</s>'), added(21, '<x>', {special: false, normalized: true})],
    post_processor: template([text, special('</s>')], {'</s>': [20]})},
  'unigram, first and unsplit': {model: unigram(), decoder: {...metaspace, prepend_scheme: 'first'},
    pre_tokenizer: {...metaspace, prepend_scheme: 'first', split: false},
    added_tokens: [added(20, '</s>')], normalizer: {type: 'Nmt'}},
  'unigram with bytes': {
    model: unigram({byte_fallback: true,
                    vocab: [['<unk>', 0], ['▁', -2], ['a', -3],
                            ...byteTokens.map(b => [b, -9])]}),
    pre_tokenizer: metaspace, decoder: decoders({type: 'ByteFallback'}, metaspace)},
  'wordpiece': {model: wordpiece(), decoder: {type: 'WordPiece', prefix: '##', cleanup: true},
    normalizer: {type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true,
                 strip_accents: null, lowercase: true},
    pre_tokenizer: {type: 'BertPreTokenizer'},
    added_tokens: ['[PAD]', '[UNK]', '[CLS]', '[SEP]'].map((t, id) => added(id, t)),
    post_processor: {type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2]}},
  'wordpiece as it is': {model: wordpiece(), pre_tokenizer: {type: 'Whitespace'},
    normalizer: normalizers({type: 'NFD'}, {type: 'StripAccents'}),
    decoder: {type: 'WordPiece', prefix: '##', cleanup: false},
    post_processor: {type: 'RobertaProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2],
                     trim_offsets: true, add_prefix_space: true}},
  'words': {model: {type: 'WordLevel', unk_token: '<unk>',
                    vocab: index(['<unk>', 'the', 'hello', '12', 'a', 'e', '.', 'é', 'e\u0301'])},
    normalizer: {type: 'NFC'},
    pre_tokenizer: sequence({type: 'WhitespaceSplit'}, {type: 'Punctuation', behavior: 'Isolated'})},
};
for (const behavior of ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext',
                        'Contiguous']) {
  for (const invert of [false, true]) {
    cases[`split ${behavior}${invert ? ' inverted' : ''}`] = {
      model: bpe({ignore_merges: false}, [' ']), decoder: {type: 'Fuse'},
      pre_tokenizer: split(regex('[.,!?]|\\s'), behavior, invert)};
  }
}
cases['punctuation in a row'] = {model: bpe(),
  pre_tokenizer: {type: 'Punctuation', behavior: 'Contiguous'}};
cases['unigram, the unknown token as text'] = {model: unigram()};
cases['unigram with some bytes'] = {
  model: unigram({byte_fallback: true,
                  vocab: [['a', -3], ['▁', -2], ['<unk>', -4], ['th', -3],
                          ...byteTokens.filter((b, i) => i % 3 && i < 240).map(b => [b, -9])]}),
  decoder: {type: 'ByteFallback'}};
cases['tokens that take the spaces of others'] = {model: bpe({fuse_unk: true}),
  added_tokens: [added(50, ' ', {special: false}), added(51, '12', {rstrip: true}),
                 added(52, '\n', {rstrip: true, lstrip: true, special: false})]};
for (const pattern of ['\\w+', '[\\w]+', '\\b', '[[:punct:]]', '\\p{Punct}', '[[:alpha:]]+', '\\p{Lower}+',
                       '[[:upper:]]', '[[:alnum:]]+', '\\W']) {
  cases[`pieces of ${pattern}`] = {model: bpe({byte_fallback: true}, byteTokens),
    pre_tokenizer: sequence(split(regex(pattern), 'Isolated'),
                            {...metaspace, replacement: '_', split: false})};
}
cases['replaced by a pattern'] = {model: bpe({}, [' ']), pre_tokenizer: {type: 'WhitespaceSplit'},
  normalizer: normalizers({type: 'Replace', pattern: regex('[0-9]+'), content: '12'},
                          {type: 'NFKD'}, {type: 'Strip', strip_left: true, strip_right: false})};

const texts = ['', ' ', 'the hello', '  the  hello. ', 'hello,world! 12 1234', 'don\'t do not.',
  'a\u0301é e\u0301 É', '中文 the', '<s>the</s> <mask> a', ' <r>  a', 'hell hello hell', '<|end|>the',
  '<call>a', '[CLS]hello[SEP]', 'thetheunk hello123', 'thinging anders', 'a\n\n\nb\t c\r\n', '▁the ▁a',
  'ﬁ ½ Ⅷ', '😀 a😀😀', 'x <x>a', 'A_b-c', '..!?', 'ab abab', 'q\u0307\u0323', 'the\u200bhello',
  'hellohellohello', 'go her GOER',
  'a<unk>😀b th<unk>', '<unk>', 'the  12  the', 'x½y² aⅧbⓐ ªǅ$+` é▁', 'a\u0345b\u0300c HELL'];

(async () => {
  const out = [];
  for (const [name, parts] of Object.entries(cases)) {
    const json = {version: '1.0', truncation: null, padding: null, added_tokens: [],
                  normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null,
                  ...parts};
    // Added tokens get the ids behind the model's, in order; so do templates.
    const count = Array.isArray(json.model.vocab) ? json.model.vocab.length
                                                  : Object.keys(json.model.vocab).length;
    let next = count;
    for (const token of json.added_tokens) {
      const known = Array.isArray(json.model.vocab) ? -1 : json.model.vocab[token.content] ?? -1;
      token.id = known >= 0 ? known : next++;
    }
    const special_tokens = json.post_processor && json.post_processor.special_tokens;
    for (const [key, token] of Object.entries(special_tokens || {})) {
      const of = json.added_tokens.find(t => t.content === key);
      if (of) token.ids = [of.id];
    }
    const tokenizer = Tokenizer.fromString(JSON.stringify(json));
    const recorded = [];
    for (const t of texts) {
      const plain = (await tokenizer.encode(t, null, {addSpecialTokens: false})).getIds();
      const whole = (await tokenizer.encode(t, null, {addSpecialTokens: true})).getIds();
      // Special tokens that are matched in normalized text are not left out as they should be.
      const shown = json.added_tokens.some(a => a.special && a.normalized && plain.includes(a.id));
      const decoded = shown ? null : await tokenizer.decode(plain, true);
      recorded.push({text: t, plain, whole, decoded});
    }
    out.push({name, tokenizer: json, recorded});
  }
  fs.writeFileSync('tokenizer_json.json', '[\n' + out.map(c => JSON.stringify(c)).join(',\n') + '\n]\n');
})();
