//go:build linux

package chaos

import (
	"fmt"

	"github.com/dogwatch/dogwatch/internal/domain/job"
)

// law is something that holds when all is quiet, whatever happened before. The
// query finds what breaks it.
type law struct{ holds, broken string }

var laws = []law{
	// Nothing is stuck.
	{"no task is running", `select identifier, status_reason from tasks where status = 'running'`},
	{"no topic is open", `select id, task_id from topics where status = 'running'`},
	{"no operation is open", `select id, status from operations where status not in ('done', 'error', 'interrupted')`},
	{"no tick waits", `select id, task_id, state from ticks where state in ('pending', 'queued', 'dispatched')`},
	{"no job is open but those that come back", `select id, kind, key, state, attempt, losses, last_error from jobs
		where state in ('ready', 'sent', 'running') and kind not in ('reconcile', 'retention')`},
	{"the house looks after itself, once", `select kind, count(*) from jobs where kind in ('reconcile', 'retention')
		and state in ('ready', 'sent', 'running') group by kind having count(*) <> 1`},
	{"no job was given up", `select id, kind, key, attempt, losses, last_error from jobs where state = 'dead' and not deserved(body) and not worn_out(kind, losses)`},
	{"no event is left without a number", `select id, type from events where seq is null`},
	{"an ended task has no next fire", `select identifier, status from tasks where next_fire_at is not null and status not in ('scheduled', 'running')`},

	// Every tick is accounted for.
	{"a tick that ran has one topic, which has ended and left a handoff", `select k.id, p.status, p.handoff_source from ticks k
		left join topics p on p.tick_id = k.id
		where k.state = 'ran' and (p.id is null or p.id is distinct from k.topic_id or p.status = 'running' or p.handoff is null)`},
	{"a topic has a tick that ran", `select p.id, k.state from topics p join ticks k on k.id = p.tick_id where k.state <> 'ran'`},
	{"a tick that did not run says why", `select id, state from ticks where state <> 'ran' and reason is null`},
	{"a row stands for a range only where it did not run", `select id, state, count from ticks where count > 1 and state = 'ran'`},
	{"a task's topics are numbered without a gap and counted", `select t.identifier, t.total_topics, count(p.id), max(p.seq) from tasks t
		left join topics p on p.task_id = t.id group by t.id having t.total_topics <> count(p.id) or max(p.seq) <> count(p.id)`},
	{"a task's executions are its planned runs", `select t.identifier, t.executions, count(k.id) from tasks t
		left join ticks k on k.task_id = t.id and k.planned_at is not null and k.topic_id is not null
		group by t.id having t.executions <> count(k.id)`},
	{"a one-shot runs once", `select t.identifier, count(*) from tasks t join ticks k on k.task_id = t.id
		where k.origin = 'once' and k.state = 'ran' group by t.id having count(*) > 1`},
	{"a status follows from the one before", `select task_id, from_status, to_status, before from (
		  select task_id, from_status, to_status, lag(to_status) over (partition by task_id order by at, id) as before from task_moves) m
		where from_status is distinct from before`},
	{"a task has the status of its last move", `select t.identifier, t.status, m.to_status from tasks t join lateral (
		  select to_status from task_moves where task_id = t.id order by at desc, id desc limit 1) m on true where m.to_status <> t.status`},

	// A run is what its steps make of it.
	{"a topic has one operation, and another for each that failed for what may heal, up to three", `select p.id, count(o.id), string_agg(o.status || ' ' || coalesce(o.reason_detail, ''), ', ' order by o.try)
		from topics p left join operations o on o.topic_id = p.id group by p.id
		having count(o.id) not between 1 and 3 or count(o.id) <> max(o.try)
		or count(*) filter (where o.status <> 'error' or o.reason_detail not in ('provider_error', 'provider_unreachable', 'provider_silent',
		  'provider_bad_reply', 'provider_rate_limit', 'provider_overloaded')) > 1
		or count(o.id) > 1 and count(*) filter (where o.status = 'error') < count(o.id) - 1`},
	{"steps follow each other without a gap", `select o.id, o.step_count, count(s.seq), max(s.seq) from operations o
		left join steps s on s.operation_id = o.id group by o.id
		having o.step_count <> count(s.seq) or coalesce(max(s.seq), 0) <> count(s.seq)`},
	{"an operation's counts are those of its steps", `select o.id, o.model_calls, o.input_tokens from operations o left join steps s on s.operation_id = o.id
		group by o.id having o.model_calls <> count(s.seq) filter (where s.kind = 'model')
		or o.input_tokens <> coalesce(sum(s.input_tokens), 0) or o.output_tokens <> coalesce(sum(s.output_tokens), 0)`},
	{"a model step has one answer", `select s.operation_id, s.seq, count(m.id) from steps s
		left join messages m on m.operation_id = s.operation_id and m.step_seq = s.seq and m.role = 'assistant'
		where s.kind = 'model' group by s.operation_id, s.seq having count(m.id) <> 1`},
	{"each call has one result", `select s.operation_id, s.seq from steps s where s.kind = 'tools' and exists (
		  select c->>'id' from messages a, jsonb_array_elements(a.tool_calls) c
		   where a.operation_id = s.operation_id and a.step_seq = s.seq - 1 and a.role = 'assistant'
		  except all
		  select tool_call_id from messages r where r.operation_id = s.operation_id and r.step_seq = s.seq and r.role = 'tool')`},
	{"a call of a step that was committed is finished", `select c.id, c.name, c.state from tool_calls c
		join steps s on s.operation_id = c.operation_id and s.seq = c.step_seq where c.state <> 'finished'`},
	{"a run that was done ended with a word and not with a call", `select o.id from operations o
		join lateral (select kind from steps where operation_id = o.id order by seq desc limit 1) s on true
		where o.completion_reason = 'done' and s.kind <> 'model'`},

	// Nothing is told twice.
	{"an agent's question is counted as often as it was asked", `select t.identifier, coalesce(b.n, 0), coalesce(c.n, 0) from tasks t
		left join (select task_id, sum(count) as n from briefs where cause like 'asked:%' group by task_id) b on b.task_id = t.id
		left join (select o.task_id, count(*) as n from tool_calls c join operations o on o.id = c.operation_id
		  where c.name = 'create_brief' and c.state = 'finished' and not c.is_error group by o.task_id) c on c.task_id = t.id
		where coalesce(b.n, 0) <> coalesce(c.n, 0)`},
	{"a failed run is told of once", `select t.identifier, coalesce(b.n, 0), coalesce(p.n, 0) from tasks t
		left join (select task_id, sum(count) as n from briefs where cause in ('run_failed', 'fuse') group by task_id) b on b.task_id = t.id
		left join (select task_id, count(*) as n from topics where status in ('failed', 'timeout') group by task_id) p on p.task_id = t.id
		where coalesce(b.n, 0) <> coalesce(p.n, 0)`},
	{"a result is told of once a run at most", `select t.identifier, sum(b.count), t.total_topics from briefs b join tasks t on t.id = b.task_id
		where b.cause = 'result' group by t.id having sum(b.count) > t.total_topics`},
	{"only what could fail did", `select t.identifier, t.name, o.completion_reason, o.reason_detail, o.error from operations o
		join tasks t on t.id = o.task_id where o.completion_reason not in ('done', 'interrupted') and t.instruction not like '%fail%'`},
}

// excuses lets the laws say which jobs had to be given up: those of runs whose model
// refuses, and, where processes were struck so often that one job can have been lost
// with each of six of them, a handoff that was. The facts stand in for it then, which
// is a law of its own.
func excuses(strikes int) string {
	return fmt.Sprintf(`
		create or replace function deserved(body jsonb) returns boolean language sql as
		$$ select exists (select 1 from tasks where id = (body->>'task')::uuid and instruction like '%%fail%%') $$;
		create or replace function worn_out(kind text, losses int) returns boolean language sql as
		$$ select kind = '%s' and losses >= %d and %d >= %[2]d $$`, job.Handoff.Name, job.PoisonAfter, strikes)
}
