// Sends requests with chunked bodies to Go's own HTTP server and writes what it made of each.
//
//	go run chunks.go < requests.txt > chunks.jsonl
//
// A line of the input is what a client sends on one connection before it shuts its side, quoted as Go quotes strings.
// The handler answers 200 to a body that it could read to its end, 400 to one that it could not.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
)

// One answer on a connection; body is what the handler read, in hexadecimal, where it could read it.
type answer struct {
	Status int    `json:"status"`
	Body   string `json:"body,omitempty"`
}

func read(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	io.WriteString(w, hex.EncodeToString(body))
}

func send(address, text string) (answers []answer) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	io.WriteString(connection, text)
	connection.(*net.TCPConn).CloseWrite()
	replies := bufio.NewReader(connection)
	for {
		response, err := http.ReadResponse(replies, nil)
		if err != nil {
			return answers
		}
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode == http.StatusOK {
			answers = append(answers, answer{response.StatusCode, string(body)})
		} else {
			answers = append(answers, answer{Status: response.StatusCode})
		}
	}
}

func main() {
	server := httptest.NewServer(http.HandlerFunc(read))
	defer server.Close()
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text, err := strconv.Unquote(lines.Text())
		if err != nil {
			panic(err)
		}
		out.Encode(map[string]any{"line": lines.Text(), "answers": send(server.Listener.Addr().String(), text)})
	}
}
