package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// What the commands read of the API's answers. Fields that no command shows are
// left out; `--json` prints everything that the server sent.

type automation struct {
	Mode            string `json:"mode"`
	IntervalSeconds int64  `json:"intervalSeconds"`
	Pattern         string `json:"pattern"`
	Timezone        string `json:"timezone"`
	EverySeconds    int64  `json:"everySeconds"`
	NextFires       []fire `json:"nextFires"`
}

// fire is a planned time: bare, or with its local wall clock.
type fire struct{ At time.Time }

func (f *fire) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		return json.Unmarshal(b, &struct {
			At *time.Time `json:"at"`
		}{&f.At})
	}
	return json.Unmarshal(b, &f.At)
}

type task struct {
	ID            string      `json:"id"`
	Identifier    string      `json:"identifier"`
	Name          string      `json:"name"`
	Instruction   string      `json:"instruction"`
	Status        string      `json:"status"`
	StatusReason  string      `json:"statusReason"`
	Error         *string     `json:"error"`
	Automation    *automation `json:"automation"`
	StartAt       *time.Time  `json:"startAt"`
	NextRunAt     *time.Time  `json:"nextRunAt"`
	NextRunWhy    string      `json:"nextRunWhy"`
	LastRunAt     *time.Time  `json:"lastRunAt"`
	TotalTopics   int         `json:"totalTopics"`
	CurrentTopic  *string     `json:"currentTopicId"`
	CostUSD       *float64    `json:"costUsd"`
	AssigneeAgent *string     `json:"assigneeAgent"`
	Cadence       *cadence    `json:"cadence"`
	MadeBy        string      `json:"madeBy"`
}

// cadence is how often a schedule runs: as it was set, and as it came.
type cadence struct {
	ConfiguredSeconds *int64 `json:"configuredSeconds"`
	EffectiveSeconds  *int64 `json:"effectiveSeconds"`
	Over              int    `json:"over"`
}

func (c *cadence) String() string {
	if c == nil || c.EffectiveSeconds == nil || c.ConfiguredSeconds == nil {
		return ""
	}
	return fmt.Sprintf("%s on average over %d runs, set to %s", seconds(*c.EffectiveSeconds), c.Over, seconds(*c.ConfiguredSeconds))
}

type handoff struct {
	Title       string   `json:"title"`
	Summary     string   `json:"summary"`
	KeyFindings []string `json:"keyFindings"`
	NextAction  string   `json:"nextAction"`
	Unfinished  string   `json:"unfinished"`
}

type topic struct {
	ID          string      `json:"id"`
	Seq         int         `json:"seq"`
	Origin      string      `json:"origin"`
	Status      string      `json:"status"`
	WaitingFor  *string     `json:"waitingFor"`
	Title       string      `json:"title"`
	Error       *string     `json:"error"`
	Handoff     *handoff    `json:"handoff"`
	Operations  []operation `json:"operations"`
	CostUSD     *float64    `json:"costUsd"`
	StartedAt   time.Time   `json:"startedAt"`
	CompletedAt *time.Time  `json:"completedAt"`
}

type operation struct {
	ID               string     `json:"id"`
	Status           string     `json:"status"`
	CompletionReason *string    `json:"completionReason"`
	ReasonDetail     *string    `json:"reasonDetail"`
	Error            *string    `json:"error"`
	Model            string     `json:"model"`
	StepCount        int        `json:"stepCount"`
	CostUSD          *float64   `json:"costUsd"`
	Usage            usageCount `json:"usage"`
	CreatedAt        time.Time  `json:"createdAt"`
	CompletedAt      *time.Time `json:"completedAt"`
}

type usageCount struct {
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
}

type step struct {
	Seq       int    `json:"seq"`
	Kind      string `json:"kind"`
	Text      string `json:"text"`
	Error     string `json:"error"`
	ToolCalls []struct {
		Name      string `json:"name"`
		Arguments any    `json:"arguments"`
		IsError   bool   `json:"isError"`
	} `json:"toolCalls"`
	CompletedAt *time.Time `json:"completedAt"`
}

type tick struct {
	ID        string     `json:"id"`
	PlannedAt *time.Time `json:"plannedAt"`
	Origin    string     `json:"origin"`
	State     string     `json:"state"`
	Reason    *string    `json:"reason"`
	TopicID   *string    `json:"topicId"`
	Late      bool       `json:"late"`
	CreatedAt *time.Time `json:"createdAt"`
}

type action struct {
	Key   string `json:"key"`
	Label string `json:"label"`
	Kind  string `json:"kind"`
	URL   string `json:"url"`
}

type brief struct {
	ID             string     `json:"id"`
	Number         string     `json:"number"`
	Type           string     `json:"type"`
	Priority       string     `json:"priority"`
	Title          string     `json:"title"`
	Summary        string     `json:"summary"`
	Count          int        `json:"count"`
	Actions        []action   `json:"actions"`
	Task           taskRef    `json:"task"`
	ResolvedAt     *time.Time `json:"resolvedAt"`
	ResolvedAction *string    `json:"resolvedAction"`
	CreatedAt      time.Time  `json:"createdAt"`
}

// taskRef is a task inside another answer: its name for people.
type taskRef string

func (r *taskRef) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var t task
		if err := json.Unmarshal(b, &t); err != nil {
			return err
		}
		*r = taskRef(t.Identifier)
		return nil
	}
	var s *string
	if err := json.Unmarshal(b, &s); err != nil || s == nil {
		return err
	}
	*r = taskRef(*s)
	return nil
}

type document struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Folder    string    `json:"folder"`
	Kind      string    `json:"kind"`
	Size      int64     `json:"size"`
	Version   int       `json:"version"`
	Content   string    `json:"content"`
	UpdatedAt time.Time `json:"updatedAt"`
}

type list[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"`
}

// read decodes an answer.
func read[T any](answer json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(answer, &v); err != nil {
		return v, fmt.Errorf("read the server's answer: %w", err)
	}
	return v, nil
}
