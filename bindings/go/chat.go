package tenon

import (
	"context"
	"encoding/json"
)

// Conversation is the input of a chat. Any value that encoding/json encodes alike works, also a
// json.RawMessage; section 14 of tenon.h lists the members.
type Conversation struct {
	Messages   []Message `json:"messages"`
	Tools      []Tool    `json:"tools,omitempty"`
	ToolChoice any       `json:"tool_choice,omitempty"` // "auto", "required", "none", or a tool
	// The schema of the answer: {"type": "json_schema", "json_schema": {"schema": ...}}.
	ResponseFormat any            `json:"response_format,omitempty"`
	Variables      map[string]any `json:"variables,omitempty"` // of the template
}

// Message is a message of a conversation.
type Message struct {
	Role             string     `json:"role"` // system, user, assistant, tool
	Content          string     `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"` // the call that a message of role tool answers
}

// ToolCall is a call of a tool by the model.
type ToolCall struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON
	} `json:"function"`
}

// Tool is a function that the model may call.
type Tool struct {
	Type     string       `json:"type"` // function
	Function ToolFunction `json:"function"`
}

// ToolFunction describes a tool; Parameters is a JSON Schema.
type ToolFunction struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
}

// Chat turns conversations into prompts, by a model's template or yours, and generates answers. Any
// goroutine.
type Chat struct {
	object
	model *Model
}

// NewChat makes a chat; model nil with the option Template, for text only.
func NewChat(model *Model, options *ChatOptions) (*Chat, error) {
	handle, err := withOptions(options, func(options *handle) (*handle, error) {
		if model == nil {
			return chatCreate(nil, options)
		}
		return chatCreate(model.handle, options)
	})
	if err != nil {
		return nil, err
	}
	if model != nil {
		handle.keep = model.kept
	}
	return net(&Chat{object{handle}, model}, handle), nil
}

// Format is the format by which answers are parsed.
func (c *Chat) Format() (string, error) { return chatFormat(c.handle) }

// Render returns the prompt as text.
func (c *Chat) Render(conversation any) (string, error) {
	text, err := jsonOf(conversation)
	if err != nil {
		return "", err
	}
	return chatRender(c.handle, text)
}

// Encode returns the prompt as tokens, for GenerateOptions.Tokens.
func (c *Chat) Encode(conversation any) ([]Token, error) {
	text, err := jsonOf(conversation)
	if err != nil {
		return nil, err
	}
	return chatEncode(c.handle, text)
}

// Grammar returns the grammar of the answer; nil if any answer may come.
func (c *Chat) Grammar(conversation any) (*Grammar, error) {
	text, err := jsonOf(conversation)
	if err != nil {
		return nil, err
	}
	return newGrammar(chatGrammar(c.handle, text))
}

// Constrain attaches the grammar of the answer to a sampler; false if any answer may come.
func (c *Chat) Constrain(conversation any, sampler *Sampler) (bool, error) {
	text, err := jsonOf(conversation)
	if err != nil {
		return false, err
	}
	constrained, err := chatConstrain(c.handle, text, sampler.handle)
	return constrained != 0, err
}

// Reply begins to parse the answer.
func (c *Chat) Reply(conversation any) (*Reply, error) {
	text, err := jsonOf(conversation)
	if err != nil {
		return nil, err
	}
	handle, err := chatReplyCreate(c.handle, text)
	if err != nil {
		return nil, err
	}
	return net(&Reply{object{handle}}, handle), nil
}

// Answer runs one turn: it generates the answer to a conversation in session, constrained as by
// Constrain, and returns it as a message, to be appended to the conversation's. The session's
// computed tokens are reused: keep it for the next turn. session nil: a new one. on, which may be
// nil, gets the deltas. Of options, which may be nil, Sampler, Grammar and Tokens must not be set.
func (c *Chat) Answer(ctx context.Context, session *Session, conversation any, options *GenerateOptions,
	on func(ChatDelta)) (Message, error) {
	given := GenerateOptions{}
	if options != nil {
		given = *options
	}
	if given.Sampler != nil || given.Grammar != nil || given.Tokens != nil {
		return Message{}, failed(ErrArgument, "a chat has its own sampler, grammar and tokens")
	}
	if given.MaxTokens < 0 {
		return Message{}, failed(ErrArgument, "MaxTokens: %d is no number of tokens", given.MaxTokens)
	}
	text, err := jsonOf(conversation)
	if err != nil {
		return Message{}, err
	}
	if session == nil {
		if c.model == nil {
			return Message{}, failed(ErrState, "the chat was made without a model: it has no answers")
		}
		if session, err = NewSession(c.model, nil); err != nil {
			return Message{}, err
		}
		defer session.Close()
	}
	sampler, err := NewSampler(given.Sampling)
	if err != nil {
		return Message{}, err
	}
	defer sampler.Close()
	flags := uint32(0)
	if given.DropOldest {
		flags = DropOldest
	}
	begun, err := chatBegin(c.handle, session.handle, text, sampler.handle, uint64(given.MaxTokens), flags)
	if err != nil {
		return Message{}, err
	}
	reply := net(&Reply{object{begun}}, begun)
	defer reply.Close()
	given.Sampling, given.Sampler = nil, sampler
	hand := func(came []ChatDelta, err error) error {
		for _, delta := range came {
			if on != nil {
				on(delta)
			}
		}
		return err
	}
	for piece, err := range session.Generate(ctx, "", &given) {
		if err == nil {
			err = hand(reply.PushPiece(piece))
		}
		if err != nil {
			return Message{}, err
		}
	}
	if err := hand(reply.Finish()); err != nil {
		return Message{}, err
	}
	return reply.Message()
}

// Reply is a parser of one answer. One goroutine at a time.
type Reply struct {
	object
}

// Push takes the next token and returns the parsed parts.
func (r *Reply) Push(token Token) ([]ChatDelta, error) {
	return deltas(func(on func(ChatDelta)) error { return chatReplyPushToken(r.handle, token, on) })
}

// PushText takes text in any pieces, with the control tokens as text.
func (r *Reply) PushText(text string) ([]ChatDelta, error) {
	return deltas(func(on func(ChatDelta)) error { return chatReplyPushText(r.handle, text, on) })
}

// PushPiece takes a piece of a generation; text held back for a stop text waits.
func (r *Reply) PushPiece(piece Piece) ([]ChatDelta, error) {
	return deltas(func(on func(ChatDelta)) error {
		return chatReplyPushPiece(r.handle, piece.Token, piece.Text, on)
	})
}

// Finish ends the answer.
func (r *Reply) Finish() ([]ChatDelta, error) {
	return deltas(func(on func(ChatDelta)) error { return chatReplyFinish(r.handle, on) })
}

func deltas(push func(on func(ChatDelta)) error) ([]ChatDelta, error) {
	var came []ChatDelta
	err := push(func(delta ChatDelta) { came = append(came, delta) })
	return came, err
}

// MessageJSON is the answer so far, as a message of a conversation.
func (r *Reply) MessageJSON() (json.RawMessage, error) {
	text, err := chatReplyMessage(r.handle)
	return json.RawMessage(text), err
}

// Message is the answer so far, as a struct.
func (r *Reply) Message() (Message, error) {
	var message Message
	text, err := r.MessageJSON()
	if err == nil {
		err = json.Unmarshal(text, &message)
	}
	return message, err
}
