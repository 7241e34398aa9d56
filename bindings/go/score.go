package tenon

import (
	"context"
	"errors"
	"sync"
	"time"
	"unsafe"
)

// Score scores texts as continuations of the session's text: for each the log-probabilities of its
// tokens, whose sum is that of the whole. flags: 0 or ParseSpecial. The session's text does not
// change.
func (s *Session) Score(ctx context.Context, texts []string, flags uint32) ([][]float32, error) {
	var given items
	pinItems(&given, texts)
	return s.score(ctx, &given, flags)
}

// ScoreTokens scores texts given as tokens, like Score.
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
	// A cancel that comes after the call has its result would end the next call: it is consumed
	// here.
	isCancelled := false
	defer func() {
		if isCancelled {
			_ = sessionPrefill(s.handle, nil)
		}
	}()
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
	needed := new(uintptr)
	stop := s.cancelWith(ctx)
	err := c.done(callSessionScore(session, unsafe.Pointer(continuations), slicePointer(logprobs), uintptr(len(logprobs)),
		unsafe.Pointer(needed)))
	isCancelled = stop() && !errors.Is(err, ErrCancelled)
	return *needed, err
}

// cancelWith cancels the session's running call when the context is cancelled; the library keeps
// its deadline. stop ends that, and reports whether it had cancelled.
func (s *Session) cancelWith(ctx context.Context) (stop func() bool) {
	var lock sync.Mutex
	isUnderWay, isCancelled := true, false
	end := context.AfterFunc(ctx, func() {
		lock.Lock()
		defer lock.Unlock()
		if isUnderWay && ctx.Err() != context.DeadlineExceeded {
			isCancelled = true
			_ = sessionCancel(s.handle)
		}
	})
	return func() bool {
		end()
		lock.Lock()
		defer lock.Unlock()
		isUnderWay = false
		return isCancelled
	}
}
