package schedule

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// tickCase is a recorded case: what a reference answers, and where we answer
// something else, ours over it field by field.
type tickCase struct {
	ID, Kind, Name string
	Input          json.RawMessage
	Expect         map[string]json.RawMessage
	Ours           json.RawMessage // null: the case does not apply to us
	OursWhy        string
	OursOpen       json.RawMessage // what our rules leave open
}

// tickCases returns the cases of a kind, with ours laid over what was recorded.
// Cases that do not apply to us or are open are left out.
func tickCases(t *testing.T, kind string) (cases []tickCase) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(casesDir(t), "ticks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded cases are not part of a clone; DOGWATCH_CASES names their folder")
	}
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []tickCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		if c.Kind != kind || c.OursOpen != nil {
			continue
		}
		if string(c.Ours) == "null" {
			if c.OursWhy == "" {
				t.Errorf("%s does not apply to us and does not say why", c.ID)
			}
			continue
		}
		if c.Ours != nil {
			over := map[string]json.RawMessage{}
			if err := json.Unmarshal(c.Ours, &over); err != nil {
				t.Fatalf("%s: %v", c.ID, err)
			}
			for field, value := range over {
				c.Expect[field] = value
			}
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatalf("no case of kind %s", kind)
	}
	return cases
}

func casesDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("DOGWATCH_CASES"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "cases")
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
}

func decode[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if raw == nil {
		return v
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// recordedTask is the part of a recorded task that concerns its times.
type recordedTask struct {
	AutomationMode       string
	HeartbeatInterval    *int64
	ScheduleKind         string
	SchedulePattern      string
	ScheduleTimezone     *string
	ScheduleAt           time.Time
	ScheduleEverySeconds int64
	ScheduleAnchorAt     *time.Time
	NextRunAt            *time.Time
	OverduePolicy        string
}

// spec saves the task as ours, at the moment from.
func (r recordedTask) spec(from time.Time) (Spec, error) {
	a := Automation{Missed: r.OverduePolicy, Timezone: r.ScheduleTimezone}
	switch {
	case r.ScheduleKind == "at":
		return OnceAt(r.ScheduleAt), nil
	case r.ScheduleKind == "every":
		a.Mode, a.EverySeconds, a.Anchor = Every, r.ScheduleEverySeconds, r.ScheduleAnchorAt
	case r.AutomationMode == "heartbeat":
		a.Mode = Heartbeat
		if r.HeartbeatInterval != nil {
			a.IntervalSeconds = *r.HeartbeatInterval
		}
	default:
		a.Mode, a.Pattern = Schedule, r.SchedulePattern
	}
	canonical, err := Canonical(a, Defaults{Zone: "UTC", MinPeriodSeconds: 10, Now: from})
	if err != nil {
		return Spec{}, err
	}
	return Parse(canonical)
}

func checkNext(t *testing.T, s Spec, from time.Time, want *time.Time) {
	t.Helper()
	got, ok := s.Next(from)
	switch {
	case want == nil && ok:
		t.Errorf("fires at %v, want none", got.At)
	case want != nil && (!ok || !got.At.Equal(*want)):
		t.Errorf("fires at %v, want %v", got.At, *want)
	}
}

func TestCasesNextRun(t *testing.T) {
	for _, c := range tickCases(t, "ledger-next-run") {
		t.Run(c.ID, func(t *testing.T) {
			in := decode[struct {
				Task recordedTask
				From time.Time
			}](t, c.Input)
			want := decode[*time.Time](t, c.Expect["nextRunAt"])
			s, err := in.Task.spec(in.From)
			if err != nil { // what is refused at save has no next run
				if want != nil {
					t.Errorf("%s: refused: %v", c.Name, err)
				}
				return
			}
			checkNext(t, s, in.From, want)
		})
	}
}

func TestCasesClockChanges(t *testing.T) {
	for _, c := range tickCases(t, "ledger-next-run-dst") {
		t.Run(c.ID, func(t *testing.T) {
			in := decode[struct {
				Pattern, Timezone string
				From              time.Time
			}](t, c.Input)
			checkNext(t, cronSpec(t, in.Pattern, in.Timezone), in.From, decode[*time.Time](t, c.Expect["correctNextRunAt"]))
		})
	}
}

func TestCasesOverdue(t *testing.T) {
	type fire struct {
		PlannedAt   time.Time
		MissedCount int64
	}
	for _, c := range tickCases(t, "ledger-overdue") {
		t.Run(c.ID, func(t *testing.T) {
			in := decode[struct {
				Task recordedTask
				Now  time.Time
			}](t, c.Input)
			s, err := in.Task.spec(in.Now)
			if err != nil {
				t.Fatal(err)
			}
			st := State{TaskID: c.ID}
			if in.Task.NextRunAt != nil {
				st.NextPlanned = *in.Task.NextRunAt
			}
			var got []fire
			for wait := true; wait; { // each run ends before the next is planned
				d := Plan(s, st, in.Now)
				var missed int64
				for _, r := range d.Rows {
					switch {
					case r.State != TickPending:
						missed += r.Count
					case s.Missed() == MissedLatest: // stands for the times before it
						got = append(got, fire{r.PlannedAt, missed})
					default: // each time stands for itself
						got = append(got, fire{r.PlannedAt, 0})
					}
				}
				st.NextPlanned, wait = d.Next.PlannedAt, d.Wait
			}
			want := decode[[]fire](t, c.Expect["fires"])
			if len(got) != len(want) {
				t.Fatalf("fires %v, want %v", got, want)
			}
			for i := range want {
				if !got[i].PlannedAt.Equal(want[i].PlannedAt) || got[i].MissedCount != want[i].MissedCount {
					t.Errorf("fire %d is %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
}

// dueInput asks whether a sweep at Now starts the task.
type dueInput struct {
	Pattern   string
	Timezone  *string
	Now       time.Time
	LastRunAt *time.Time
}

// due saves the task and lets a sweep look at it. A task that never ran was armed a
// moment ago: nothing was planned before that.
func (in dueInput) due() (bool, error) {
	a, err := Canonical(Automation{Mode: Schedule, Pattern: in.Pattern, Timezone: in.Timezone}, Defaults{Zone: "UTC", Now: in.Now})
	if err != nil {
		return false, err
	}
	s, err := Parse(a)
	if err != nil {
		return false, err
	}
	known := in.Now.Add(-time.Microsecond)
	if in.LastRunAt != nil {
		known = *in.LastRunAt
	}
	for _, r := range Plan(s, State{NextPlanned: s.Arm("", known).PlannedAt}, in.Now).Rows {
		if r.State == TickPending {
			return true, nil
		}
	}
	return false, nil
}

type dueAnswer struct {
	Due   bool
	Error string
}

func checkDue(t *testing.T, in dueInput, want dueAnswer) {
	t.Helper()
	due, err := in.due()
	if errs.CodeOf(err) != want.Error || due != want.Due {
		t.Errorf("due %v, error %v, want %+v", due, err, want)
	}
	if err != nil && errs.KindOf(err) != errs.Invalid {
		t.Errorf("kind %v, want Invalid", errs.KindOf(err))
	}
}

func TestCasesDue(t *testing.T) {
	for _, c := range tickCases(t, "sweep-due-check") {
		t.Run(c.ID, func(t *testing.T) {
			checkDue(t, decode[dueInput](t, c.Input), dueAnswer{decode[bool](t, c.Expect["due"]), decode[string](t, c.Expect["error"])})
		})
	}
}

func TestCasesInvalidInput(t *testing.T) {
	for _, c := range tickCases(t, "invalid-input") {
		t.Run(c.ID, func(t *testing.T) {
			checkDue(t, decode[dueInput](t, c.Input), decode[dueAnswer](t, c.Expect["correct"]))
		})
	}
}

// The recorded sweeps fire at their own phase. Ours may sweep at any: each planned
// time runs once.
func TestCasesSweep(t *testing.T) {
	for _, c := range tickCases(t, "sweep-simulation") {
		t.Run(c.ID, func(t *testing.T) {
			in := decode[struct {
				Pattern, Timezone                   string
				SweepEveryMinutes, SweepPhaseMinute int
				From, LastRunAt                     time.Time
				Days                                int
			}](t, c.Input)
			s := cronSpec(t, in.Pattern, in.Timezone)
			var ran []time.Time
			next, end := s.Arm(c.ID, in.LastRunAt), in.From.AddDate(0, 0, in.Days)
			// The reference loses fires to a coarse sweep; ours comes every second and
			// is on time, which a step to each fire stands for.
			for next.PlannedAt.Before(end) {
				d := Plan(s, State{TaskID: c.ID, NextPlanned: next.PlannedAt}, next.FireAt.Add(time.Second))
				for _, r := range d.Rows {
					if r.State != TickPending {
						t.Fatalf("%v ended %s", r.PlannedAt, r.State)
					}
					ran = append(ran, r.PlannedAt)
				}
				next = d.Next
			}
			if want := decode[int](t, c.Expect["correctFireCount"]); len(ran) != want {
				t.Errorf("%d runs, want %d", len(ran), want)
			}
			for i, want := range decode[[]time.Time](t, c.Expect["upstreamFirstFires"]) {
				if !ran[i].Equal(want) {
					t.Errorf("run %d at %v, want %v", i, ran[i], want)
				}
			}
		})
	}
}
