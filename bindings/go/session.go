package tenon

import (
	"context"
)

// Session is a text of tokens and what a model computed for it. One goroutine at a time (ErrState),
// except Cancel and Close, from any.
type Session struct {
	object
	engine *Engine
}

// NewSession opens a session with an empty text, in the model's own engine.
func NewSession(model *Model, options *SessionOptions) (*Session, error) {
	engine, err := model.Engine()
	if err != nil {
		return nil, err
	}
	return engine.NewSession(options)
}

func newSession(handle *handle, engine *Engine) *Session {
	handle.keep = engine.model.kept
	return net(&Session{object{handle}, engine}, handle)
}

// Model is the model of the text.
func (s *Session) Model() *Model { return s.engine.model }

// special is the flag for a begin token: as wanted, by default if the session is empty.
func (s *Session) special(wanted Opt[bool]) (uint32, error) {
	add := wanted.value
	if !wanted.isSet {
		position, err := s.Position()
		if err != nil {
			return 0, err
		}
		add = position == 0
	}
	if add {
		return AddSpecial, nil
	}
	return 0, nil
}

// Append adds text, which is computed with the next token. A begin token comes before it if the
// session is empty.
func (s *Session) Append(text string) error {
	flags, err := s.special(Opt[bool]{})
	if err != nil {
		return err
	}
	return s.AppendText(text, flags)
}

// AppendText adds text. flags: AddSpecial, ParseSpecial.
func (s *Session) AppendText(text string, flags uint32) error {
	return sessionAppendText(s.handle, text, flags)
}

// AppendTokens adds tokens.
func (s *Session) AppendTokens(tokens []Token) error { return sessionAppendTokens(s.handle, tokens) }

// SetSource is for encoder-decoders (T5) only: it sets the source text that the encoder reads.
func (s *Session) SetSource(text string) error {
	return sessionSetSourceText(s.handle, text, AddSpecial)
}

// SetSourceTokens sets the source as tokens.
func (s *Session) SetSourceTokens(tokens []Token) error {
	return sessionSetSourceTokens(s.handle, tokens)
}

// NextPiece generates one token: a step of Generate, for loops of your own. sampler nil: the
// defaults.
func (s *Session) NextPiece(sampler *Sampler) (Piece, error) {
	return sessionNext(s.handle, sampler.orNil())
}

// BestOf continues the text count times, and returns the answers with the index of the likeliest,
// with which the text continues. maxTokens 0: as many as the session holds. ctx is checked between
// two answers.
func (s *Session) BestOf(ctx context.Context, count int, sampler *Sampler, maxTokens int) ([]Candidate, int, error) {
	var candidates []Candidate
	best, err := sessionBestOf(s.handle, sampler.orNil(), uint32(count), uint64(maxTokens),
		func(candidate Candidate) error {
			candidates = append(candidates, candidate)
			if ctx.Err() != nil {
				return ended(ctx)
			}
			return nil
		})
	return candidates, int(best), err
}

// Prefill computes queued tokens. progress, which may be nil, gets 0 to 1; an error of it ends the
// call and is returned, and computed tokens stay computed.
func (s *Session) Prefill(ctx context.Context, progress func(fraction float64) error) error {
	return sessionPrefill(s.handle, func(fraction float64) error {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if progress != nil {
			return progress(fraction)
		}
		return nil
	})
}

// Evaluate appends tokens and calls use after each with its row and logits, [vocabulary], which are
// valid only during that call. An error of use ends Evaluate and is returned.
func (s *Session) Evaluate(ctx context.Context, tokens []Token, use func(row int, logits []float32) error) error {
	return sessionEvaluate(s.handle, tokens, func(row uint64, logits []float32) error {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		return use(int(row), logits)
	})
}

// Fork makes a second session with this text, sharing what was computed.
func (s *Session) Fork() (*Session, error) {
	handle, err := sessionFork(s.handle)
	if err != nil {
		return nil, err
	}
	return newSession(handle, s.engine), nil
}

// Rewind forgets everything from position on.
func (s *Session) Rewind(position uint64) error { return sessionRewind(s.handle, position) }

// Save writes text and cache to a file.
func (s *Session) Save(path string) error { return sessionSave(s.handle, path) }

// SaveBytes returns text and cache as bytes.
func (s *Session) SaveBytes() ([]byte, error) { return sessionSaveBuffer(s.handle) }

// Restore replaces the text by a session saved in a file; flags: 0 or RestoreText.
func (s *Session) Restore(path string, flags uint32) error {
	return sessionRestore(s.handle, path, flags)
}

// RestoreBytes restores the result of SaveBytes.
func (s *Session) RestoreBytes(saved []byte, flags uint32) error {
	return sessionRestoreBuffer(s.handle, saved, flags)
}

// Position is the number of tokens in the text.
func (s *Session) Position() (uint64, error) { return sessionPosition(s.handle) }

// Context is the most tokens of the text.
func (s *Session) Context() (uint64, error) { return sessionContext(s.handle) }

// Tokens are the tokens of the text.
func (s *Session) Tokens() ([]Token, error) { return sessionTokens(s.handle) }

// Seed is the seed of the latest answer: as SamplerOptions.Seed it gives that answer again.
func (s *Session) Seed() (int64, error) { return sessionSeed(s.handle) }

// TakeHeld hands out text held back because it may begin a stop text: for loops of NextPiece that
// end early.
func (s *Session) TakeHeld() (string, error) { return sessionTakeHeld(s.handle) }

// Cancel ends the running call, or else the next one, with ErrCancelled.
func (s *Session) Cancel() error { return sessionCancel(s.handle) }

// Stats returns tokens and seconds so far.
func (s *Session) Stats() (SessionStats, error) { return sessionGetStats(s.handle) }

// Close ends the session's running calls and frees it.
func (s *Session) Close() error {
	if s.handle.isLive() {
		_ = sessionCancel(s.handle)
	}
	return s.object.Close()
}
