// Writes and reads values with Go's encoding/json, so that ours can be compared with it.
//
//	go run gojson.go < bodies.txt > gojson.jsonl
//
// A line of the input is the body of a request, quoted as Go quotes strings.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"strconv"
	"strings"
)

type body struct {
	ID      string  `json:"id"`
	Project *string `json:"project"`
	Count   int     `json:"count"`
	Rank    float64 `json:"rank"`
	IsKept  bool    `json:"is_kept"`
	Parts   []part  `json:"parts"`
}

type part struct {
	Kind string `json:"kind"`
	Size int64  `json:"size"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	chance := rand.New(rand.NewSource(1))
	for range 300 {
		number := math.Float64frombits(chance.Uint64())
		if chance.Intn(2) == 0 {
			number = -chance.Float64() * math.Pow(10, float64(chance.Intn(34)-10))
		}
		if text, err := json.Marshal(number); err == nil {
			out.Encode(map[string]string{"float": strconv.FormatFloat(number, 'x', -1, 64), "written": string(text)})
		}
	}
	alphabet := []string{"a", "<", ">", "&", "\"", "\\", "/", "\x00", "\b", "\f", "\n", "\r", "\t", "\x1f", "\x7f",
		"\u2028", "\u2029", "é", "日", "🎉", "\xff", "\xe2\x82", "\xed\xa0\x80", "\ufffd", "\ufeff", "\u0085", "\xf4\x90\x80\x80"}
	for range 200 {
		var text strings.Builder
		for range chance.Intn(9) {
			text.WriteString(alphabet[chance.Intn(len(alphabet))])
		}
		written, _ := json.Marshal(text.String())
		out.Encode(map[string]string{"string": hex.EncodeToString([]byte(text.String())), "written": string(written)})
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		given, _ := strconv.Unquote(lines.Text())
		var first, alone body
		seen := map[string]any{"body": hex.EncodeToString([]byte(given))}
		if json.NewDecoder(strings.NewReader(given)).Decode(&first) == nil {
			seen["first"] = first
		}
		if json.Unmarshal([]byte(given), &alone) == nil {
			seen["alone"] = alone
		}
		out.Encode(seen)
	}
}
