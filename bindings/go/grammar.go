package tenon

import "encoding/json"

// Grammar is a compiled grammar: the texts that may be generated. Any goroutine.
type Grammar struct {
	object
}

// NewGrammar compiles a grammar; kind: GrammarJSONSchema, GrammarGBNF, GrammarRegex,
// GrammarChoices, GrammarLark.
func NewGrammar(kind int32, text string) (*Grammar, error) {
	return newGrammar(grammarCreate(kind, text))
}

func newGrammar(handle *handle, err error) (*Grammar, error) {
	if err != nil || handle == nil {
		return nil, err
	}
	return net(&Grammar{object{handle}}, handle), nil
}

// JSONSchema allows documents that are valid by a schema: a string or json.RawMessage of JSON, or a
// value that encoding/json encodes to one.
func JSONSchema(schema any) (*Grammar, error) {
	text, err := jsonOf(schema)
	if err != nil {
		return nil, err
	}
	return NewGrammar(GrammarJSONSchema, text)
}

// GBNF allows texts of the rule root.
func GBNF(rules string) (*Grammar, error) { return NewGrammar(GrammarGBNF, rules) }

// Lark allows texts of the rule start.
func Lark(rules string) (*Grammar, error) { return NewGrammar(GrammarLark, rules) }

// Regex allows texts that a regular expression matches as a whole.
func Regex(pattern string) (*Grammar, error) { return NewGrammar(GrammarRegex, pattern) }

// Choices allows one of several texts.
func Choices(texts ...string) (*Grammar, error) {
	text, err := jsonOf(texts)
	if err != nil {
		return nil, err
	}
	return NewGrammar(GrammarChoices, text)
}

// jsonOf returns JSON unchanged, and encodes anything else.
func jsonOf(value any) (string, error) {
	if text, isText := value.(string); isText {
		return text, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", &Error{Code: ErrArgument, Message: err.Error(), cause: err}
	}
	return string(text), nil
}

// Accepts reports whether it is a complete text of the grammar.
func (g *Grammar) Accepts(text string) (bool, error) {
	accepted, err := grammarAccepts(g.handle, text)
	return accepted != 0, err
}

// Matcher is a position in a text of a grammar, for loops that draw by themselves. One goroutine at
// a time.
type Matcher struct {
	object
}

// NewMatcher starts at the beginning of a text.
func (g *Grammar) NewMatcher(tokenizer *Tokenizer) (*Matcher, error) {
	return newMatcher(matcherCreate(g.handle, tokenizer.handle))
}

func newMatcher(handle *handle, err error) (*Matcher, error) {
	if err != nil {
		return nil, err
	}
	return net(&Matcher{object{handle}}, handle), nil
}

// Fork makes a second matcher at the same position.
func (m *Matcher) Fork() (*Matcher, error) { return newMatcher(matcherFork(m.handle)) }

// Allows reports whether the token may come next.
func (m *Matcher) Allows(token Token) (bool, error) {
	allowed, err := matcherAllows(m.handle, token)
	return allowed != 0, err
}

// Mask is the mask of all tokens that may come next: token t is bit t % 64 of word t / 64.
func (m *Matcher) Mask() ([]uint64, error) { return matcherMask(m.handle) }

// Accept accepts the next token; ErrState if it cannot follow.
func (m *Matcher) Accept(token Token) error { return matcherAcceptToken(m.handle, token) }

// AcceptText accepts text; false if the grammar does not allow it.
func (m *Matcher) AcceptText(text string) (bool, error) {
	accepted, err := matcherAcceptText(m.handle, text)
	return accepted != 0, err
}

// RollBack takes back the last tokens.
func (m *Matcher) RollBack(tokens int) error { return matcherRollBack(m.handle, tokens) }

// Reset returns to the beginning.
func (m *Matcher) Reset() error { return matcherReset(m.handle) }

// SetTokenLimit sets how many tokens may still come.
func (m *Matcher) SetTokenLimit(tokens uint64) error { return matcherSetTokenLimit(m.handle, tokens) }

// State reports whether the text so far is a text of the grammar, and whether only an end token can
// follow.
func (m *Matcher) State() (complete, ended bool, err error) {
	isComplete, isEnded, err := matcherState(m.handle)
	return isComplete != 0, isEnded != 0, err
}

// ForcedText is the text that must come next; often empty.
func (m *Matcher) ForcedText() (string, error) { return matcherForcedText(m.handle) }
