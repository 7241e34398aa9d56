// Takes facts out of a sentence, as JSON that obeys a schema: json MODEL SENTENCE.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"owner.invalid/tenon"
)

const schema = `{"type": "object", "required": ["name", "age"], "additionalProperties": false,
  "properties": {"name": {"type": "string", "maxLength": 40},
                 "age": {"type": "integer", "minimum": 0, "maximum": 150}}}`

func main() {
	model, err := tenon.OpenModel(os.Args[1], nil)
	check(err)
	session, err := tenon.NewSession(model, nil)
	check(err)
	grammar, err := tenon.JSONSchema(schema)
	check(err)
	prompt := "<|im_start|>user\nExtract name and age as JSON: " + os.Args[2] + "<|im_end|>\n<|im_start|>assistant\n"
	text, err := tenon.Collect(session.Generate(context.Background(), prompt, &tenon.GenerateOptions{
		Grammar: grammar, MaxTokens: 96, ParseSpecial: true,
		Sampling: &tenon.SamplerOptions{Temperature: tenon.Set(0.0)}}))
	check(err)
	var person struct {
		Name string
		Age  int
	}
	check(json.Unmarshal([]byte(text), &person))
	fmt.Printf("%s is %d\n", person.Name, person.Age)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
