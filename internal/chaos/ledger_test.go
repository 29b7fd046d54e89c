//go:build linux

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

// planned is a task whose times the judge knows without asking the program: it walks
// over absolute time, instant by instant, and looks at what the wall clock shows.
type planned struct {
	name       string
	automation object
	step       time.Duration // between the instants that are looked at
	zone       *time.Location
	shows      func(wall time.Time) bool // whether the pattern names what the clock shows; nil: of a grid
	refused    func(at time.Time) bool   // nil: none
}

// grids, patterns and beats are the tasks of an installation, some dozens of them,
// under every policy.
func grids() (all []planned) {
	for i, overlap := range []string{"skip", "queue", "skip", "cancel", "skip", "queue", "skip", "skip"} {
		all = append(all, planned{
			name: name("every", 0, i), automation: every(2+i%4, overlap, []string{"latest", "skip"}[i%2]), step: time.Second,
		})
	}
	all[0].automation["jitterSeconds"] = 1
	return all
}

func patterns(t interface{ Fatal(...any) }, closed time.Time) (all []planned) {
	minute := func(of func(int) bool) func(time.Time) bool {
		return func(wall time.Time) bool { return of(wall.Minute()) }
	}
	for i, c := range []struct {
		pattern, zone, overlap, missed string
		shows                          func(time.Time) bool
	}{
		{"* * * * *", "America/New_York", "skip", "latest", minute(func(m int) bool { return true })},
		{"*/2 * * * *", "Asia/Kolkata", "queue", "latest", minute(func(m int) bool { return m%2 == 0 })},
		{"*/7 * * * *", "Asia/Kathmandu", "skip", "skip", minute(func(m int) bool { return m%7 == 0 })},
		{"5-55/10 * * * *", "Australia/Lord_Howe", "skip", "all", minute(func(m int) bool { return m%10 == 5 })},
		{"0,15,30,45 0-23 * * *", "Europe/Berlin", "cancel", "all", minute(func(m int) bool { return m%15 == 0 })},
		{"1/3 * * * *", "Africa/Cairo", "skip", "latest", minute(func(m int) bool { return m%3 == 1 })},
		{"* */2 * * *", "Pacific/Apia", "skip", "skip", func(wall time.Time) bool { return wall.Hour()%2 == 0 }},
		{"*/3 * * * *", "America/Santiago", "skip", "latest", minute(func(m int) bool { return m%3 == 0 })},
	} {
		loc, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		window := 3600
		if c.missed == "all" {
			window = 1500 // they come one at a time, five seconds apart
		}
		all = append(all, planned{
			name: name("cron", 0, i), step: time.Minute, zone: loc, shows: c.shows,
			automation: object{"mode": "schedule", "pattern": c.pattern, "timezone": c.zone, "overlap": c.overlap, "missed": c.missed, "catchUpSeconds": window},
		})
	}
	// The last may not run in the first half of what it missed.
	last, opens := &all[len(all)-1], closed.Add(closedFor/2).Truncate(time.Minute)
	last.automation["conditions"] = object{"activeHours": object{
		"start": opens.In(last.zone).Format("15:04"), "end": opens.Add(12 * time.Hour).In(last.zone).Format("15:04"),
	}}
	last.refused = func(at time.Time) bool { return at.Before(opens) }
	return all
}

func beats() (all []planned) {
	for i := range 8 {
		all = append(all, planned{name: name("beat", 0, i), automation: heartbeat(2 + i%3)})
	}
	return all
}

// closedFor is how long the installation seems to have been down before the test:
// patterns have minutes to fire in, which nobody waits for.
const closedFor = 2 * time.Hour

// closeFor lets the patterns have been armed a while ago, with nobody there since.
func (s *site) closeFor(d time.Duration, all []planned) {
	s.Helper()
	for _, p := range all {
		if p.shows == nil {
			continue
		}
		var armed time.Time
		s.must(s.db().QueryRow(context.Background(), `update tasks set armed_at = armed_at - $2::interval where name = $1 returning armed_at`, p.name, d).Scan(&armed))
		first := armed.Truncate(time.Minute).Add(time.Minute)
		for !p.shows(first.In(p.zone)) {
			first = first.Add(time.Minute)
		}
		s.rows(`update tasks set next_planned_at = $2, next_fire_at = $2 where name = $1`, p.name, first)
	}
}

// ledger is what is written down about the times of a task.
type ledger struct {
	id         string
	automation schedule.Automation
	armed      time.Time
	next       *time.Time // the first planned time that has no row
	openTopics int
	rows       []ledgerRow
}

type ledgerRow struct {
	planned, first, last time.Time
	count                int
	state, reason        string
}

func (r ledgerRow) open() bool {
	return slices.Contains([]string{"pending", "queued", "dispatched"}, r.state)
}

func (r ledgerRow) String() string {
	return fmt.Sprintf("%s(%s) %s", r.state, r.reason, stamp(r.planned))
}

func stamp(at time.Time) string { return at.UTC().Format("15:04:05") }

// ledgers reads, at one instant, what is written down about each task, by its name.
func (s *site) ledgers() (all map[string]*ledger, now time.Time) {
	s.Helper()
	ctx := context.Background()
	tx, err := s.db().BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	s.must(err)
	defer func() { _ = tx.Rollback(ctx) }()
	s.must(tx.QueryRow(ctx, `select clock_timestamp()`).Scan(&now))
	rows, err := tx.Query(ctx, `select t.id::text, t.name, t.automation, t.armed_at, t.next_planned_at,
		(select count(*) from topics p where p.task_id = t.id and p.status = 'running') from tasks t where t.automation is not null`)
	s.must(err)
	all, byID := map[string]*ledger{}, map[string]*ledger{}
	for rows.Next() {
		l, name, automation := &ledger{}, "", ""
		s.must(rows.Scan(&l.id, &name, &automation, &l.armed, &l.next, &l.openTopics))
		s.must(json.Unmarshal([]byte(automation), &l.automation))
		all[name], byID[l.id] = l, l
	}
	s.must(rows.Err())
	rows, err = tx.Query(ctx, `select task_id::text, planned_at, coalesce(first_planned_at, planned_at), coalesce(last_planned_at, planned_at), count,
		state, coalesce(reason, '') from ticks where planned_at is not null order by planned_at, id`)
	s.must(err)
	for rows.Next() {
		var task string
		var r ledgerRow
		s.must(rows.Scan(&task, &r.planned, &r.first, &r.last, &r.count, &r.state, &r.reason))
		byID[task].rows = append(byID[task].rows, r)
	}
	s.must(rows.Err())
	return all, now
}

// judgeLedgers: each time that was planned stands in one row, none is missing, none
// is there twice, none that nobody planned; each has ended but what is open, of which
// there is one of a kind; and what comes next is the first time without a row.
func (s *site) judgeLedgers(all []planned) {
	s.Helper()
	written, now := s.ledgers()
	times := 0
	states := map[string]int{}
	for _, p := range all {
		l := written[p.name]
		if l == nil {
			s.Errorf("%s is not there", p.name)
			continue
		}
		open := map[string]int{}
		for _, r := range l.rows {
			states[r.state] += r.count
			if r.open() {
				open[r.state]++
			}
		}
		// While a run is open the next time may come and wait for its answer.
		if open["pending"] > 1 || open["queued"] > 1 || open["dispatched"] != l.openTopics || l.openTopics > 1 {
			s.Errorf("%s: %d runs are open, and of its times %v: %v", p.name, l.openTopics, open, l.rows)
		}
		if p.step == 0 {
			s.judgeBeat(p, l, open["pending"]+open["dispatched"])
			times += len(l.rows)
			continue
		}
		times += s.judgeTimes(p, l, now)
	}
	s.Logf("%d planned times of %d tasks: %v", times, len(all), states)
}

// judgeBeat: a heartbeat has one thing before it: its next time, or the tick that is
// open, with its run.
func (s *site) judgeBeat(p planned, l *ledger, open int) {
	s.Helper()
	for i, r := range l.rows {
		if r.open() && i < len(l.rows)-1 {
			s.Errorf("%s: a beat is open and another one came after it: %v", p.name, l.rows)
		}
		if r.count != 1 {
			s.Errorf("%s: %v stands for %d", p.name, r, r.count)
		}
	}
	if ahead := l.next != nil; len(l.rows) == 0 || open > 1 || ahead == (open == 1) {
		s.Errorf("%s: next %v, %d open ticks: %v", p.name, l.next, open, l.rows)
	}
}

// judgeTimes compares the rows with two oracles that know nothing of each other. It
// returns how many times there are.
func (s *site) judgeTimes(p planned, l *ledger, now time.Time) int {
	s.Helper()
	if l.next == nil || l.next.Before(now.Add(-time.Minute)) {
		s.Errorf("%s: at %s its next time is %v", p.name, stamp(now), l.next)
		return 0
	}
	spec, err := schedule.Parse(l.automation)
	s.must(err)
	var want []time.Time // from the arming to what is planned next
	spec.Each(l.armed.Add(time.Microsecond), *l.next, func(at time.Time) bool {
		want = append(want, at)
		return true
	})
	if walked := p.walk(l); !slices.EqualFunc(walked, want, time.Time.Equal) {
		s.Errorf("%s: a walk over time finds %v, and domain/schedule %v", p.name, walked, want)
		return 0
	}
	if len(want) == 0 || !want[len(want)-1].Equal(*l.next) {
		s.Errorf("%s: next is %s, which is no time of it", p.name, stamp(*l.next))
		return 0
	}
	want = want[:len(want)-1]
	found := make([]int, len(want))
	for _, r := range l.rows {
		n, identity := 0, false
		for i, at := range want {
			if at.Before(r.first) || at.After(r.last) {
				continue
			}
			n++
			found[i]++
			identity = identity || at.Equal(r.planned)
			if why := "outside_active_hours"; p.refused != nil && p.refused(at) != (r.reason == why) {
				s.Errorf("%s: %v stands for %s, which may run: %v", p.name, r, stamp(at), !p.refused(at))
			}
		}
		if n != r.count || !identity {
			s.Errorf("%s: %v stands for %d times, and %d of its are planned", p.name, r, r.count, n)
		}
	}
	for i, n := range found {
		if n != 1 {
			s.Errorf("%s: %s stands in %d rows", p.name, stamp(want[i]), n)
		}
	}
	return len(want)
}

// walk looks at each instant from the arming to what is planned next.
func (p planned) walk(l *ledger) (out []time.Time) {
	for at := l.armed.Truncate(p.step).Add(p.step); !at.After(*l.next); at = at.Add(p.step) {
		if p.shows != nil && p.shows(at.In(p.zone)) ||
			p.shows == nil && (at.Unix()-l.automation.Anchor.Unix())%l.automation.EverySeconds == 0 {
			out = append(out, at)
		}
	}
	return out
}
