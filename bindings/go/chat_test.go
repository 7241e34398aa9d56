package tenon

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestChatsAnswerInOneCall(t *testing.T) {
	model := openDemo(t, nil)
	chat, err := NewChat(model, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	conversation := Conversation{Messages: []Message{{Role: "user", Content: "What is the capital of Norway?"}}}
	greedy := &GenerateOptions{MaxTokens: 24, Sampling: &SamplerOptions{Temperature: Set(0.0)}}
	streamed := ""
	message, err := chat.Answer(ctx, nil, conversation, greedy, func(delta ChatDelta) { streamed += delta.Text })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(message.Content, "Oslo") || streamed != message.Content {
		t.Errorf("%q, %q", message.Content, streamed)
	}
	session, err := NewSession(model, &SessionOptions{Context: Set(128)})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 60; i++ {
		conversation.Messages = append(conversation.Messages, message,
			Message{Role: "user", Content: "What is the capital of Norway?"})
	}
	dropping := *greedy
	if _, err = chat.Answer(ctx, session, conversation, &dropping, nil); !errors.Is(err, ErrLimit) {
		t.Errorf("no limit: %v", err)
	}
	dropping.DropOldest = true
	_, err = chat.Answer(ctx, session, conversation, &dropping, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func TestSeedsAreRandomAndTold(t *testing.T) {
	model := openDemo(t, nil)
	hot := SamplerOptions{Temperature: Set(2.0), TopK: Set(0), TopP: Set(1.0), MinP: Set(0.0)}
	texts := map[string]bool{}
	ask := func(how SamplerOptions) (string, int64) {
		session, err := NewSession(model, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		generation, err := session.Submit(context.Background(), "Once upon a time",
			&GenerateOptions{MaxTokens: 24, IgnoreEnd: true, Sampling: &how})
		if err != nil {
			t.Fatal(err)
		}
		text, err := generation.Text()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := session.Seed()
		if err != nil {
			t.Fatal(err)
		}
		if seed != generation.Seed() {
			t.Errorf("seeds %d and %d", seed, generation.Seed())
		}
		return text, seed
	}
	for i := 0; i < 4; i++ {
		text, seed := ask(hot)
		fixed := hot
		fixed.Seed = Set(int(seed))
		if again, _ := ask(fixed); again != text {
			t.Errorf("%q again is %q", text, again)
		}
		texts[text] = true
	}
	if len(texts) != 4 {
		t.Errorf("%d different texts", len(texts))
	}
}

func TestMissingFilesAreKnownAsSuch(t *testing.T) {
	_, err := OpenModel("/nowhere/none.gguf", nil)
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, ErrIO) {
		t.Errorf("%v", err)
	}
}
