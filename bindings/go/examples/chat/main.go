// A conversation in the terminal: chat MODEL. Ctrl-C ends an answer, Ctrl-D the conversation.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	"owner.invalid/tenon"
)

func main() {
	model, err := tenon.OpenModel(os.Args[1], nil)
	check(err)
	session, err := tenon.NewSession(model, nil)
	check(err)
	chat, err := tenon.NewChat(model, nil)
	check(err)
	var conversation tenon.Conversation
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println() {
		conversation.Messages = append(conversation.Messages, tenon.Message{Role: "user", Content: lines.Text()})
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		answer, err := chat.Answer(ctx, session, conversation, &tenon.GenerateOptions{MaxTokens: 256},
			func(delta tenon.ChatDelta) { fmt.Print(delta.Text) })
		stop()
		if errors.Is(err, context.Canceled) {
			conversation.Messages = conversation.Messages[:len(conversation.Messages)-1]
			continue
		}
		check(err)
		conversation.Messages = append(conversation.Messages, answer)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
