// Command modelserver runs the scripted model server of the tests by itself, so
// that a test of the whole program can use it as its model provider.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"time"

	"github.com/dogwatch/dogwatch/internal/testkit/modelserver"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	profile := flag.String("profile", "openai", "the server that is played: openai, ollama, vllm, deepseek")
	script := flag.String("script", "", "file of rules (JSON); without it every request gets the text “Nothing to do.”")
	logFile := flag.String("log", "", "file that gets one line per request")
	logKey := flag.String("log-key", `\bT-\d+\b`, "pattern whose match in the prompt is written to the log as its key")
	flag.Parse()

	rules := []byte(`{"rules": [{"format": true, "reply": {"json": {"title": "Nothing to do", "summary": "Nothing to do.", "keyFindings": [], "nextAction": "", "unfinished": ""}}},
		{"reply": {"text": "Nothing to do."}}]}`)
	if *script != "" {
		var err error
		if rules, err = os.ReadFile(*script); err != nil {
			return err
		}
	}
	s, err := modelserver.ReadScript(rules)
	if err != nil {
		return err
	}
	options := append(s.Options(), modelserver.As(modelserver.Profile(*profile)))
	if *logFile != "" {
		f, err := os.OpenFile(*logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		key, err := regexp.Compile(*logKey)
		if err != nil {
			return err
		}
		options = append(options, modelserver.LogTo(f, key))
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/v1\n", l.Addr()) // the base URL, for whoever started us
	return (&http.Server{Handler: modelserver.NewUnstarted(options...), ReadHeaderTimeout: 10 * time.Second}).Serve(l)
}
