package tenon

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What scores are is in the scenarios; here, how they end.

func TestAScoreEndsWithItsContext(t *testing.T) {
	session := openSession(t)
	defer session.Close()
	if err := session.Append("Once upon a time"); err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 2000)
	for i := range texts {
		texts[i] = strings.Repeat(strconv.Itoa(i)+" ", 20) // equal beginnings are computed once
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := session.Score(ctx, texts, 0); !errors.Is(err, ErrCancelled) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := session.Score(ctx, texts, 0); !errors.Is(err, ErrDeadline) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("late: %v", err)
	}
	// Wherever a cancel finds it, it ends that call and none after it.
	for range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Millisecond, cancel)
		_, _ = session.Score(ctx, texts[:1], 0)
		cancel()
		if _, err := session.Score(context.Background(), texts[:1], 0); err != nil {
			t.Fatalf("the next call: %v", err)
		}
	}
	rows, err := session.Score(context.Background(), texts[:2], 0)
	if err != nil || len(rows) != 2 || len(rows[0]) == 0 {
		t.Errorf("it does not go on: %v %v", rows, err)
	}
}
