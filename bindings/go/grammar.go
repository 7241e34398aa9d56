package tenon

import "encoding/json"

// Grammar says which texts may be generated. Any goroutine.
type Grammar struct {
	object
}

// NewGrammar compiles a grammar; kind: GrammarJSONSchema, GrammarGBNF, GrammarRegex, GrammarChoices,
// GrammarLark.
func NewGrammar(kind int32, text string) (*Grammar, error) {
	return newGrammar(grammarCreate(kind, text))
}

func newGrammar(handle *handle, err error) (*Grammar, error) {
	if err != nil || handle == nil {
		return nil, err
	}
	return net(&Grammar{object{handle}}, handle), nil
}

// JSONSchema lets through documents that are valid by a schema: a string or json.RawMessage of JSON, or what
// encoding/json makes one of.
func JSONSchema(schema any) (*Grammar, error) {
	text, err := jsonOf(schema)
	if err != nil {
		return nil, err
	}
	return NewGrammar(GrammarJSONSchema, text)
}

// GBNF lets through texts of the rule root.
func GBNF(rules string) (*Grammar, error) { return NewGrammar(GrammarGBNF, rules) }

// Lark lets through texts of the rule start.
func Lark(rules string) (*Grammar, error) { return NewGrammar(GrammarLark, rules) }

// Regex lets through texts that a regular expression matches as a whole.
func Regex(pattern string) (*Grammar, error) { return NewGrammar(GrammarRegex, pattern) }

// Choices lets through one of several texts.
func Choices(texts ...string) (*Grammar, error) {
	text, err := jsonOf(texts)
	if err != nil {
		return nil, err
	}
	return NewGrammar(GrammarChoices, text)
}

// jsonOf gives JSON as it is, and makes it of anything else.
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

// Accepts says whether it is a complete text of the grammar.
func (g *Grammar) Accepts(text string) (bool, error) {
	accepted, err := grammarAccepts(g.handle, text)
	return accepted != 0, err
}

// Matcher is where a text of a grammar has come to: for loops that draw by themselves. One goroutine at a time.
type Matcher struct {
	object
}

// NewMatcher begins at the beginning of a text.
func (g *Grammar) NewMatcher(tokenizer *Tokenizer) (*Matcher, error) {
	return newMatcher(matcherCreate(g.handle, tokenizer.handle))
}

func newMatcher(handle *handle, err error) (*Matcher, error) {
	if err != nil {
		return nil, err
	}
	return net(&Matcher{object{handle}}, handle), nil
}

// Fork makes a second one at the same place.
func (m *Matcher) Fork() (*Matcher, error) { return newMatcher(matcherFork(m.handle)) }

// Allows says whether the token may come next.
func (m *Matcher) Allows(token Token) (bool, error) {
	allowed, err := matcherAllows(m.handle, token)
	return allowed != 0, err
}

// Mask is all tokens that may come next: token t is bit t % 64 of word t / 64.
func (m *Matcher) Mask() ([]uint64, error) { return matcherMask(m.handle) }

// Accept takes the next token; ErrState for one that cannot follow.
func (m *Matcher) Accept(token Token) error { return matcherAcceptToken(m.handle, token) }

// AcceptText takes text, if the grammar goes on so.
func (m *Matcher) AcceptText(text string) (bool, error) {
	accepted, err := matcherAcceptText(m.handle, text)
	return accepted != 0, err
}

// RollBack takes the last tokens back.
func (m *Matcher) RollBack(tokens int) error { return matcherRollBack(m.handle, tokens) }

// Reset goes back to the beginning.
func (m *Matcher) Reset() error { return matcherReset(m.handle) }

// SetTokenLimit says how many tokens may still come.
func (m *Matcher) SetTokenLimit(tokens uint64) error { return matcherSetTokenLimit(m.handle, tokens) }

// State says whether the text so far is one of the grammar, and whether nothing can follow.
func (m *Matcher) State() (complete, ended bool, err error) {
	isComplete, isEnded, err := matcherState(m.handle)
	return isComplete != 0, isEnded != 0, err
}

// ForcedText is the text that must come next; often empty.
func (m *Matcher) ForcedText() (string, error) { return matcherForcedText(m.handle) }
