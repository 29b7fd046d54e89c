package modelserver

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// pieces cuts text into what a stream sends at a time.
func (reply Reply) pieces(s string) []string {
	size := cmp.Or(reply.Piece, 12)
	var out []string
	r := []rune(s)
	for len(r) > 0 {
		n := min(size, len(r))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}

func used(req Request, reply Reply) Usage {
	if reply.Usage != nil {
		return *reply.Usage
	}
	return Usage{Input: len(req.Prompt())/4 + 1, Output: len(reply.Text)/4 + 1}
}

type object = map[string]any

func data(v any) string {
	b, _ := json.Marshal(v)
	return "data: " + string(b) + "\n\n"
}

// openAI writes a reply as the frames of a stream and as a whole document.
func (s *Server) openAI(req Request, reply Reply) ([]string, any) {
	text := reply.Text
	if reply.JSON != nil {
		text = string(reply.JSON)
	}
	stop := "stop"
	if len(reply.Calls) > 0 {
		stop = "tool_calls"
		if s.profile == Ollama {
			stop = "stop" // as it does in versions before 0.6
		}
	}
	stop = or(reply.Stop, stop)
	usage := s.openAIUsage(used(req, reply))

	chunk := func(delta object, finish any) object {
		return object{
			"id": fmt.Sprintf("chatcmpl-%d", req.N), "object": "chat.completion.chunk", "created": 1750000000, "model": req.Model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	reasoningField := "reasoning_content"
	if s.profile == Ollama {
		reasoningField = "reasoning"
	}
	var frames []string
	if s.profile == DeepSeek {
		frames = append(frames, ": keep-alive\n\n") // it sends them while a request waits in its queue
	}
	frames = append(frames, data(chunk(object{"role": "assistant", "content": ""}, nil)))
	for _, p := range reply.pieces(reply.Reasoning) {
		frames = append(frames, data(chunk(object{reasoningField: p}, nil)))
	}
	for _, p := range reply.pieces(text) {
		frames = append(frames, data(chunk(object{"content": p}, nil)))
	}
	var whole []any
	for i, c := range reply.Calls {
		id := or(c.ID, fmt.Sprintf("call_%d_%d", req.N, i))
		entry := func(arguments string) object {
			return object{"index": i, "id": id, "type": "function", "function": object{"name": c.Name, "arguments": arguments}}
		}
		whole = append(whole, object{"id": id, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
		if s.profile == Ollama { // whole calls, all of index 0 as in versions before 0.5.13
			e := entry(c.Arguments)
			e["index"] = 0
			frames = append(frames, data(chunk(object{"role": "assistant", "content": "", "tool_calls": []any{e}}, nil)))
			continue
		}
		frames = append(frames, data(chunk(object{"tool_calls": []any{entry("")}}, nil)))
		for _, p := range reply.pieces(c.Arguments) {
			frames = append(frames, data(chunk(object{"tool_calls": []any{
				object{"index": i, "function": object{"arguments": p}},
			}}, nil)))
		}
	}
	if reply.Error != "" {
		return append(frames, data(object{"error": object{
			"message": reply.Error, "type": or(reply.ErrorCode, "server_error"), "code": reply.ErrorCode,
		}})), object{"error": object{"message": reply.Error, "type": reply.ErrorCode}}
	}
	last := chunk(object{}, stop)
	if s.profile == DeepSeek && req.usage && !reply.NoUsage {
		last["usage"] = usage // with the last choice, not after it
	}
	frames = append(frames, data(last))
	if s.profile != DeepSeek && req.usage && !reply.NoUsage {
		end := chunk(nil, nil)
		end["choices"], end["usage"] = []any{}, usage
		frames = append(frames, data(end))
	}
	if !reply.NoEnd {
		frames = append(frames, "data: [DONE]\n\n")
	}
	message := object{"role": "assistant", "content": text}
	if reply.Reasoning != "" {
		message[reasoningField] = reply.Reasoning
	}
	if whole != nil {
		message["tool_calls"] = whole
	}
	doc := object{
		"id": fmt.Sprintf("chatcmpl-%d", req.N), "object": "chat.completion", "created": 1750000000, "model": req.Model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": stop}},
	}
	if !reply.NoUsage {
		doc["usage"] = usage
	}
	return frames, doc
}

func (s *Server) openAIUsage(u Usage) object {
	out := object{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output}
	if s.profile == Ollama {
		return out
	}
	out["prompt_tokens_details"] = object{"cached_tokens": u.CacheRead}
	out["completion_tokens_details"] = object{"reasoning_tokens": u.Reasoning}
	if s.profile == DeepSeek {
		out["prompt_cache_hit_tokens"], out["prompt_cache_miss_tokens"] = u.CacheRead, u.Input-u.CacheRead
	}
	return out
}

// anthropic writes a reply as the frames of a stream and as a whole document.
func (s *Server) anthropic(req Request, reply Reply) ([]string, any) {
	text, calls := reply.Text, reply.Calls
	if reply.JSON != nil {
		if req.Forced != "" {
			calls = append([]Call{{Name: req.Forced, Arguments: string(reply.JSON)}}, calls...)
		} else {
			text = string(reply.JSON)
		}
	}
	stop := "end_turn"
	if len(calls) > 0 {
		stop = "tool_use"
	}
	stop = or(reply.Stop, stop)
	u := used(req, reply)
	usage := object{
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "output_tokens": 1,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
	}
	if reply.NoUsage {
		usage = object{"input_tokens": 0, "output_tokens": 0}
		u = Usage{}
	}
	var frames []string
	send := func(v object) {
		frames = append(frames, "event: "+v["type"].(string)+"\n"+data(v))
	}
	id := fmt.Sprintf("msg_%d", req.N)
	message := object{
		"id": id, "type": "message", "role": "assistant", "model": req.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	send(object{"type": "message_start", "message": message})
	send(object{"type": "ping"})
	var content []any
	block := func(empty, full object, deltas ...object) {
		i := len(content)
		content = append(content, full)
		send(object{"type": "content_block_start", "index": i, "content_block": empty})
		for _, d := range deltas {
			send(object{"type": "content_block_delta", "index": i, "delta": d})
		}
		send(object{"type": "content_block_stop", "index": i})
	}
	deltas := func(kind, field, s string) (out []object) {
		for _, p := range reply.pieces(s) {
			out = append(out, object{"type": kind, field: p})
		}
		return out
	}
	if reply.Reasoning != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking", "thinking": reply.Reasoning, "signature": "c2ln"},
			append(deltas("thinking_delta", "thinking", reply.Reasoning), object{"type": "signature_delta", "signature": "c2ln"})...)
	}
	if text != "" {
		block(object{"type": "text", "text": ""}, object{"type": "text", "text": text}, deltas("text_delta", "text", text)...)
	}
	for i, c := range calls {
		callID := or(c.ID, fmt.Sprintf("toolu_%d_%d", req.N, i))
		input := any(json.RawMessage(c.Arguments))
		if !json.Valid([]byte(c.Arguments)) {
			input = c.Arguments
		}
		block(object{"type": "tool_use", "id": callID, "name": c.Name, "input": object{}},
			object{"type": "tool_use", "id": callID, "name": c.Name, "input": input},
			append([]object{{"type": "input_json_delta", "partial_json": ""}}, deltas("input_json_delta", "partial_json", c.Arguments)...)...)
	}
	if reply.Error != "" {
		e := object{"type": "error", "error": object{"type": or(reply.ErrorCode, "api_error"), "message": reply.Error}}
		send(e)
		return frames, e
	}
	send(object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": u.Output}})
	if !reply.NoEnd {
		send(object{"type": "message_stop"})
	}
	doc := object{}
	for k, v := range message {
		doc[k] = v
	}
	final := object{}
	for k, v := range usage {
		final[k] = v
	}
	final["output_tokens"] = u.Output
	doc["content"], doc["stop_reason"], doc["usage"] = content, stop, final
	return frames, doc
}
