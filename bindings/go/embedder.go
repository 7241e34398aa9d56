package tenon

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"
)

// TextRole is the role of texts, TextPlain to TextDocument.
type TextRole int32

// Embedder turns texts into rows of numbers. Any goroutine.
type Embedder struct {
	object
	cancels atomic.Uint64 // number of Cancel calls
}

// NewEmbedder makes an embedder, for an encoder or a model opened with the option Embeddings.
func NewEmbedder(model *Model, options *EmbedderOptions) (*Embedder, error) {
	handle, err := withOptions(options, func(options *handle) (*handle, error) {
		return embedderCreate(model.handle, options)
	})
	if err != nil {
		return nil, err
	}
	handle.keep = model.kept
	return net(&Embedder{object: object{handle}}, handle), nil
}

// Info returns pooling, dimensions and limits.
func (e *Embedder) Info() (EmbedderInfo, error) { return embedderGetInfo(e.handle) }

// Dimensions is the size of a row.
func (e *Embedder) Dimensions() int { return embedderDimensions(e.handle) }

// Label is the name of a label of the classifier: index < Info().NumLabels.
func (e *Embedder) Label(index int) (string, error) { return embedderLabel(e.handle, index) }

// Embeddings are rows, one after another in one slice.
type Embeddings struct {
	Values     []float32 // [rows, Dimensions]
	Dimensions int
	Counts     []int // [texts] rows per text; 1 unless the pooling is none
}

// Len is the number of rows.
func (e *Embeddings) Len() int {
	if e.Dimensions == 0 {
		return 0
	}
	return len(e.Values) / e.Dimensions
}

// Row is part of Values.
func (e *Embeddings) Row(index int) []float32 {
	return e.Values[index*e.Dimensions : (index+1)*e.Dimensions : (index+1)*e.Dimensions]
}

// Embed returns the rows of texts; role chooses their prefix.
func (e *Embedder) Embed(ctx context.Context, texts []string, role TextRole) (*Embeddings, error) {
	return e.embed(ctx, newBatch(texts, role))
}

// EmbedTokens returns the rows of texts given as tokens.
func (e *Embedder) EmbedTokens(ctx context.Context, texts [][]Token) (*Embeddings, error) {
	return e.embed(ctx, newBatch(texts, TextPlain))
}

func (e *Embedder) embed(ctx context.Context, batch *batch) (*Embeddings, error) {
	defer batch.pinner.Unpin()
	dimensions := e.Dimensions()
	values, err := e.call(ctx, batch, fnEmbedderEmbed, func(embedder uintptr, values []float32, needed *uintptr) int32 {
		return callEmbedderEmbed(embedder, unsafe.Pointer(batch.c), slicePointer(values), uintptr(len(values)),
			unsafe.Pointer(needed))
	})
	if err != nil {
		return nil, err
	}
	return &Embeddings{values, dimensions, batch.filled()}, nil
}

// Rank scores how well each document answers the query; more is better.
func (e *Embedder) Rank(ctx context.Context, query string, documents []string) ([]float32, error) {
	batch := newBatch(documents, TextDocument)
	defer batch.pinner.Unpin()
	return e.call(ctx, batch, fnEmbedderRank, func(embedder uintptr, scores []float32, needed *uintptr) int32 {
		return callEmbedderRank(embedder, textPointer(query), uintptr(len(query)), unsafe.Pointer(batch.c),
			slicePointer(scores), uintptr(len(scores)), unsafe.Pointer(needed))
	})
}

// call fills a buffer of the size that the library needs. The library cancels all calls on an
// embedder at once, so calls whose context has not ended begin again: they give the same bits.
func (e *Embedder) call(ctx context.Context, batch *batch, function int,
	get func(embedder uintptr, values []float32, needed *uintptr) int32) ([]float32, error) {
	defer runtime.KeepAlive(e)
	stop := context.AfterFunc(ctx, func() { _ = embedderCancel(e.handle) })
	defer stop()
	var values []float32
	for {
		cancels := e.cancels.Load()
		needed, err := e.once(ctx, batch, function, values, get)
		switch {
		case errors.Is(err, ErrCancelled) && ctx.Err() == nil && cancels == e.cancels.Load() && e.handle.isLive():
			continue
		case err != nil:
			return nil, ofContext(ctx, err)
		case needed <= uintptr(len(values)):
			return values[:needed], nil
		}
		values = make([]float32, needed)
	}
}

func (e *Embedder) once(ctx context.Context, batch *batch, function int, values []float32,
	get func(embedder uintptr, values []float32, needed *uintptr) int32) (uintptr, error) {
	if ctx.Err() != nil {
		return 0, ended(ctx)
	}
	batch.c.timeoutSeconds = 0
	if deadline, has := ctx.Deadline(); has {
		batch.c.timeoutSeconds = max(time.Until(deadline), time.Nanosecond).Seconds()
	}
	c := begin(function)
	defer c.end()
	embedder := c.use(e.handle, kindEmbedder, 0)
	if c.err != nil {
		return 0, c.err
	}
	needed := new(uintptr)
	err := c.done(get(embedder, values, needed))
	return *needed, err
}

// Cancel ends running calls with ErrCancelled.
func (e *Embedder) Cancel() error {
	e.cancels.Add(1)
	return embedderCancel(e.handle)
}

// batch is a tenon_embedder_batch whose memory is pinned until Unpin.
type batch struct {
	items
	c *cEmbedderBatch // a separate object: cgo checks all of the one that it gets
}

func newBatch[T ~string | ~[]Token](texts []T, role TextRole) *batch {
	b := &batch{}
	pinItems(&b.items, texts)
	b.c = &cEmbedderBatch{role: int32(role), count: b.count, texts: b.texts, lengths: b.lengths, tokens: b.tokens,
		numTokens: b.numTokens, numRows: slicePointer(b.counts)}
	b.c.structSize = uint32(unsafe.Sizeof(*b.c))
	return b
}
