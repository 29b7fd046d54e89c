package worker_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"time"
)

// judge compares the rows with each other and with what the world outside saw.
func (h *theatre) judge() {
	h.t.Helper()
	for what, from := range map[string]string{
		"open jobs":                   `jobs where state in ('ready', 'sent', 'running')`,
		"dead jobs that nobody ended": `jobs where state = 'dead' and kind <> 'step'`,
		"ticks that did not run once": `mini_ticks where ran <> 1`,
		"ticks not settled once":      `mini_ticks where settled <> 1`,
		"operations left running":     `mini_operations where status = 'running'`,
		"operations whose steps do not add up": `mini_operations o where done <> (select count(*) from mini_steps where operation = o.id)
			or (status = 'done') <> (done = steps)`,
		"ticks without an operation":  `mini_ticks t where not exists (select 1 from mini_operations where task = t.task and tick = t.n)`,
		"requests nobody saw":         `mini_tasks where seen <> requested`,
		"tasks that stopped too soon": `mini_tasks k where until - (select max(settled_at) from mini_ticks where task = k.id) > every + interval '2 seconds'`,
	} {
		if n := h.rig.count(from); n != 0 {
			h.t.Errorf("%s: %d", what, n)
		}
	}
	h.judgeCalls()
	if n := h.rig.count(`mini_steps`); n < 20 {
		h.t.Errorf("only %d steps were made: the run proves nothing", n)
	}
}

// judgeCalls: every paid call led to a committed step, or there is a reason why
// not, and none was made after its step was committed.
func (h *theatre) judgeCalls() {
	h.t.Helper()
	type step struct {
		job, token string
		at         time.Time
	}
	committed := map[string]step{}
	rows, err := h.rig.store.Pool().Query(h.rig.ctx, `select operation::text || ' ' || seq, job::text, token::text, at from mini_steps`)
	h.rig.must(err)
	for rows.Next() {
		var key string
		var s step
		h.rig.must(rows.Scan(&key, &s.job, &s.token, &s.at))
		committed[key] = s
	}
	h.rig.must(rows.Err())

	lines := h.testimony()
	excused, calls := map[string]bool{}, map[string]int{}
	for _, f := range lines {
		if f[2] == "excuse" {
			excused[f[3]+" "+f[4]] = true
			if text := strings.Join(f, " "); strings.Contains(text, "SQLSTATE 23") || strings.Contains(text, "SQLSTATE 42") {
				h.t.Error("a constraint had to stop it:", text)
			}
		}
	}
	made, vain := 0, 0
	for _, f := range lines {
		switch f[2] {
		case "model":
			made++
			s, ok := committed[f[3]+" "+f[4]]
			if ok && s.job == f[5] && s.token == f[6] {
				continue
			}
			vain++
			nano, _ := strconv.ParseInt(f[0], 10, 64)
			if ok && time.Unix(0, nano).After(s.at) {
				h.t.Error("a call after the commit of its step:", f)
			}
			if pid, _ := strconv.Atoi(f[1]); !excused[f[5]+" "+f[6]] && !h.killed[pid] {
				h.t.Error("a call in vain without a reason:", f)
			}
		case "call":
			if calls[f[3]]++; calls[f[3]] > 1 {
				h.t.Error("a call that must not be repeated was made twice:", f)
			}
		}
	}
	h.t.Logf("%d steps, %d model calls, %d of them in vain; %d tool calls", len(committed), made, vain, len(calls))
}

func (h *theatre) testimony() (lines [][]string) {
	h.t.Helper()
	f, err := os.Open(h.witness)
	h.rig.must(err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, strings.Fields(s.Text()))
	}
	return lines
}
