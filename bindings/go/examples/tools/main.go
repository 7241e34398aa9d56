// A model that calls a function of this program: tools MODEL QUESTION.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"owner.invalid/tenon"
)

var weather = tenon.Tool{Type: "function", Function: tenon.ToolFunction{
	Name: "get_weather", Description: "Weather of a city",
	Parameters: json.RawMessage(`{"type": "object", "required": ["city"],
	  "properties": {"city": {"type": "string", "maxLength": 12}}}`)}}

// The tool. A program of its own would read the arguments and look outside.
func getWeather(arguments string) string {
	fmt.Printf("calling get_weather(%s)\n", arguments)
	return `{"temperature": 21, "condition": "sunny"}`
}

func main() {
	model, err := tenon.OpenModel(os.Args[1], nil)
	check(err)
	session, err := tenon.NewSession(model, nil)
	check(err)
	chat, err := tenon.NewChat(model, nil)
	check(err)
	options := &tenon.GenerateOptions{MaxTokens: 128, Sampling: &tenon.SamplerOptions{Temperature: tenon.Set(0.0)}}
	conversation := tenon.Conversation{Tools: []tenon.Tool{weather}, ToolChoice: "required",
		Messages: []tenon.Message{{Role: "user", Content: os.Args[2]}}}
	answer, err := chat.Answer(context.Background(), session, conversation, options, nil)
	check(err)
	conversation.Messages = append(conversation.Messages, answer)
	for _, call := range answer.ToolCalls {
		conversation.Messages = append(conversation.Messages, tenon.Message{Role: "tool", ToolCallID: call.ID,
			Content: getWeather(call.Function.Arguments)})
	}
	conversation.ToolChoice = "none"
	answer, err = chat.Answer(context.Background(), session, conversation, options, nil)
	check(err)
	fmt.Println(answer.Content)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
