package tenon

import (
	"runtime"
	"unsafe"
)

// items are several texts or lists of tokens for the library: pointers to each with their lengths,
// in memory that is pinned until Unpin.
type items struct {
	count                             uint64
	texts, lengths, tokens, numTokens unsafe.Pointer
	counts                            []uint64 // [count], filled in by the library
	pinner                            runtime.Pinner
}

// pinItems puts all texts, or all tokens, into one block.
func pinItems[T ~string | ~[]Token](to *items, all []T) {
	to.count, to.counts = uint64(len(all)), make([]uint64, len(all))
	if len(all) == 0 {
		return
	}
	places := make([]unsafe.Pointer, len(all))
	lengths := make([]uint64, len(all))
	size, isText := uintptr(1), false
	if _, isText = any(all[0]).(string); !isText {
		size = unsafe.Sizeof(Token(0))
	}
	total := 0
	for i, item := range all {
		lengths[i] = uint64(len(item))
		total += len(item)
	}
	// 32-bit words, so that tokens are aligned; never empty, so that every text has an address.
	block := make([]Token, (uintptr(total)*size+3)/4+1)
	at := unsafe.Pointer(&block[0])
	for i, item := range all {
		places[i] = at
		switch item := any(item).(type) {
		case string:
			copy(unsafe.Slice((*byte)(at), len(item)), item)
		case []Token:
			copy(unsafe.Slice((*Token)(at), len(item)), item)
		}
		at = unsafe.Add(at, uintptr(len(item))*size)
	}
	to.pinner.Pin(&block[0])
	to.pinner.Pin(&places[0])
	to.pinner.Pin(&lengths[0])
	to.pinner.Pin(&to.counts[0])
	if isText {
		to.texts, to.lengths = unsafe.Pointer(&places[0]), unsafe.Pointer(&lengths[0])
	} else {
		to.tokens, to.numTokens = unsafe.Pointer(&places[0]), unsafe.Pointer(&lengths[0])
	}
}

// filled returns the counts that the library wrote.
func (i *items) filled() []int {
	counts := make([]int, len(i.counts))
	for index, count := range i.counts {
		counts[index] = int(count)
	}
	return counts
}
