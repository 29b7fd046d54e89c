package modelserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
)

// Script is a file of rules, for a server that is no part of a Go test.
//
//	{"models": ["scripted-1"], "key": "sk-…", "rules": [
//	  {"when": "Order (\\d+)", "last": "user", "tool": "create_brief", "times": 1,
//	   "reply": {"calls": [{"name": "create_brief", "arguments": "{\"title\":\"Refund ${1}?\"}"}]}},
//	  {"format": true, "reply": {"json": {"title": "Done", "summary": "…"}}},
//	  {"reply": {"text": "Nothing to do.", "delay": "200ms"}}]}
//
// The first rule that fits a request and has turns left answers it.
type Script struct {
	Models []string `json:"models"`
	Key    string   `json:"key"`
	Rules  []*Rule  `json:"rules"`

	mu sync.Mutex
}

// Rule says which requests get which reply. Every condition that is given must
// hold.
type Rule struct {
	When   string `json:"when"`   // a pattern that the prompt must hold; ${1} in the reply is its first group
	Last   string `json:"last"`   // role of the last message: user, tool, assistant
	Tool   string `json:"tool"`   // a tool that must be offered
	Format *bool  `json:"format"` // whether structured output must be asked for
	Times  int    `json:"times"`  // how often the rule answers; 0 is without end
	Reply  Reply  `json:"reply"`

	when *regexp.Regexp
	used int
}

// ReadScript reads a script. Keys that it does not know are an error.
func ReadScript(b []byte) (*Script, error) {
	s := &Script{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	if len(s.Rules) == 0 {
		return nil, errors.New("the script has no rules")
	}
	for i, r := range s.Rules {
		var err error
		if r.when, err = regexp.Compile(r.When); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return s, nil
}

// Options returns what a server needs to follow the script.
func (s *Script) Options() []Option {
	options := []Option{Key(s.Key), func(srv *Server) { srv.rule = s.answer }}
	if len(s.Models) > 0 {
		options = append(options, Models(s.Models...))
	}
	return options
}

func (s *Script) answer(req Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	prompt := req.Prompt()
	for _, r := range s.Rules {
		groups := r.when.FindStringSubmatchIndex(prompt)
		switch {
		case groups == nil,
			r.Last != "" && r.Last != req.Last(),
			r.Tool != "" && !req.HasTool(r.Tool),
			r.Format != nil && *r.Format != (req.Format != nil),
			r.Times > 0 && r.used >= r.Times:
			continue
		}
		r.used++
		expand := func(t string) string { return string(r.when.ExpandString(nil, t, prompt, groups)) }
		reply := r.Reply
		reply.Text = expand(reply.Text)
		reply.Calls = append([]Call(nil), reply.Calls...)
		for i := range reply.Calls {
			reply.Calls[i].Arguments = expand(reply.Calls[i].Arguments)
		}
		if reply.JSON != nil {
			reply.JSON = json.RawMessage(expand(string(reply.JSON)))
		}
		return reply
	}
	return Reply{Status: 400, Error: "no rule of the script fits this request"}
}
