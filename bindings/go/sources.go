package tenon

import (
	"context"
	"io"
	"os"
	"runtime"
	"unsafe"
)

// Source is the source of a file's bytes.
type Source struct {
	kind         int32
	name         string
	file         *os.File
	offset, size uint64
	data         []byte
	reader       io.ReaderAt
}

// FromPath is a regular file.
func FromPath(path string) Source { return Source{kind: SourcePath, name: path} }

// FromFile is size bytes of an open file from offset on; size 0: to its end. The file may be closed
// after the call.
func FromFile(file *os.File, offset, size uint64) Source {
	return Source{kind: SourceFD, name: file.Name(), file: file, offset: offset, size: size}
}

// FromBytes is memory, which must not change while the model or anything made from it exists.
func FromBytes(data []byte) Source { return Source{kind: SourceMemory, data: data} }

// FromReader is size bytes of a reader, read by several goroutines at once, while the model or
// anything made from it exists.
func FromReader(reader io.ReaderAt, size uint64) Source {
	return Source{kind: SourceReader, reader: reader, size: size}
}

// lasting is memory and functions of Go that the library uses while a model exists.
type lasting struct {
	pinner *runtime.Pinner
	keys   []uintptr
	memory [][]byte
}

func newLasting() *lasting {
	return &lasting{pinner: new(runtime.Pinner)}
}

// release frees them.
func (l *lasting) release() {
	l.pinner.Unpin()
	for _, key := range l.keys {
		forget(key)
	}
}

// untilUnreachable frees them when nothing made from the model is left.
func (l *lasting) untilUnreachable() *lasting {
	kept := *l
	runtime.AddCleanup(l, func(kept lasting) { kept.release() }, kept)
	return l
}

func (s *Source) fill(c *cSource, kept *lasting) (*reading, error) {
	*c = cSource{structSize: uint32(unsafe.Sizeof(*c)), kind: s.kind, offset: s.offset, size: s.size}
	if s.name != "" {
		kept.pinner.Pin(unsafe.StringData(s.name))
		c.name, c.nameLength = textPointer(s.name), uint64(len(s.name))
	}
	switch {
	case s.kind == SourceFD:
		c.fd = int32(s.file.Fd())
	case s.kind == SourceMemory && len(s.data) > 0:
		kept.pinner.Pin(&s.data[0])
		kept.memory = append(kept.memory, s.data)
		c.data, c.size = unsafe.Pointer(&s.data[0]), uint64(len(s.data))
	case s.kind == SourceMemory:
		return nil, failed(ErrFormat, "the source is empty")
	case s.kind == SourceReader:
		from := &reading{reader: s.reader}
		c.read, c.user, c.concurrent = addressRead, remember(from), 1
		kept.keys = append(kept.keys, c.user)
		return from, nil
	case s.kind == 0:
		return nil, failed(ErrArgument, "a source comes from FromPath, FromFile, FromBytes or FromReader")
	}
	return nil, nil
}

// ofReaders adds the readers' errors as causes of an error of the library.
func ofReaders(err error, from []*reading) error {
	for _, reader := range from {
		if known, isKnown := err.(*Error); isKnown && reader != nil && reader.err != nil {
			return &Error{Code: known.Code, Message: known.Message + ": " + reader.err.Error(), cause: reader.err}
		}
	}
	return err
}

// modelLoad calls tenon_model_load. Every handle made from the model keeps its first result.
func modelLoad(ctx context.Context, sources []Source, options *handle, callbacks *LoadCallbacks) (*lasting, *handle,
	error) {
	c := begin(fnModelLoad)
	defer c.end()
	optionsPointer := c.use(options, kindOptions, nullable)
	if c.err != nil {
		return nil, nil, c.err
	}
	kept := newLasting()
	user := &loading{log: callbacks.Log}
	user.function = func(fraction float64) error {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if callbacks.Progress != nil {
			return callbacks.Progress(fraction)
		}
		return nil
	}
	c.kept, c.key = &user.callback, remember(user)
	filled := make([]cSource, len(sources))
	pointers := make([]unsafe.Pointer, len(sources))
	readers := make([]*reading, len(sources))
	err := error(nil)
	for i := range sources {
		if readers[i], err = sources[i].fill(&filled[i], kept); err != nil {
			kept.release()
			return nil, nil, err
		}
		pointers[i] = unsafe.Pointer(&filled[i])
	}
	if len(filled) > 0 {
		kept.pinner.Pin(&filled[0])
	}
	given := cCallbacks{structSize: uint32(unsafe.Sizeof(cCallbacks{})), logLevel: uint32(callbacks.LogLevel),
		user: c.key, progress: addressProgress}
	if callbacks.Log != nil {
		given.log = addressLog
		kept.keys = append(kept.keys, c.key)
	}
	var model uintptr
	status := callModelLoad(slicePointer(pointers), uintptr(len(pointers)), optionsPointer, unsafe.Pointer(&given),
		unsafe.Pointer(&model))
	if callbacks.Log != nil && status == OK {
		c.kept = nil // the log needs its key while the model exists
	}
	if c.kept != nil && c.kept.hasPanicked {
		kept.release()
	}
	if err := c.done(status); err != nil {
		kept.release()
		return nil, nil, ofReaders(err, readers)
	}
	return kept.untilUnreachable(), newHandle(kindModel, model, nil), nil
}

// tokenizerLoad calls tenon_tokenizer_load, after which the source is not used.
func tokenizerLoad(source Source) (*handle, error) {
	c := begin(fnTokenizerLoad)
	defer c.end()
	if c.err != nil {
		return nil, c.err
	}
	kept := newLasting()
	defer kept.release()
	filled := new(cSource)
	reader, err := source.fill(filled, kept)
	if err != nil {
		return nil, err
	}
	var tokenizer uintptr
	if err := c.done(callTokenizerLoad(unsafe.Pointer(filled), unsafe.Pointer(&tokenizer))); err != nil {
		return nil, ofReaders(err, []*reading{reader})
	}
	return newHandle(kindTokenizer, tokenizer, nil), nil
}
