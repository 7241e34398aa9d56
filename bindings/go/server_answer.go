package tenon

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// ServerAnswer is a server's answer to Request: an io.ReadCloser of the body. One goroutine at a
// time (ErrState), except Close, from any.
type ServerAnswer struct {
	Status      int    // HTTP status: 200, 400, ...
	ContentType string // "application/json"; for a stream "text/event-stream"
	Header      map[string]string

	handle   *handle
	ctx      context.Context
	told     notice
	mutex    sync.Mutex // held by the reading goroutine
	came     []byte     // received and not yet read
	isLast   bool
	isClosed atomic.Bool
}

// newServerAnswer waits until it has begun.
func newServerAnswer(ctx context.Context, call *handle, told notice) (*ServerAnswer, error) {
	call.whenDestroyed(context.AfterFunc(ctx, func() {
		call.destroy()
		told.tell()
	}))
	a := net(&ServerAnswer{handle: call, ctx: ctx, told: told}, call)
	for a.Status == 0 {
		part, err := a.wait()
		if err != nil {
			a.Close()
			return nil, err
		}
		a.Status, a.ContentType, a.came, a.isLast = int(part.HTTPStatus), part.ContentType, part.Bytes, part.IsLast
		a.Header = map[string]string{}
		for line := range strings.Lines(part.Headers) {
			if name, value, isHeader := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); isHeader {
				a.Header[name] = value
			}
		}
	}
	return a, nil
}

// wait waits for the next part, without a thread.
func (a *ServerAnswer) wait() (serverPart, error) {
	defer runtime.KeepAlive(a)
	for {
		part, err := serverCallWait(a.handle, 0)
		switch {
		case a.ctx.Err() != nil:
			return serverPart{}, ended(a.ctx)
		case a.isClosed.Load():
			return serverPart{}, failed(ErrCancelled, "the answer has been closed")
		case err != nil || part.IsLast || len(part.Bytes) > 0 || part.HTTPStatus != 0 && a.Status == 0:
			return part, err
		}
		<-a.told
	}
}

// next waits for unread bytes; io.EOF after the last.
func (a *ServerAnswer) next() error {
	for len(a.came) == 0 {
		if a.isLast {
			return io.EOF
		}
		part, err := a.wait()
		if err != nil {
			return err
		}
		a.came, a.isLast = part.Bytes, part.IsLast
	}
	return nil
}

func (a *ServerAnswer) take() error {
	if !a.mutex.TryLock() {
		return failed(ErrState, "the answer is in use by another call")
	}
	return nil
}

// Read takes the available bytes of the body, and waits if there are none.
func (a *ServerAnswer) Read(into []byte) (int, error) {
	if err := a.take(); err != nil {
		return 0, err
	}
	defer a.mutex.Unlock()
	if len(into) == 0 {
		return 0, nil
	}
	if err := a.next(); err != nil {
		return 0, err
	}
	count := copy(into, a.came)
	a.came = a.came[count:]
	return count, nil
}

// Parts ranges over the body in parts; for a stream its events, one or more at a time. An error is
// the last pair. Leaving the loop does not end the answer.
func (a *ServerAnswer) Parts() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			part, err := a.part()
			if errors.Is(err, io.EOF) || !yield(part, err) || err != nil {
				return
			}
		}
	}
}

// part returns the received bytes that were not read.
func (a *ServerAnswer) part() ([]byte, error) {
	if err := a.take(); err != nil {
		return nil, err
	}
	defer a.mutex.Unlock()
	err := a.next()
	part := a.came
	a.came = nil
	return part, err
}

// Close cancels the request unless its answer is complete.
func (a *ServerAnswer) Close() error {
	a.isClosed.Store(true)
	a.handle.destroy()
	a.told.tell()
	return nil
}
