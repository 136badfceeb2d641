// Answers requests for Engram's patterns with what Go's ServeMux, net/url and strconv made of them.
//
//	go run mux.go < requests.txt > mux.jsonl
//
// A line of the input is a method, a blank and a request target, quoted as Go quotes strings.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
)

var patterns = []string{"GET /health", "POST /sessions", "POST /sessions/{id}/end", "GET /sessions/recent",
	"POST /observations", "POST /observations/passive", "GET /observations/recent", "GET /observations/{id}",
	"PATCH /observations/{id}", "DELETE /observations/{id}", "GET /search", "GET /timeline", "POST /prompts",
	"GET /prompts/recent", "GET /prompts/search", "GET /context", "GET /export", "POST /import", "GET /stats",
	"POST /projects/migrate", "GET /sync/status"}

func encode(text string) string {
	return hex.EncodeToString([]byte(text))
}

func main() {
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		line, _ := strconv.Unquote(lines.Text())
		seen := map[string]any{"line": lines.Text()}
		mux := http.NewServeMux()
		for _, pattern := range patterns {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
				query := r.URL.Query()
				limit, err := strconv.Atoi(query.Get("limit"))
				seen["pattern"], seen["id"], seen["q"] = pattern, encode(r.PathValue("id")), encode(query.Get("q"))
				if err == nil {
					seen["limit"] = limit
				}
				if hard, err := strconv.ParseBool(query.Get("hard")); err == nil {
					seen["hard"] = hard
				}
			})
		}
		head := line + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
		if err != nil {
			seen["malformed"] = true
		} else {
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, request)
			if seen["pattern"] == nil {
				seen["status"], seen["reply"] = answer.Code, answer.Body.String()
				for _, name := range []string{"Content-Type", "Allow", "Location"} {
					seen[strings.ToLower(name)] = answer.Header().Get(name)
				}
			}
		}
		out.Encode(seen)
	}
}
