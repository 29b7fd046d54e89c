//go:build linux

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// settle waits until nothing is left to do: everything that is due is written
// down, then what time would start is paused, then what is open has ended. Its
// processes are well. It returns until when the times of all tasks must be
// accounted for.
func (s *site) settle(p *person) time.Time {
	s.Helper()
	p.rest()
	ctx := context.Background()
	var swept time.Time
	until(s, patience, "everything that is due is written down", func() bool {
		var due int
		err := s.db().QueryRow(ctx, `select count(*) filter (where next_fire_at <= clock_timestamp() and deleted_at is null), clock_timestamp() from tasks`).
			Scan(&due, &swept)
		return err == nil && due == 0
	})
	p.pauseAll()
	open := `select (select count(*) from jobs where state in ('ready', 'sent', 'running') and kind not in ('reconcile', 'retention'))
		+ (select count(*) from topics where status = 'running') + (select count(*) from ticks where state in ('pending', 'queued', 'dispatched'))
		+ (select count(*) from events where seq is null)`
	for end := time.Now().Add(patience); s.count(open) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.Errorf("it does not get quiet")
			break
		}
	}
	return swept
}

// judge looks at everything that is left, and at what was asked for and paid.
func (s *site) judge(p *person, swept time.Time) {
	s.Helper()
	s.judgeRows(p, swept)
	s.judgePayments()
}

// judgeRows looks at what is left.
func (s *site) judgeRows(p *person, swept time.Time) {
	s.Helper()
	_, err := s.db().Exec(context.Background(), excuses(len(s.log.struck())))
	s.must(err)
	for _, l := range laws {
		s.none(l.holds, s.rows(l.broken))
	}
	s.judgeGrids(swept)
	s.judgeBeats()
	s.judgeEffects()
	s.judgeRequests(p)
	s.none("nothing had to be repaired", texts(s.log.said("is posted again", "was running without a run", "is armed again")))
	s.none("no process broke", texts(s.log.said("panic", "fatal error", "DATA RACE")))
	s.Logf("%s; %d runs, %d ticks, %d steps, %d calls of tools, %d questions to the model, %d requests (%d sent again)", s.log.tally(),
		s.count(`select count(*) from topics`), s.count(`select count(*) from ticks`), s.count(`select count(*) from steps`),
		s.count(`select count(*) from tool_calls where state = 'finished'`), len(s.model.payments()), p.requests, p.again)
}

// none fails with the first few of what should not be.
func (s *site) none(holds string, broken []string) {
	s.Helper()
	if len(broken) == 0 {
		return
	}
	shown := broken[:min(len(broken), 5)]
	s.Errorf("broken: %s (%d)\n\t%s", holds, len(broken), strings.Join(shown, "\n\t"))
}

func texts(entries []entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.who+": "+e.text)
	}
	return out
}

// judgeGrids: every instant of a grid, from the arming on, is in one row, alone or
// between the first and the last of a row that stands for several.
func (s *site) judgeGrids(swept time.Time) {
	s.Helper()
	type grid struct {
		id, name, missed string
		period           time.Duration
		anchor, armed    time.Time
	}
	rows, err := s.db().Query(context.Background(), `select id::text, name, automation->>'missed', (automation->>'everySeconds')::int,
		(automation->>'anchor')::timestamptz, armed_at from tasks where automation_mode = 'every'`)
	s.must(err)
	var grids []grid
	for rows.Next() {
		var g grid
		var seconds int
		s.must(rows.Scan(&g.id, &g.name, &g.missed, &seconds, &g.anchor, &g.armed))
		g.period = time.Duration(seconds) * time.Second
		grids = append(grids, g)
	}
	s.must(rows.Err())
	instants := 0
	for _, g := range grids {
		rows, err := s.db().Query(context.Background(), `select coalesce(first_planned_at, planned_at), coalesce(last_planned_at, planned_at), count
			from ticks where task_id = $1 and planned_at is not null order by planned_at`, g.id)
		s.must(err)
		untouched := strings.HasPrefix(g.name, "every")
		before := g.armed.Truncate(time.Microsecond) // the last instant that is accounted for
		next := g.anchor.Add(before.Sub(g.anchor).Truncate(g.period))
		for !next.After(before) {
			next = next.Add(g.period)
		}
		for rows.Next() {
			var first, last time.Time
			var count int
			s.must(rows.Scan(&first, &last, &count))
			instants += count
			if first.Sub(g.anchor)%g.period != 0 || last.Sub(g.anchor)%g.period != 0 || int(last.Sub(first)/g.period)+1 != count {
				s.Errorf("%s: a row from %v to %v counts %d", g.name, first, last, count)
			}
			switch {
			case first.Before(next):
				s.Errorf("%s: %v is accounted for twice", g.name, first)
			case untouched && first.After(next):
				s.Errorf("%s: %v is not accounted for, the next is %v", g.name, next, first)
			}
			next = last.Add(g.period)
		}
		s.must(rows.Err())
		// One at a time, the policy `all` may still have been on its way.
		if untouched && g.missed != "all" && !next.After(swept) {
			s.Errorf("%s: %v is not accounted for, and was due before %v", g.name, next, swept)
		}
	}
	s.Logf("%d instants of %d grids", instants, len(grids))
}

// judgeBeats: a heartbeat beats its interval after the end of the beat before it,
// give or take what a transaction takes whose process stands still in the middle.
func (s *site) judgeBeats() {
	s.Helper()
	s.none("a heartbeat beats its interval after the last one ended", s.rows(`
		select name, planned_at, before + interval * interval '1 second' from (
		  select t.name, k.planned_at, (t.automation->>'intervalSeconds')::int as interval,
		         lag(k.ended_at) over (partition by t.id order by k.planned_at) as before
		    from tasks t join ticks k on k.task_id = t.id
		   where t.automation_mode = 'heartbeat' and t.name like 'beat%' and k.planned_at is not null) b
		 where abs(extract(epoch from planned_at - before) - interval) > 6`))
}

// called is a call of a tool that took effect.
type called struct {
	name, task string
	args       struct{ Title, Content, Summary, Name string }
}

func (s *site) calls() []called {
	s.Helper()
	rows, err := s.db().Query(context.Background(), `select c.name, o.task_id::text, c.arguments from tool_calls c
		join operations o on o.id = c.operation_id where c.state = 'finished' and not c.is_error`)
	s.must(err)
	defer rows.Close()
	var out []called
	for rows.Next() {
		var c called
		var args string
		s.must(rows.Scan(&c.name, &c.task, &args))
		s.must(json.Unmarshal([]byte(args), &c.args))
		out = append(out, c)
	}
	s.must(rows.Err())
	return out
}

// judgeEffects: what agents did is there once: what was asked for in a call that
// is noted as finished, and nothing else.
func (s *site) judgeEffects() {
	s.Helper()
	asked := map[string][]string{}
	for _, c := range s.calls() {
		text := c.args.Content
		switch c.name {
		case "create_task":
			text = c.args.Name
		case "write_document":
			text = c.args.Title + ": " + text
		}
		asked[c.name] = append(asked[c.name], text)
	}
	s.same("lines of documents", asked["write_document"], s.rows(`select title || ': ' || line from documents,
		unnest(string_to_array(content, E'\n')) line where folder = 'chaos' and line <> ''`))
	s.same("comments of agents", asked["comment_task"], s.rows(`select content from task_comments where author_kind = 'agent'`))
	s.same("tasks of agents", asked["create_task"], s.rows(`select name from tasks where created_by_kind = 'agent'`))
	// Two answers to one question may both have been paid for; one counts.
	for what, texts := range asked {
		seen := map[string]string{}
		for _, text := range texts {
			if m, ok := readMark(text); ok {
				q := what + " " + strings.Split(text, ":")[0] + " " + m.question()
				if seen[q] != "" {
					s.Errorf("done twice: %q and %q", seen[q], text)
				}
				seen[q] = text
			}
		}
	}
	s.none("a document has a version for each time it was written", s.rows(`select d.title, d.version, count(v.version) from documents d
		left join document_versions v on v.document_id = d.id where d.folder = 'chaos' group by d.id having d.version <> count(v.version)`))
}

// same compares two heaps of texts.
func (s *site) same(what string, want, got []string) {
	s.Helper()
	n := map[string]int{}
	for _, w := range want {
		n[w]++
	}
	for _, g := range got {
		n[g]--
	}
	var lost, extra []string
	for text, k := range n {
		switch {
		case k > 0:
			lost = append(lost, text)
		case k < 0:
			extra = append(extra, text)
		}
	}
	s.none(what+": none is lost", lost)
	s.none(what+": none is there that nobody asked for", extra)
}

// judgePayments: an answer is used once, for the question that it was given to;
// and a question is asked again only after something was struck.
func (s *site) judgePayments() {
	s.Helper()
	paid := s.model.payments()
	byAnswer, byQuestion := map[int]payment{}, map[string][]payment{}
	for _, p := range paid {
		byAnswer[p.answer] = p
		byQuestion[p.question()] = append(byQuestion[p.question()], p)
	}
	used := map[int]string{}
	use := func(answer int, what string) {
		if used[answer] != "" {
			s.Errorf("answer %d is used twice: %s and %s", answer, used[answer], what)
		}
		used[answer] = what
	}
	rows, err := s.db().Query(context.Background(), `select m.content, s.completed_at from messages m
		join steps s on s.operation_id = m.operation_id and s.seq = m.step_seq where m.role = 'assistant'`)
	s.must(err)
	for rows.Next() {
		var text string
		var committed time.Time
		s.must(rows.Scan(&text, &committed))
		m, ok := readMark(text)
		p := byAnswer[m.answer]
		if !ok || p.mark != m {
			s.Errorf("a step has the answer %q, which was given to %v", text, p.mark)
		}
		use(m.answer, m.String())
		s.judgeHolder(p, committed, byQuestion[p.question()])
	}
	s.must(rows.Err())
	for _, title := range s.rows(`select handoff->>'title' from topics where handoff_source = 'model'`) {
		var answer int
		if _, err := fmt.Sscanf(title, "Handoff by answer %d", &answer); err != nil || byAnswer[answer].stage != handoffStage {
			s.Errorf("a handoff %q that no model wrote", title)
		}
		use(answer, title)
	}
	strikes := s.log.struck()
	strikes = append(strikes, s.log.said("jobs were lost by their worker", "is put back", "is held by somebody else")...)
	last := map[string]payment{}
	again := 0
	var unexplained []string
	slices.SortFunc(paid, func(a, b payment) int { return a.at.Compare(b.at) })
	for _, p := range paid {
		q := p.question()
		if before, ok := last[q]; ok {
			again++
			// A process is seen to be dead a moment after it died.
			if !slices.ContainsFunc(strikes, func(e entry) bool { return e.at.After(before.at) && e.at.Before(p.at.Add(time.Second)) }) {
				unexplained = append(unexplained, fmt.Sprintf("%s: %s and %s", q, before.at.Format("15:04:05.000"), p.at.Format("15:04:05.000")))
			}
		}
		last[q] = p
	}
	s.none("a question is paid for again only after a strike", unexplained)
	s.Logf("%d answers used, %d questions asked again", len(used), again)
}

// judgeHolder: once another process has asked, because the lease of the one before
// was over, the answer to that one is not used any more. One that was stopped may
// wake up and ask once more before it notices.
func (s *site) judgeHolder(used payment, committed time.Time, asked []payment) {
	s.Helper()
	stopped := func(who string, before time.Time) bool {
		return slices.ContainsFunc(s.log.struck(), func(e entry) bool {
			return e.who == who && e.text == "SIGSTOP" && e.at.Before(before)
		})
	}
	for _, p := range asked {
		if p.from != used.from && p.at.After(used.at) && p.at.Before(committed) && !stopped(p.from, p.at) {
			s.Errorf("%s: the answer to %s is used although %s had taken over at %v", used.question(), used.from, p.from, p.at)
		}
	}
}

// judgeRequests: what a person asked for under one key is there once when that was
// answered, and at most once when it was not.
func (s *site) judgeRequests(p *person) {
	s.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for what, of := range map[string]struct {
		sql   string
		asked map[string]bool
	}{
		"task":    {`select name from tasks where created_by_kind <> 'agent'`, p.tasks},
		"comment": {`select content from task_comments where author_kind in ('person', 'token')`, p.comments},
	} {
		n := map[string]int{}
		for _, name := range s.rows(of.sql) {
			n[name]++
		}
		for name, answered := range of.asked {
			if n[name] > 1 || answered && n[name] != 1 {
				s.Errorf("the %s %q was asked for once (answered: %v) and is there %d times", what, name, answered, n[name])
			}
			delete(n, name)
		}
		for name := range n {
			s.Errorf("nobody asked for the %s %q", what, name)
		}
	}
}
