package tenon

import (
	"context"
	"sync"
	"time"
	"unsafe"
)

// Score tells how likely texts are after that of the session: for each the logprobs of its tokens, whose sum is that of
// the whole. flags: 0 or ParseSpecial. The session's text stays as it is.
func (s *Session) Score(ctx context.Context, texts []string, flags uint32) ([][]float32, error) {
	var given items
	pinItems(&given, texts)
	return s.score(ctx, &given, flags)
}

// ScoreTokens is the same for texts that are tokens already.
func (s *Session) ScoreTokens(ctx context.Context, texts [][]Token) ([][]float32, error) {
	var given items
	pinItems(&given, texts)
	return s.score(ctx, &given, 0)
}

func (s *Session) score(ctx context.Context, given *items, flags uint32) ([][]float32, error) {
	defer given.pinner.Unpin()
	c := &cContinuations{flags: flags, count: given.count, texts: given.texts, lengths: given.lengths,
		tokens: given.tokens, numTokens: given.numTokens, numLogprobs: slicePointer(given.counts)}
	c.structSize = uint32(unsafe.Sizeof(*c))
	var logprobs []float32
	for {
		needed, err := s.scoreOnce(ctx, c, logprobs)
		if err != nil {
			return nil, ofContext(ctx, err)
		}
		if needed <= uintptr(len(logprobs)) {
			break
		}
		logprobs = make([]float32, needed)
	}
	rows := make([][]float32, 0, len(given.counts))
	for _, count := range given.counts {
		rows = append(rows, logprobs[:count:count])
		logprobs = logprobs[count:]
	}
	return rows, nil
}

func (s *Session) scoreOnce(ctx context.Context, continuations *cContinuations, logprobs []float32) (uintptr, error) {
	if ctx.Err() != nil {
		return 0, ended(ctx)
	}
	continuations.timeoutSeconds = 0
	if deadline, has := ctx.Deadline(); has {
		continuations.timeoutSeconds = max(time.Until(deadline), time.Nanosecond).Seconds()
	}
	c := begin(fnSessionScore)
	defer c.end()
	session := c.use(s.handle, kindSession, 0)
	if c.err != nil {
		return 0, c.err
	}
	// A cancel that came after the call would end the next one.
	var lock sync.Mutex
	underWay := true
	stop := context.AfterFunc(ctx, func() {
		lock.Lock()
		defer lock.Unlock()
		if underWay {
			_ = sessionCancel(s.handle)
		}
	})
	needed := new(uintptr)
	err := c.done(callSessionScore(session, unsafe.Pointer(continuations), slicePointer(logprobs), uintptr(len(logprobs)),
		unsafe.Pointer(needed)))
	stop()
	lock.Lock()
	underWay = false
	lock.Unlock()
	return *needed, err
}
