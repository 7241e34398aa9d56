// Finds the texts that are most like a question: search MODEL QUESTION TEXT...
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"

	"owner.invalid/tenon"
)

func main() {
	// An encoder needs no option; a model that generates is opened for embeddings.
	model, err := tenon.OpenModel(os.Args[1], &tenon.ModelOptions{Embeddings: tenon.Set("on")})
	check(err)
	embedder, err := tenon.NewEmbedder(model, nil)
	check(err)
	texts := os.Args[3:]
	rows, err := embedder.Embed(context.Background(), texts, tenon.TextDocument)
	check(err)
	question, err := embedder.Embed(context.Background(), os.Args[2:3], tenon.TextQuery)
	check(err)
	order := make([]int, len(texts))
	likeness := make([]float32, len(texts))
	for i := range texts {
		order[i] = i
		for k, value := range rows.Row(i) { // rows have length 1, so this is the cosine
			likeness[i] += value * question.Row(0)[k]
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if likeness[a] > likeness[b] {
			return -1
		}
		return 1
	})
	for _, i := range order {
		fmt.Printf("%.3f %s\n", likeness[i], texts[i])
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
