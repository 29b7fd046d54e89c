-- +goose Up

-- A cron job of an agent is a task that stands apart from the lists: each time of a
-- prompt job runs it, each time of a template job makes a task after it.
alter table tasks
  add column cron_job text check (cron_job in ('prompt', 'template')),
  add column made_name text check (length(made_name) between 1 and 200), -- what the tasks of a template are called; null: as it is
  add constraint tasks_cron_job_has_schedule check (cron_job is null or automation is not null),
  add constraint tasks_made_name_of_template check (made_name is null or cron_job = 'template');
create index tasks_cron_jobs on tasks (workspace_id, id desc) where cron_job is not null and deleted_at is null;

-- A tick that ran has its run, or the task that it made.
alter table ticks
  add column made_task_id uuid,
  add foreign key (workspace_id, made_task_id) references tasks (workspace_id, id) on delete cascade,
  drop constraint ticks_check3,
  add constraint ticks_came_to_something check ((state in ('dispatched', 'ran')) = (topic_id is not null or made_task_id is not null));
create index ticks_made_task on ticks (made_task_id) where made_task_id is not null;

-- +goose Down
delete from ticks where made_task_id is not null;
alter table ticks drop constraint ticks_came_to_something, drop column made_task_id,
  add constraint ticks_check3 check ((state in ('dispatched', 'ran')) = (topic_id is not null));
delete from tasks where cron_job is not null;
alter table tasks drop column made_name, drop column cron_job;
