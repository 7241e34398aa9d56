package tenon

import (
	"context"
	"unsafe"
)

// WithLogits calls use with the logits of the next token, [vocabulary], after computing queued
// tokens. They are the library's own memory, without a copy, and valid until use returns; the
// session refuses other calls until then.
func (s *Session) WithLogits(ctx context.Context, use func(logits []float32) error) error {
	if err := s.Prefill(ctx, nil); err != nil {
		return err
	}
	return lend(s.handle, fnSessionLogits, callSessionLogits, use)
}

// WithDrawnLogits calls use with the logits that the last token of NextPiece was drawn from, like
// WithLogits.
func (s *Session) WithDrawnLogits(use func(logits []float32) error) error {
	return lend(s.handle, fnSessionDrawnLogits, callSessionDrawnLogits, use)
}

// Logits returns a copy of the logits of the next token, [vocabulary].
func (s *Session) Logits(ctx context.Context) ([]float32, error) {
	var copied []float32
	err := s.WithLogits(ctx, func(logits []float32) error {
		copied = append(copied, logits...)
		return nil
	})
	return copied, err
}

func lend(session *handle, function int, get func(session uintptr, logits, count unsafe.Pointer) int32,
	use func(logits []float32) error) error {
	c := begin(function)
	defer c.end()
	pointer := c.use(session, kindSession, 0)
	if c.err != nil {
		return c.err
	}
	var logits unsafe.Pointer
	var count uintptr
	if err := c.done(get(pointer, unsafe.Pointer(&logits), unsafe.Pointer(&count))); err != nil {
		return err
	}
	return use(unsafe.Slice((*float32)(logits), count))
}

// LogprobsOf returns log-probabilities under logits [vocabulary]: those of tokens, and the top
// likeliest.
func LogprobsOf(logits []float32, tokens []Token, top int) ([]float32, []TokenLogprob, error) {
	ofTokens, topTokens, topValues, err := logprobs(logits, tokens, top)
	if err != nil {
		return nil, nil, err
	}
	likeliest := make([]TokenLogprob, len(topTokens))
	for i := range likeliest {
		likeliest[i] = TokenLogprob{topTokens[i], topValues[i]}
	}
	return ofTokens, likeliest, nil
}
